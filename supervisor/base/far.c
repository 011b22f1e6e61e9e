/* SPDX-License-Identifier: MIT */
#include "supervisor/base/far.h"

#include <stdbool.h>

enum {
	EDGE_BYTES = 64, /* longer than any word */
	BOTH_EDGES = 2 * EDGE_BYTES,
};

void
far_reset(struct far *f)
{
	for (size_t i = 0; i < SIGN_WORDS; i++)
		finder_set(&f->finders[i], sign_words[i].text);
}

void
far_feed(struct far *f, const struct screen *screen, unsigned wanted, const char *bytes,
	 size_t n)
{
	unsigned signs = wanted & (SIGN_NETWORK | SIGN_TIMEOUT);
	bool is_within;

	if (signs == 0)
		return;
	/* Where no word lies within, one may still lie across either end. */
	is_within =
	    n <= BOTH_EDGES || (screen_lines(screen, bytes, n).signs & signs) != 0;
	for (size_t i = 0; i < SIGN_WORDS; i++) {
		struct finder *finder = &f->finders[i];

		if ((sign_words[i].sign & signs) == 0)
			continue;
		if (is_within) {
			finder_feed(finder, bytes, n);
			continue;
		}
		finder_feed(finder, bytes, EDGE_BYTES);
		finder_feed(finder, "\n", 1);
		finder_feed(finder, bytes + n - EDGE_BYTES, EDGE_BYTES);
	}
}

const struct sign_word *
far_found(const struct far *f, unsigned wanted)
{
	for (size_t i = 0; i < SIGN_WORDS; i++)
		if (f->finders[i].found && (sign_words[i].sign & wanted) != 0)
			return &sign_words[i];
	return NULL;
}

void
far_release(struct far *f)
{
	for (size_t i = 0; i < SIGN_WORDS; i++)
		finder_release(&f->finders[i]);
}
