/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a step's output, in chunks of any size: the tail is valid UTF-8 without
 * control bytes, at most 40 lines of bounded length, and where it says it is; and all at
 * once the same is found as in chunks.  The first byte chooses the size of the chunks
 * and whether the step is red.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/base/pattern.h"
#include "supervisor/base/text.h"
#include "supervisor/base/watcher.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
tail_check(const struct findings *f)
{
	size_t lines = f->tail_lines, seen = 1, line = 0;

	if (lines > WATCHER_TAIL_LINES || !utf8_valid(f->tail, strlen(f->tail)))
		abort();
	for (const char *s = f->tail; *s != '\0'; s++) {
		if (*s == '\n') {
			seen++;
			line = 0;
		} else if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f) {
			abort();
		} else if (++line > WATCHER_LINE_BYTES + 100) {
			abort(); /* the line and the note of what was cut */
		}
	}
	if (lines > 0 && seen != lines)
		abort();
	if (lines > 0 && (f->tail_from == 0 || f->tail_from + lines - 1 > f->lines))
		abort();
}

static void
output_read(struct watcher *w, const struct pattern *mark, const char *bytes, size_t n,
	    size_t chunk)
{
	struct watch watch;

	watcher_reset(w, mark, "ab");
	watch = watcher_watch(w);
	for (size_t at = 0; at < n; at += chunk)
		watch.feed(watch.ctx, bytes + at, n - at < chunk ? n - at : chunk);
	watch.end(watch.ctx);
}

static void
findings_compare(const struct findings *a, const struct findings *b)
{
	if (a->lines != b->lines || a->tail_from != b->tail_from ||
	    a->tail_lines != b->tail_lines || strcmp(a->tail, b->tail) != 0 ||
	    a->timed_out != b->timed_out || a->expected != b->expected)
		abort();
	if ((a->environment == NULL) != (b->environment == NULL))
		abort();
	if (a->environment != NULL && strcmp(a->environment, b->environment) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct watcher *w;
	static struct pattern *marks;
	const struct pattern *mark;
	struct error err = ERROR_INIT;
	struct findings pieces, whole;
	bool red;
	char last[256];

	if (size < 2)
		return 0;
	if (w == NULL && (pattern_compile("F.?A|^x+$", &marks, &err) < 0 ||
			  watcher_new(NULL, NULL, &w, &err) < 0))
		abort();
	mark = (data[0] & 0x80) != 0 ? marks : NULL;
	red = (data[0] & 0x40) != 0;
	output_read(w, mark, (const char *)data + 1, size - 1,
		    (size_t)(data[0] & 0x3f) + 1);
	watcher_findings(w, red, &pieces);
	tail_check(&pieces);
	watcher_last_line(w, last, sizeof(last));
	if (!utf8_valid(last, strlen(last)))
		abort();
	output_read(w, mark, (const char *)data + 1, size - 1, size - 1);
	watcher_findings(w, red, &whole);
	findings_compare(&pieces, &whole);
	findings_release(&pieces);
	findings_release(&whole);
	return 0;
}
