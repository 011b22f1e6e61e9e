/* SPDX-License-Identifier: MIT */
/*
 * Most of what steps print is plain: sound text that no pattern matches.  So whole
 * lines are taken a block at a time: one quick pass (screen.h) counts them and tells
 * whether any needs a closer look.  Lines whose bytes are shown as they stand are
 * not copied: they are kept as a run in the caller's chunk, and only the run's last
 * lines go to the board.  Lines with more in them than text, and those that lie
 * across two chunks, go through the terminal's line (line.h).
 *
 * The patterns look at a line's first WATCHER_MATCH_BYTES.  What tells of the network or
 * of a runner's timeout is looked for in all of a line, as plain words in its bytes.
 *
 * Numbers: `lines` counts every line seen, those of the run included, so a run's last
 * line has that number when the run ends.
 *
 * The mark is the user's pattern and may be slow on every line without ever reaching
 * its match limit.  It counts as matching nothing from there on when MARK_GIVEN_UP
 * matches were given up, or when the watching has cost more processor time than
 * MARK_FREE_NS and MARK_BYTE_NS for each byte.
 */
#include "supervisor/base/watcher.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ipc/mem.h"
#include "supervisor/base/board.h"
#include "supervisor/base/far.h"
#include "supervisor/base/finder.h"
#include "supervisor/base/line.h"
#include "supervisor/base/pattern.h"
#include "supervisor/base/screen.h"
#include "supervisor/base/signs.h"

enum {
	BLOCK_BYTES = 4096,
	PEEK_BYTES = BOARD_LAST_SIZE,
	MARK_GIVEN_UP = 64,
	MARK_CHECK_BYTES = 16384, /* of lines looked at between two looks at the clock */
	MARK_BYTE_NS = 50,
	FAR_CELLS = WATCHER_MATCH_BYTES / 8, /* of 4 bytes each and half as far */
};

static const int64_t MARK_FREE_NS = INT64_C(2000000000);

_Static_assert((int)WATCHER_TAIL_LINES == (int)BOARD_LINES, "a window is a board's");
_Static_assert((int)WATCHER_LINE_BYTES == (int)BOARD_LINE_BYTES, "a line is a board's");

/* What the user's pattern may cost. */
struct effort {
	unsigned given_up;
	int64_t started_ns;
	uint64_t bytes; /* printed since */
	size_t unchecked;
};

struct watcher {
	struct board *board;
	const struct pattern *mark; /* borrowed; NULL: none, or settled */
	struct effort effort;
	struct finder raw;   /* `expect` in the bytes */
	struct finder shown; /* and in the lines as they are shown */
	bool every_line;     /* it has a \n: lines that are shown as printed count too */
	struct screen screen;
	struct signs signs;
	struct far far;	     /* in the bytes of long lines */
	unsigned wanted;     /* signs still looked for */
	unsigned collecting; /* a bit for each window that is being filled */
	struct line line;
	bool open;  /* bytes of an unfinished line are in `line` */
	char *text; /* of a line that is not shown as printed */
	uint64_t lines;
	const char *run; /* sound lines, not yet on the board */
	size_t run_bytes;
};

int
watcher_new(const struct pattern *mark, const char *expect, struct watcher **ret_watcher,
	    struct error *err)
{
	struct board *board;
	struct watcher *w;

	if (board_new(&board, err) < 0)
		return -1;
	w = xcalloc(1, sizeof(*w));
	w->board = board;
	screen_init(&w->screen);
	watcher_reset(w, mark, expect);
	*ret_watcher = w;
	return 0;
}

void
watcher_reset(struct watcher *w, const struct pattern *mark, const char *expect)
{
	board_reset(w->board);
	w->mark = mark;
	w->effort = (struct effort){ 0, -1, 0, 0 };
	finder_set(&w->raw, expect);
	finder_set(&w->shown, expect);
	w->every_line = expect != NULL && strchr(expect, '\n') != NULL;
	w->wanted = SIGN_ALL;
	far_reset(&w->far);
	w->collecting = 0;
	line_clear(&w->line);
	w->open = false;
	w->lines = 0;
	w->run = NULL;
	w->run_bytes = 0;
}

void
watcher_free(struct watcher *w)
{
	if (w == NULL)
		return;
	board_free(w->board);
	finder_release(&w->raw);
	finder_release(&w->shown);
	far_release(&w->far);
	signs_release(&w->signs);
	line_release(&w->line);
	free(w->text);
	free(w);
}

static int64_t
effort_now_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Is it time to look for the mark no longer? */
static bool
effort_is_spent(struct effort *e, size_t n)
{
	e->unchecked += n + 64;
	if (e->given_up >= MARK_GIVEN_UP)
		return true;
	if (e->unchecked < MARK_CHECK_BYTES)
		return false;
	e->unchecked = 0;
	return effort_now_ns() - e->started_ns >
	       MARK_FREE_NS + (int64_t)e->bytes * MARK_BYTE_NS;
}

/* Does the mark match this line, as the first? */
static bool
watcher_marks(struct watcher *w, const struct board_line *line)
{
	int found;

	if (w->mark == NULL)
		return false;
	found = pattern_find(w->mark, line->text, line->n);
	if (found < 0)
		w->effort.given_up++;
	if (found > 0 || effort_is_spent(&w->effort, line->n))
		w->mark = NULL;
	return found > 0;
}

static void
watcher_collect(struct watcher *w, const struct board_line *line)
{
	for (unsigned i = 0; i < BOARD_WINDOWS; i++) {
		if ((w->collecting & (1u << i)) == 0)
			continue;
		board_append(w->board, (enum board_window)i, w->lines, line);
		if (board_is_full(w->board, (enum board_window)i))
			w->collecting &= ~(1u << i);
	}
}

/* The signs that a line could have, of those that its block could have. */
static unsigned
watcher_screen(const struct watcher *w, const struct board_line *line, unsigned signs)
{
	unsigned odd = 0;

	/* The crosses that begin an error line are no marks of the screen. */
	if (line->n > 0 && (unsigned char)line->text[0] >= 0x80)
		odd = SIGN_START;
	signs = (signs | odd) & w->wanted;
	if (signs != 0)
		signs &= screen_lines(&w->screen, line->text, line->n).signs | odd;
	return signs;
}

/* A closer look at the line of the number w->lines. */
static void
watcher_look(struct watcher *w, const struct board_line *line, unsigned signs)
{
	unsigned found = watcher_screen(w, line, signs);

	if (found != 0)
		found = signs_of(&w->signs, found, line->text, line->n);
	w->wanted &= ~found;
	if ((found & SIGN_NETWORK) != 0)
		board_set_environment(w->board, line);
	if ((found & SIGN_TIMEOUT) != 0)
		board_set_flag(w->board, BOARD_TIMED_OUT);
	if ((found & SIGN_ERROR) != 0) {
		w->collecting |= 1u << BOARD_ERROR;
		w->wanted &= ~(unsigned)SIGN_ERROR;
	}
	if (watcher_marks(w, line)) {
		/* No other window is of interest now. */
		w->collecting = 1u << BOARD_MARK;
		w->wanted &= ~(unsigned)SIGN_ERROR;
	}
	if (w->collecting != 0)
		watcher_collect(w, line);
}

/* At the end of such a line: a word that the patterns did not come to is all that is
 * told of it. */
static void
watcher_look_far(struct watcher *w)
{
	const struct sign_word *word;

	while ((word = far_found(&w->far, w->wanted)) != NULL) {
		size_t n = strlen(word->text);
		struct board_line line = { word->text, n, n };

		w->wanted &= ~(unsigned)word->sign;
		if (word->sign == SIGN_NETWORK)
			board_set_environment(w->board, &line);
		else
			board_set_flag(w->board, BOARD_TIMED_OUT);
	}
}

/* A whole line that is shown as printed, \n and all. */
static struct board_line
line_of_bytes(const char *bytes, size_t n)
{
	size_t shown;

	n--;
	if (n > 0 && bytes[n - 1] == '\r')
		n--;
	shown = n;
	if (n > WATCHER_MATCH_BYTES) {
		shown = WATCHER_MATCH_BYTES;
		while (shown > 0 && ((unsigned char)bytes[shown] & 0xc0) == 0x80)
			shown--;
	}
	return (struct board_line){ bytes, shown, n };
}

/* The last lines of the run go to the board. */
static void
watcher_end_run(struct watcher *w)
{
	size_t starts[BOARD_LINES + 1], n = 0;
	const char *before;

	starts[0] = w->run_bytes;
	while (n < BOARD_LINES && starts[n] > 0) {
		before = memrchr(w->run, '\n', starts[n] - 1);
		starts[++n] = before != NULL ? (size_t)(before - w->run) + 1 : 0;
	}
	for (; n > 0; n--) {
		struct board_line line =
		    line_of_bytes(w->run + starts[n], starts[n - 1] - starts[n]);

		board_push(w->board, w->lines - (n - 1), &line);
	}
	w->run_bytes = 0;
}

static void
watcher_extend_run(struct watcher *w, const char *bytes, size_t n)
{
	if (w->run_bytes == 0)
		w->run = bytes;
	w->run_bytes += n;
}

/* A sound line, \n and all. */
static void
watcher_take_sound(struct watcher *w, const char *bytes, size_t n, unsigned signs)
{
	struct board_line line = line_of_bytes(bytes, n);

	watcher_extend_run(w, bytes, n);
	w->lines++;
	watcher_look(w, &line, signs);
	if (line.bytes > line.n) {
		far_feed(&w->far, &w->screen, w->wanted, bytes, n);
		watcher_look_far(w);
	}
	if (w->every_line) {
		finder_feed(&w->shown, bytes, (size_t)line.bytes);
		finder_feed(&w->shown, "\n", 1);
	}
}

/* The line that went through the terminal's is over. */
static void
watcher_take_line(struct watcher *w, bool whole)
{
	struct board_line line;

	watcher_end_run(w);
	if (w->text == NULL)
		w->text = xmalloc(WATCHER_MATCH_BYTES);
	line.text = w->text;
	line.n = line_copy(&w->line, w->text, WATCHER_MATCH_BYTES);
	/* With room left it is all of it. */
	line.bytes = line.n < WATCHER_MATCH_BYTES - 4 ? line.n : line_bytes(&w->line);
	line_clear(&w->line);
	w->open = false;
	w->lines++;
	board_push(w->board, w->lines, &line);
	watcher_look(w, &line, SIGN_ALL);
	watcher_look_far(w);
	finder_feed(&w->shown, line.text, line.n);
	if (whole)
		finder_feed(&w->shown, "\n", 1);
}

/* Up to the end of a line; returns how many bytes that were. */
static size_t
watcher_feed_line(struct watcher *w, const char *bytes, size_t n)
{
	bool ended;
	size_t used = line_feed(&w->line, bytes, n, &ended);

	w->open = true;
	if (w->line.width >= FAR_CELLS)
		far_feed(&w->far, &w->screen, w->wanted, bytes, used);
	if (ended)
		watcher_take_line(w, true);
	return used;
}

/* Whole lines one by one. */
static void
watcher_feed_each(struct watcher *w, const char *bytes, size_t n, struct screened s)
{
	while (n > 0) {
		const char *end = memchr(bytes, '\n', n);
		size_t size = (size_t)(end - bytes) + 1;
		size_t text = size - 1;

		if (text > 0 && bytes[text - 1] == '\r')
			text--;
		if (s.plain || line_is_sound(bytes, text))
			watcher_take_sound(w, bytes, size, s.signs);
		else
			(void)watcher_feed_line(w, bytes, size);
		bytes += size;
		n -= size;
	}
}

/* Of whole lines, the first few: a block. */
static size_t
block_size(const char *bytes, size_t n)
{
	const char *end;

	if (n <= BLOCK_BYTES)
		return n;
	end = memrchr(bytes, '\n', BLOCK_BYTES);
	if (end == NULL)
		end = memchr(bytes + BLOCK_BYTES, '\n', n - BLOCK_BYTES);
	return (size_t)(end - bytes) + 1;
}

static void
watcher_feed_block(struct watcher *w, const char *bytes, size_t n)
{
	struct screened s = screen_lines(&w->screen, bytes, n);

	if (s.plain && !w->every_line && w->collecting == 0 &&
	    (s.signs & w->wanted) == 0 &&
	    (w->mark == NULL || !pattern_may_match(w->mark, bytes, n))) {
		watcher_extend_run(w, bytes, n);
		w->lines += s.newlines;
		return;
	}
	watcher_feed_each(w, bytes, n, s);
}

/* Whole lines, however many. */
static void
watcher_feed_lines(struct watcher *w, const char *bytes, size_t n)
{
	while (n > 0) {
		size_t size = block_size(bytes, n);

		watcher_feed_block(w, bytes, size);
		bytes += size;
		n -= size;
	}
}

/* What was seen so far becomes visible to the supervisor. */
static void
watcher_publish(struct watcher *w)
{
	char text[PEEK_BYTES];

	watcher_end_run(w);
	if (w->lines > 0)
		board_count(w->board, w->lines);
	if (w->raw.found || w->shown.found)
		board_set_flag(w->board, BOARD_EXPECTED);
	if (w->open && !line_is_empty(&w->line))
		board_set_last(w->board, text, line_copy(&w->line, text, sizeof(text)));
	else if (w->lines > 0)
		board_show(w->board, w->lines);
}

static void
watcher_feed(void *ctx, const char *bytes, size_t n)
{
	struct watcher *w = ctx;
	const char *end;
	size_t used;

	if (w->mark != NULL && w->effort.started_ns < 0)
		w->effort.started_ns = effort_now_ns();
	w->effort.bytes += n;
	finder_feed(&w->raw, bytes, n);
	if (w->open) {
		used = watcher_feed_line(w, bytes, n);
		bytes += used;
		n -= used;
	}
	end = n > 0 ? memrchr(bytes, '\n', n) : NULL;
	if (end != NULL) {
		used = (size_t)(end - bytes) + 1;
		watcher_feed_lines(w, bytes, used);
		bytes += used;
		n -= used;
	}
	if (n > 0)
		(void)watcher_feed_line(w, bytes, n);
	watcher_publish(w);
}

static void
watcher_end(void *ctx)
{
	struct watcher *w = ctx;

	line_finish(&w->line);
	/* What shows nothing, such as a last sequence that resets colours, is no line. */
	if (w->open && !line_is_empty(&w->line))
		watcher_take_line(w, false);
	watcher_publish(w);
}

struct watch
watcher_watch(struct watcher *w)
{
	return (struct watch){ .ctx = w, .feed = watcher_feed, .end = watcher_end };
}

static struct board_part
watcher_tail(const struct watcher *w, bool red)
{
	struct board_part last = board_tail(w->board), window;

	if (!red)
		return last;
	window = board_window(w->board, BOARD_MARK);
	if (window.lines == 0) {
		free(window.text);
		window = board_window(w->board, BOARD_ERROR);
		if (window.from >= last.from)
			window.lines = 0;
	}
	free(window.lines > 0 ? last.text : window.text);
	return window.lines > 0 ? window : last;
}

void
watcher_findings(const struct watcher *w, bool red, struct findings *ret_findings)
{
	struct board_part tail = watcher_tail(w, red);

	*ret_findings = (struct findings){
		.lines = board_lines(w->board),
		.tail = tail.text,
		.tail_from = tail.from,
		.tail_lines = tail.lines,
		.environment = board_environment(w->board),
		.timed_out = board_flag(w->board, BOARD_TIMED_OUT),
		.expected = board_flag(w->board, BOARD_EXPECTED),
	};
}

void
watcher_last_line(const struct watcher *w, char *text, size_t size)
{
	board_last(w->board, text, size);
}

void
findings_release(struct findings *f)
{
	if (f == NULL)
		return;
	free(f->tail);
	free(f->environment);
	*f = (struct findings){ 0 };
}
