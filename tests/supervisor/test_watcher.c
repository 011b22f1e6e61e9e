/* SPDX-License-Identifier: MIT */
#include "supervisor/base/watcher.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/base/line.h"
#include "supervisor/base/pattern.h"
#include "supervisor/base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct pattern *
pattern_made(const char *regex)
{
	struct error err = ERROR_INIT;
	struct pattern *p = NULL;

	if (regex != NULL)
		cr_assert_eq(pattern_compile(regex, &p, &err), 0, "%s", err.text);
	return p;
}

static struct watcher *
watcher_made(const struct pattern *mark, const char *expect)
{
	struct error err = ERROR_INIT;
	struct watcher *w;

	cr_assert_eq(watcher_new(mark, expect, &w, &err), 0, "%s", err.text);
	return w;
}

/* Feed in pieces: of `piece` bytes, or for 0 of random length up to 200. */
static void
feed(struct watcher *w, const char *bytes, size_t n, size_t piece)
{
	struct watch watch = watcher_watch(w);
	size_t size;

	for (size_t at = 0; at < n; at += size) {
		size = piece > 0 ? piece : 1 + (size_t)random() % 200;
		if (size > n - at)
			size = n - at;
		watch.feed(watch.ctx, bytes + at, size);
	}
	watch.end(watch.ctx);
}

/* What is found in this output, as that of a red step or a green. */
static struct findings
found(const char *mark, const char *expect, bool red, const char *bytes, size_t n,
      size_t piece)
{
	struct pattern *p = pattern_made(mark);
	struct watcher *w = watcher_made(p, expect);
	struct findings f;

	feed(w, bytes, n, piece);
	watcher_findings(w, red, &f);
	watcher_free(w);
	pattern_free(p);
	return f;
}

/* The numbers of some lines, then some text, and so on. */
static void
put_numbers(struct buf *b, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		buf_printf(b, "%u\n", i);
}

struct window_case {
	const char *name;
	const char *line; /* the fifth of a hundred */
	const char *mark;
	bool red;
	uint64_t from;
};

static const struct window_case windows[] = {
	{ "green", "error: x", "error", false, 61 },
	{ "nothing to see", "x", NULL, true, 61 },
	{ "looks like an error", "error: x", NULL, true, 5 },
	{ "in colour", "\x1b[31merr\x1b[1mor\x1b[0m: x", NULL, true, 5 },
	{ "a cross", "\xe2\x9c\x97 x", NULL, true, 5 },
	{ "an error in Windows' lines", "error: x\r", NULL, true, 5 },
	{ "after a bell", "\x07error: x", NULL, true, 61 },
	{ "only the mark", "survived a", "^survived", true, 5 },
	{ "the mark before the error", "error: x", "^9$", true, 9 },
	{ "the mark in the last lines", "error: x", "^99$", true, 99 },
	{ "a mark without a match", "error: x", "^nothing$", true, 5 },
	{ "the mark in colour", "\x1b[1m\x1b[31msurvived\x1b[0m a",
	  "^(?>survived)(?= a$)", true, 5 },
	{ "the mark in other letters",
	  "gr\xc3\xbc\xc3\x9f"
	  "e",
	  "^gr..e$", true, 5 },
	{ "redrawn", "working\r\x1b[Kerror: x", "^error: x$", true, 5 },
};

Test(watcher, windows)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(windows); i++) {
		const struct window_case *c = &windows[i];

		buf_clear(&out);
		put_numbers(&out, 1, 4);
		buf_printf(&out, "%s\n", c->line);
		put_numbers(&out, 6, 100);
		for (size_t piece = 1; piece < 2000; piece = piece * 3 + 1) {
			struct findings f =
			    found(c->mark, NULL, c->red, out.data, out.len, piece);

			cr_expect_eq(f.lines, 100u, "%s", c->name);
			cr_expect_eq(f.tail_from, c->from, "%s: %lu", c->name,
				     (unsigned long)f.tail_from);
			cr_expect_eq(f.tail_lines, c->from > 61 ? 101 - c->from : 40u,
				     "%s", c->name);
			findings_release(&f);
		}
	}
	buf_release(&out);
}

struct output_case {
	const char *output;
	const char *tail;
	uint64_t lines;
};

static const struct output_case outputs[] = {
	{ "", "", 0 },
	{ "\n", "", 1 },
	{ "\n\n", "\n", 2 },
	{ "a", "a", 1 },
	{ "a\nb", "a\nb", 2 },
	{ "a\r\nb\r", "a\nb", 2 },
	{ "a\n\x1b[0m", "a", 1 }, /* what shows nothing is no last line */
	{ "a\nb\r\x1b[K", "a", 1 },
	{ "a\n\x1b[0m\n", "a\n", 2 },
	{ "a\n\xe2\x9c", "a\n\xef\xbf\xbd", 2 },
	{ "a\x1b]0;t\nb\n", "a\nb", 2 },
};

Test(watcher, lines)
{
	for (size_t i = 0; i < COUNT(outputs); i++) {
		const struct output_case *c = &outputs[i];

		for (size_t piece = 1; piece < 10; piece++) {
			struct findings f =
			    found(NULL, NULL, true, c->output, strlen(c->output), piece);

			cr_expect_str_eq(f.tail, c->tail, "case %zu", i);
			cr_expect_eq(f.lines, c->lines, "case %zu", i);
			cr_expect_eq(f.tail_lines, c->lines, "case %zu", i);
			cr_expect_eq(f.tail_from, c->lines > 0 ? 1u : 0u, "case %zu", i);
			cr_expect_null(f.environment);
			findings_release(&f);
		}
	}
}

struct sign_case {
	const char *output;
	const char *environment;
	bool timed_out;
};

static const struct sign_case signs[] = {
	{ "a\nread ECONNRESET\nconnect ETIMEDOUT 1\n", "read ECONNRESET", false },
	{ "a\nread ECONN\x1b[1mRESET", "read ECONNRESET", false },
	{ "Error: getaddrinfo ENOTFOUND x\n", "Error: getaddrinfo ENOTFOUND x", false },
	{ "code ENOTFOUND\nconnect ECONNREFUSED\n", NULL, false },
	{ "Test timed out in 5000ms.\n", NULL, true },
	{ "\x1b[31mHook\x1b[0m timed out in 5ms.\r\n", NULL, true },
	{ "Exceeded timeout of 5 ms\nEAI_AGAIN", "EAI_AGAIN", true },
	{ "\xe2\x9c\x97 this test timed out after 1ms\n", NULL, true },
	{ "Test timed out\nin 5000ms.\n", NULL, false },
};

Test(watcher, environment_and_timeouts)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(signs); i++) {
		const struct sign_case *c = &signs[i];

		/* Seen far above the last lines, too. */
		buf_clear(&out);
		buf_puts(&out, c->output);
		buf_putc(&out, '\n');
		put_numbers(&out, 1, 2000);
		for (size_t piece = 1; piece < 20000; piece = piece * 3 + 1) {
			struct findings f =
			    found(NULL, NULL, true, out.data, out.len, piece);

			cr_expect((f.environment == NULL) == (c->environment == NULL) &&
				      (f.environment == NULL ||
				       strcmp(f.environment, c->environment) == 0),
				  "case %zu", i);
			cr_expect_eq(f.timed_out, c->timed_out, "case %zu", i);
			findings_release(&f);
		}
	}
	buf_release(&out);
}

struct expect_case {
	const char *output;
	const char *expect;
	bool expected;
};

static const struct expect_case expects[] = {
	{ "a no-debugger b", "no-debugger", true },
	{ "a no-\x1b[31mdebugger\x1b[0m b", "no-debugger", true },
	{ "a \x1b[31mx", "\x1b[31mx", true }, /* the very bytes */
	{ "one\ntwo\nthree", "two\nth", true },
	{ "one\r\ntwo\x1b[0m\r\n", "one\ntwo\n", true },
	{ "one\ntwo", "two\n", false },
	{ "one\ntwo", "onetwo", false },
	{ "one\ntwo", "one two", false },
	{ "10%\r20%", "20%", true },
	{ "", "x", false },
	{ "anything", NULL, false },
	{ "gr\xc3\xbc\xc3\x9f"
	  "e",
	  "\xc3\xbc\xc3\x9f", true },
	{ "\xff\xfe", "\xff\xfe", true },
};

Test(watcher, expected_text)
{
	for (size_t i = 0; i < COUNT(expects); i++) {
		const struct expect_case *c = &expects[i];

		for (size_t piece = 1; piece < 30; piece++) {
			struct findings f = found(NULL, c->expect, true, c->output,
						  strlen(c->output), piece);

			cr_expect_eq(f.expected, c->expected, "case %zu by %zu", i,
				     piece);
			findings_release(&f);
		}
	}
}

Test(watcher, long_lines)
{
	struct buf out = BUF_INIT;
	struct findings f;

	for (int i = 0; i < 100000; i++)
		buf_putc(&out, 'x');
	for (size_t piece = 1000; piece <= 100000; piece *= 10) {
		f = found(NULL, NULL, true, out.data, out.len, piece);
		cr_expect_not_null(
		    strstr(f.tail, "x\xe2\x80\xa6 (95904 bytes left out)"));
		cr_expect_eq(strspn(f.tail, "x"), 4096u);
		findings_release(&f);
	}
	/* Patterns look at the first 64 KiB, \n or none, sound or not. */
	buf_puts(&out, "MARK\n");
	f = found("MARK", NULL, true, out.data, out.len, out.len);
	cr_expect_eq(f.tail_from, 1u);
	findings_release(&f);
	memcpy(out.data + 65532, "LAST", 4);
	memcpy(out.data + 65536, "NEXT", 4);
	for (size_t piece = 1000; piece <= 1000000; piece *= 1000) {
		struct pattern *last = pattern_made("LAST$"),
			       *next = pattern_made("NEXT");
		struct watcher *w = watcher_made(last, NULL);

		feed(w, out.data, out.len, piece);
		feed(w, "1\n2\n", 4, 1);
		watcher_findings(w, true, &f);
		cr_expect_eq(f.tail_from, 1u, "by %zu", piece);
		findings_release(&f);
		watcher_reset(w, next, NULL);
		for (int i = 0; i < 50; i++)
			feed(w, "some line\n", 10, 10);
		feed(w, out.data, out.len, piece);
		feed(w, "1\n2\n", 4, 1);
		watcher_findings(w, true, &f);
		cr_expect_eq(f.tail_from, 14u, "by %zu", piece);
		findings_release(&f);
		watcher_free(w);
		pattern_free(last);
		pattern_free(next);
	}
	buf_release(&out);
}

/* A word of the network's or of a runner's timeout is seen wherever it stands in a line.
 */
Test(watcher, words_far_in_a_line)
{
	static const struct {
		size_t before; /* bytes of the line before the word */
		const char *filler;
		const char *output;
		const char *environment;
		bool timed_out;
	} rows[] = {
		{ 70000, "x", " ECONNRESET\n", "ECONNRESET", false },
		{ 65530, "x", "ECONNRESET\n", "ECONNRESET", false },
		{ 1048570, "x", "getaddrinfo ENOTFOUND a.b", "getaddrinfo ENOTFOUND",
		  false },
		{ 90000, "\xe2\x82\xac", "ETIMEDOUT", "ETIMEDOUT", false },
		{ 200000, "x", "ECONN\nRESET\n", NULL, false },
		{ 200000, "x", "ECONNREFUSED\n", NULL, false },
		{ 200000, "E", "CONNRESET\nread EAI_AGAIN\n", "ECONNRESET", false },
		{ 200000, "x", "\nread EAI_AGAIN\n", "read EAI_AGAIN", false },
		{ 200000, "x", "Test timed out in 5\n", NULL, true },
	};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(rows); i++) {
		buf_clear(&out);
		while (out.len < rows[i].before)
			buf_puts(&out, rows[i].filler);
		buf_puts(&out, rows[i].output);
		for (size_t piece = 7; piece < 4000000; piece *= 13) {
			struct findings f =
			    found(NULL, NULL, true, out.data, out.len, piece);

			cr_expect((f.environment == NULL) ==
					  (rows[i].environment == NULL) &&
				      (f.environment == NULL ||
				       strcmp(f.environment, rows[i].environment) == 0),
				  "row %zu by %zu: %.50s", i, piece,
				  f.environment != NULL ? f.environment : "none");
			cr_expect_eq(f.timed_out, rows[i].timed_out, "row %zu by %zu", i,
				     piece);
			findings_release(&f);
		}
	}
	buf_release(&out);
}

Test(watcher, last_line_of_a_live_display)
{
	struct watcher *w = watcher_made(NULL, NULL);
	struct watch watch = watcher_watch(w);
	char last[64];

	watcher_last_line(w, last, sizeof(last));
	cr_expect_str_eq(last, "");
	watch.feed(watch.ctx, "one\ntwo\n", 8);
	watcher_last_line(w, last, sizeof(last));
	cr_expect_str_eq(last, "two");
	watch.feed(watch.ctx, "\n  \n", 4);
	watcher_last_line(w, last, sizeof(last));
	cr_expect_str_eq(last, "two", "a blank one says nothing");
	watch.feed(watch.ctx, "\x1b[1m10%\r2", 9);
	watcher_last_line(w, last, sizeof(last));
	cr_expect_str_eq(last, "20%", "an unfinished one counts");
	watcher_last_line(w, last, 3);
	cr_expect_str_eq(last, "20");
	watcher_free(w);
}

Test(watcher, reset_forgets)
{
	struct pattern *mark = pattern_made("MARK");
	struct watcher *w = watcher_made(mark, "x");
	struct findings f;
	char last[8];

	feed(w, "MARK x Test timed out in\nread ECONNRESET\nopen", 44, 44);
	watcher_reset(w, NULL, NULL);
	watcher_findings(w, true, &f);
	cr_expect(f.lines == 0 && f.tail_lines == 0 && f.tail_from == 0 && !f.timed_out &&
		  !f.expected && f.environment == NULL);
	cr_expect_str_eq(f.tail, "");
	findings_release(&f);
	watcher_last_line(w, last, sizeof(last));
	cr_expect_str_eq(last, "");
	feed(w, "MARK", 4, 4);
	watcher_findings(w, true, &f);
	cr_expect_str_eq(f.tail, "MARK");
	cr_expect_eq(f.lines, 1u);
	findings_release(&f);
	findings_release(NULL);
	watcher_free(w);
	watcher_free(NULL);
	pattern_free(mark);
}

/* The findings by the plainest way: all lines kept, each pattern as it is promised. */
struct reference {
	char **lines;
	size_t n;
	size_t room;
};

static const char *const errors[] = {
	"(?i)^\\s*(\\S+:\\s*)*(fatal|error|internal error)\\b",
	"\\b[A-Z]\\w*(Error|Exception):",
	"^(E |FAIL|✗|×|✖|not ok)",
	"panicked at",
	"^Traceback",
	"Assertion .*failed",
};

static const char network[] = "getaddrinfo ENOTFOUND|EAI_AGAIN|ECONNRESET|ETIMEDOUT"
			      "|ENETUNREACH|EHOSTUNREACH";

struct patterns {
	struct pattern *errors[COUNT(errors)];
	struct pattern *network;
	struct pattern *mark;
};

static void
reference_read(struct reference *r, const char *bytes, size_t n)
{
	struct line l = LINE_INIT;
	char *text = xmalloc(70000);
	bool ended = false;

	*r = (struct reference){ NULL, 0, 0 };
	for (size_t at = 0; at < n;) {
		at += line_feed(&l, bytes + at, n - at, &ended);
		line_finish(&l);
		if (!ended && line_is_empty(&l))
			break;
		r->lines = xgrow(r->lines, r->n + 1, &r->room, sizeof(*r->lines));
		r->lines[r->n++] = xstrndup(text, line_copy(&l, text, 70000));
		line_clear(&l);
	}
	line_release(&l);
	free(text);
}

static void
reference_release(struct reference *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->lines[i]);
	free(r->lines);
}

static bool
is_error(const struct patterns *p, const char *line)
{
	for (size_t i = 0; i < COUNT(errors); i++)
		if (pattern_matches(p->errors[i], line, strlen(line)))
			return true;
	return false;
}

/* The first line of a red tail, from 0. */
static size_t
reference_from(const struct reference *r, const struct patterns *p)
{
	size_t last = r->n > 40 ? r->n - 40 : 0;

	for (size_t i = 0; p->mark != NULL && i < r->n; i++)
		if (pattern_matches(p->mark, r->lines[i], strlen(r->lines[i])))
			return i;
	for (size_t i = 0; i < last; i++)
		if (is_error(p, r->lines[i]))
			return i;
	return last;
}

static const char *
reference_environment(const struct reference *r, const struct patterns *p)
{
	for (size_t i = 0; i < r->n; i++)
		if (pattern_matches(p->network, r->lines[i], strlen(r->lines[i])))
			return r->lines[i];
	return NULL;
}

static void
expect_as_reference(const struct findings *f, const struct reference *r,
		    const struct patterns *p, int round)
{
	size_t from = reference_from(r, p);
	const char *environment = reference_environment(r, p);
	struct buf tail = BUF_INIT;
	size_t n = 0;

	for (; n < 40 && from + n < r->n; n++)
		buf_printf(&tail, "%s%s", n > 0 ? "\n" : "", r->lines[from + n]);
	cr_expect_eq(f->lines, r->n, "round %d", round);
	cr_expect_eq(f->tail_from, r->n > 0 ? from + 1 : 0, "round %d", round);
	cr_expect_eq(f->tail_lines, n, "round %d", round);
	cr_expect_str_eq(f->tail, buf_text(&tail), "round %d", round);
	cr_expect((f->environment == NULL) == (environment == NULL) &&
		      (environment == NULL || strcmp(f->environment, environment) == 0),
		  "round %d", round);
	buf_release(&tail);
}

static const char *const common[] = {
	"words of output\n", "\n", "ok 1\n", "7\n",
	"a line that is rather longer than all the others are, by far\n"
};
static const char *const rare[] = {
	"error: x\n",
	"TypeError: y\n",
	"terror\n",
	"read ECONNRESET\n",
	"marked\n",
	"  marked",
	"\x1b[31mFAIL\x1b[0m\n",
	"gr\xc3\xbcn\n",
	"\xe2\x9c\x97 x\n",
	"dos\r\n",
	"\r",
	"\b",
	"\xff",
	"\x1b[K",
	"\x1b[2K\r",
	"\x1b]0;t\x07",
	"no end",
	"E x\n",
	"\x1b[3D",
	"\t",
};

static void
output_make(struct buf *out, long rarity)
{
	buf_clear(out);
	for (long n = random() % 400; n >= 0; n--) {
		if (random() % rarity == 0)
			buf_puts(out, rare[(size_t)random() % COUNT(rare)]);
		else
			buf_puts(out, common[(size_t)random() % COUNT(common)]);
	}
}

Test(watcher, as_the_plainest_way, .timeout = 100)
{
	static const char *const marks[] = { NULL, "^\\s*marked$", "r.*r", "(?i)ERROR|x$",
					     "\\d" };
	struct patterns p;
	struct buf out = BUF_INIT;

	srandom(6);
	for (size_t i = 0; i < COUNT(errors); i++)
		p.errors[i] = pattern_made(errors[i]);
	p.network = pattern_made(network);
	for (int round = 0; round < 1500; round++) {
		const char *mark = marks[(size_t)random() % COUNT(marks)];
		struct findings f;
		struct reference r;
		size_t piece;

		output_make(&out, 1L << (random() % 8));
		reference_read(&r, out.data, out.len);
		p.mark = pattern_made(mark);
		/* At once, by bytes, or in pieces of random length. */
		piece = random() % 3 == 0 ? out.len : (size_t)random() % 2;
		f = found(mark, NULL, true, out.data, out.len, piece);
		expect_as_reference(&f, &r, &p, round);
		findings_release(&f);
		reference_release(&r);
		pattern_free(p.mark);
	}
	for (size_t i = 0; i < COUNT(errors); i++)
		pattern_free(p.errors[i]);
	pattern_free(p.network);
	buf_release(&out);
}

Test(watcher, slow_marks_are_given_up, .timeout = 100)
{
	struct pattern *mark = pattern_made("^(a+)+$");
	struct watcher *w = watcher_made(mark, NULL);
	struct buf out = BUF_INIT;
	struct findings f;
	int64_t start = clock_now_ms();

	for (int i = 0; i < 3000; i++)
		buf_putc(&out, 'a');
	buf_puts(&out, "b\n");
	for (int i = 0; i < 20000; i++)
		feed(w, out.data, out.len, out.len);
	feed(w, "aaa\n", 4, 4);
	watcher_findings(w, true, &f);
	cr_expect_eq(f.lines, 20001u);
	cr_expect_eq(f.tail_from, 19962u, "nothing matched");
	cr_expect_lt(clock_now_ms() - start, 60000);
	findings_release(&f);
	watcher_free(w);
	pattern_free(mark);
	buf_release(&out);
}

/* Slow on each line, but never at the limit: the sum is bounded all the same. */
Test(watcher, dear_marks_are_given_up, .timeout = 100)
{
	struct pattern *mark = pattern_made("(?:\\w|-)++\\d");
	struct watcher *w = watcher_made(mark, NULL);
	struct buf out = BUF_INIT;
	struct findings f;
	int64_t start = clock_now_ms();

	for (int i = 0; i < 60000; i++)
		buf_putc(&out, 'a');
	buf_puts(&out, ":x\n");
	for (int i = 0; i < 1000; i++)
		feed(w, out.data, out.len, out.len);
	watcher_findings(w, true, &f);
	cr_expect_eq(f.lines, 1000u);
	cr_expect_gt(clock_now_ms() - start, 500, "too quick to show anything");
	cr_expect_lt(clock_now_ms() - start, 60000);
	findings_release(&f);
	watcher_free(w);
	pattern_free(mark);
	buf_release(&out);
}

#ifndef GN_SANITIZED
/* Memory that this process shares with no other, in KiB. */
static long
private_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	long kib = -1;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Private_Dirty: %ld kB", &kib) == 1)
			break;
	(void)fclose(f);
	return kib;
}

/* What a worker's watcher costs it in memory of its own, in KiB. */
static long
worker_kib(const char *text, size_t times)
{
	struct watcher *w = watcher_made(NULL, NULL);
	pid_t pid = fork();
	int status;

	cr_assert(pid >= 0);
	if (pid == 0) {
		struct watch watch = watcher_watch(w);
		long before = private_kib(), kib;

		for (size_t i = 0; i < times; i++)
			watch.feed(watch.ctx, text, strlen(text));
		watch.end(watch.ctx);
		kib = private_kib() - before;
		_exit(kib > 255 * 8 ? 255 : (int)(kib / 8));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	watcher_free(w);
	return WEXITSTATUS(status) * 8L;
}

Test(watcher, memory)
{
	long kib;

	kib = worker_kib("words of ordinary output\n", 100000);
	cr_expect_leq(kib, 100, "%ld KiB", kib);
	kib = worker_kib("\x1b[31mwords\x1b[0m\nerror: x\n", 100000);
	cr_expect_leq(kib, 400, "%ld KiB", kib);
	kib = worker_kib("one line that never ends", 1000000);
	cr_expect_leq(kib, 600, "%ld KiB", kib);
}
#endif
