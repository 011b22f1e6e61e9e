/* SPDX-License-Identifier: MIT */
#include "supervisor/base/signs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/base/line.h"
#include "supervisor/base/pattern.h"
#include "supervisor/base/screen.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct sign_case {
	const char *line;
	unsigned signs; /* SIGN_ERROR stands for any that makes an error */
};

static const struct sign_case cases[] = {
	{ "fatal: bad revision", SIGN_ERROR },
	{ "error: pathspec", SIGN_ERROR },
	{ "  error TS2304: no name", SIGN_ERROR },
	{ "src/a.ts: error: x", SIGN_ERROR },
	{ "npm: lint: FATAL x", SIGN_ERROR },
	{ "Internal Error: y", SIGN_ERROR },
	{ "ERROR", SIGN_ERROR },
	{ "a:b:error", SIGN_ERROR },
	{ "a:::  b:  internal error", SIGN_ERROR },
	{ "TypeError: x is undefined", SIGN_ERROR },
	{ "Uncaught RangeError: y", SIGN_ERROR },
	{ "at java.lang.NullPointerException: z", SIGN_ERROR },
	{ "> AssertionError: no", SIGN_ERROR },
	{ "E       assert 1 == 2", SIGN_ERROR },
	{ "FAIL a.test.ts", SIGN_ERROR },
	{ "FAILED", SIGN_ERROR },
	{ "✗ x", SIGN_ERROR },
	{ "×", SIGN_ERROR },
	{ "✖ 3 problems", SIGN_ERROR },
	{ "not ok 1", SIGN_ERROR },
	{ "thread 'main' panicked at src/main.rs", SIGN_ERROR },
	{ "Traceback (most recent call last):", SIGN_ERROR },
	{ "a.out: x.c:3: main: Assertion `0' failed.", SIGN_ERROR },
	{ "Assertion failed", SIGN_ERROR },
	{ "read ECONNRESET", SIGN_NETWORK },
	{ "EAI_AGAIN", SIGN_NETWORK },
	{ "connect ETIMEDOUT 10.0.0.1:443", SIGN_NETWORK },
	{ "connect ENETUNREACH 10.0.0.1:443", SIGN_NETWORK },
	{ "connect EHOSTUNREACH 10.0.0.1:443", SIGN_NETWORK },
	{ "Error: getaddrinfo ENOTFOUND x", SIGN_ERROR | SIGN_NETWORK },
	{ "Test timed out in 5000ms.", SIGN_TIMEOUT },
	{ "Error: Hook timed out in 10ms", SIGN_ERROR | SIGN_TIMEOUT },
	{ "thrown: \"Exceeded timeout of 5000 ms for a test.", SIGN_TIMEOUT },
	{ "  ^ this test timed out after 1ms.", SIGN_TIMEOUT },
	/* near, but none */
	{ "", 0 },
	{ "errors: 0", 0 },
	{ "1 error", 0 },
	{ "terror: x", 0 },
	{ "error_count: 0", 0 },
	{ ": error", 0 },
	{ "see: : error", 0 },
	{ "typeError: x", 0 },
	{ "no TypeError here", 0 },
	{ " FAIL  a.test.ts", 0 },
	{ " Traceback (most recent", 0 },
	{ "E5 x", 0 },
	{ "npm ERR! code", 0 },
	{ "see: not ok", 0 },
	{ "Assertions: 3 failed", 0 },
	{ "failed Assertion here", 0 },
	{ "connect ECONNREFUSED 127.0.0.1:5432", 0 },
	{ "code ENOTFOUND", 0 },
	{ "econnreset", 0 },
	{ "test timed out in", 0 },
};

/* What the patterns promise, written as they are promised. */
static const char *const promised[] = {
	"(?i)^\\s*(\\S+:\\s*)*(fatal|error|internal error)\\b",
	"\\b[A-Z]\\w*(Error|Exception):",
	"^(E |FAIL|✗|×|✖|not ok)",
	"panicked at",
	"^Traceback",
	"Assertion .*failed",
};

static unsigned
any_error(unsigned signs)
{
	return (signs & SIGN_ERROR) != 0 ? signs | SIGN_ERROR : signs;
}

Test(signs, of_a_line)
{
	struct signs s = SIGNS_INIT;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct sign_case *c = &cases[i];
		size_t n = strlen(c->line);

		cr_expect_eq(any_error(signs_of(&s, SIGN_ALL, c->line, n)), c->signs,
			     "%s", c->line);
		/* Only what is asked for is answered. */
		cr_expect_eq(signs_of(&s, 0, c->line, n), 0u);
		cr_expect_eq(signs_of(&s, SIGN_NETWORK, c->line, n),
			     c->signs & SIGN_NETWORK, "%s", c->line);
	}
	signs_release(&s);
}

static const char *const words[] = {
	"error",
	"Error",
	"Error:",
	"Exception:",
	"fatal",
	"FATAL",
	"internal",
	"internal error",
	":",
	"::",
	"a",
	"a:",
	" ",
	"  ",
	"\t",
	"_",
	"not ok",
	"FAIL",
	"E ",
	"✗",
	"×",
	"panicked at",
	"Traceback",
	"Assertion ",
	"failed",
	"T",
	"ECONNRESET",
	"getaddrinfo ",
	"ENOTFOUND",
	"EAI_AGAIN",
	"ETIMEDOUT",
	"EHOSTUNREACH",
	"ENETUNREACH",
	"Test timed out in",
	"Hook timed out in",
	"Exceeded timeout of",
	"this test timed out after",
	"ü",
	"x.c:3:",
	"0",
};

static void
line_of_words(struct buf *line)
{
	buf_clear(line);
	for (long n = random() % 6; n >= 0; n--)
		buf_puts(line, words[(size_t)random() % COUNT(words)]);
}

Test(signs, as_promised, .timeout = 60)
{
	struct pattern *patterns[COUNT(promised)];
	struct error err = ERROR_INIT;
	struct signs s = SIGNS_INIT;
	struct buf line = BUF_INIT;
	unsigned errors = 0;

	for (size_t i = 0; i < COUNT(promised); i++)
		cr_assert_eq(pattern_compile(promised[i], &patterns[i], &err), 0, "%s",
			     err.text);
	srandom(2);
	for (int round = 0; round < 100000; round++) {
		bool expected = false, got;

		line_of_words(&line);
		for (size_t i = 0; i < COUNT(promised); i++)
			expected |= pattern_matches(patterns[i], line.data, line.len);
		got = signs_of(&s, SIGN_ERROR, line.data, line.len) != 0;
		errors += got;
		cr_expect_eq(got, expected, "%s", line.data);
	}
	cr_expect(errors > 10000 && errors < 90000, "%u errors: this shows little",
		  errors);
	for (size_t i = 0; i < COUNT(promised); i++)
		pattern_free(patterns[i]);
	signs_release(&s);
	buf_release(&line);
}

/* The screen may name too much, never too little: nor where the marks lie in a block. */
Test(signs, none_passes_the_screen, .timeout = 60)
{
	struct screen wide, narrow;
	struct signs s = SIGNS_INIT;
	struct buf line = BUF_INIT;
	struct buf block = BUF_INIT;

	screen_init(&wide);
	narrow = wide;
	narrow.wide = false;
	srandom(3);
	for (int round = 0; round < 50000; round++) {
		struct screened a, b;
		unsigned has;

		line_of_words(&line);
		has = signs_of(&s, SIGN_ALL, line.data, line.len);
		if ((unsigned char)line.data[0] >= 0x80)
			has &= ~(unsigned)SIGN_START;
		buf_clear(&block);
		for (long n = random() % 3; n > 0; n--)
			buf_printf(&block, "%.*s\n", (int)(random() % 70),
				   "words of a line before it, of any length up to "
				   "seventy bytes");
		buf_append(&block, line.data, line.len);
		if (random() % 2 == 0)
			buf_putc(&block, '\n');
		a = screen_lines(&wide, block.data, block.len);
		b = screen_lines(&narrow, block.data, block.len);
		cr_expect_eq(has & ~a.signs, 0u, "%s", block.data);
		cr_expect(a.signs == b.signs && a.plain == b.plain &&
			      a.newlines == b.newlines,
			  "%s", block.data);
	}
	signs_release(&s);
	buf_release(&line);
	buf_release(&block);
}

Test(signs, screen_counts_and_sees_what_is_not_plain)
{
	static const size_t lengths[] = { 0,  1,  2,  31, 32,	33,   34,
					  35, 64, 66, 67, 8160, 20000 };
	struct screen wide, narrow;
	char *bytes = xmalloc(20000);

	screen_init(&wide);
	narrow = wide;
	narrow.wide = false;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t n = lengths[i];

		memset(bytes, '\n', n);
		cr_expect_eq(screen_lines(&wide, bytes, n).newlines, n);
		cr_expect_eq(screen_lines(&narrow, bytes, n).newlines, n);
		for (size_t at = 0; at<n; at += n> 100 ? 997 : 1) {
			for (unsigned c = 0; c < 256; c += c == 0x20 ? 0x5e : 1) {
				bool plain =
				    c == '\t' || c == '\n' || (c >= 0x20 && c < 0x7f);

				bytes[at] = (char)c;
				cr_expect_eq(screen_lines(&wide, bytes, n).plain, plain,
					     "%#x at %zu of %zu", c, at, n);
				cr_expect_eq(screen_lines(&narrow, bytes, n).plain, plain,
					     "%#x at %zu of %zu", c, at, n);
			}
			bytes[at] = '\n';
		}
	}
	free(bytes);
}

static const char *const endless[] = { "::", "a:", "Assertion ", "A", "Error", "x: " };

/* No line of 64 KiB costs more than it is long. */
Test(signs, linear, .timeout = 60)
{
	struct signs s = SIGNS_INIT;
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < COUNT(endless); i++) {
		int64_t start;

		buf_clear(&line);
		while (line.len < 65536)
			buf_puts(&line, endless[i]);
		start = clock_now_ms();
		(void)signs_of(&s, SIGN_ALL, line.data, line.len);
		cr_expect_lt(clock_now_ms() - start, 500, "%s", endless[i]);
	}
	signs_release(&s);
	buf_release(&line);
}
