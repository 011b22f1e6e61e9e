/* SPDX-License-Identifier: MIT */
#include "supervisor/base/finder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static bool
found_in_pieces(const char *text, const char *stream, size_t n, size_t piece)
{
	struct finder f = FINDER_INIT;
	bool found;

	finder_set(&f, text);
	for (size_t at = 0; at < n; at += piece)
		finder_feed(&f, stream + at, piece < n - at ? piece : n - at);
	found = f.found;
	finder_release(&f);
	return found;
}

Test(finder, across_pieces)
{
	static const char stream[] = "one no-debugger two\nthree";

	for (size_t piece = 1; piece < sizeof(stream); piece++) {
		size_t n = sizeof(stream) - 1;

		cr_expect(found_in_pieces("no-debugger", stream, n, piece));
		cr_expect(found_in_pieces("o", stream, n, piece));
		cr_expect(found_in_pieces("two\nthree", stream, n, piece));
		cr_expect(found_in_pieces(stream, stream, n, piece));
		cr_expect_not(found_in_pieces("two three", stream, n, piece));
		cr_expect_not(found_in_pieces("threes", stream, n, piece));
	}
}

Test(finder, nothing_to_find)
{
	struct finder f = FINDER_INIT;

	finder_feed(&f, "x", 1);
	cr_expect_not(f.found);
	finder_set(&f, "x");
	finder_feed(&f, "", 0);
	cr_expect_not(f.found);
	finder_feed(&f, "x", 1);
	cr_expect(f.found);
	finder_set(&f, NULL);
	cr_expect_not(f.found, "a new search forgets the old");
	finder_release(&f);
}

/* Two letters make many near misses; NUL bytes are bytes. */
Test(finder, as_memmem)
{
	char stream[200], text[12];
	unsigned found = 0;

	srandom(4);
	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)random() % sizeof(stream),
		       t = 1 + (size_t)random() % 10;
		bool expected;

		for (size_t i = 0; i < n; i++)
			stream[i] = random() % 40 == 0 ? '\0' : "ab"[random() % 2];
		for (size_t i = 0; i < t; i++)
			text[i] = "ab"[random() % 2];
		text[t] = '\0';
		expected = memmem(stream, n, text, t) != NULL;
		found += expected;
		cr_expect_eq(found_in_pieces(text, stream, n, 1 + (size_t)random() % 20),
			     expected, "%s, round %d", text, round);
	}
	cr_expect(found > 2000 && found < 18000, "%u found: this shows little", found);
}
