/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a step's output, in chunks of any size: the tail is valid UTF-8 without
 * control bytes, at most 40 lines of bounded length, and where it says it is.  The first
 * byte chooses the size of the chunks and whether the step is red.
 */
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct watcher *w;
	static struct pattern *mark;
	struct error err = ERROR_INIT;
	struct findings f;
	struct watch watch;
	char last[256];
	size_t chunk;

	if (size == 0)
		return 0;
	if (w == NULL && (pattern_compile("F.?A|^x+$", &mark, &err) < 0 ||
			  watcher_new(NULL, NULL, &w, &err) < 0))
		abort();
	watcher_reset(w, (data[0] & 0x80) != 0 ? mark : NULL, "ab");
	watch = watcher_watch(w);
	chunk = (size_t)(data[0] & 0x3f) + 1;
	for (size_t at = 1; at < size; at += chunk)
		watch.feed(watch.ctx, (const char *)data + at,
			   size - at < chunk ? size - at : chunk);
	watch.end(watch.ctx);
	watcher_findings(w, (data[0] & 0x40) != 0, &f);
	tail_check(&f);
	watcher_last_line(w, last, sizeof(last));
	if (!utf8_valid(last, strlen(last)))
		abort();
	findings_release(&f);
	return 0;
}
