/* SPDX-License-Identifier: MIT */
#include "supervisor/base/line.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define R "\xef\xbf\xbd"
#define CHECK "\xe2\x9c\x93"

struct line_case {
	const char *bytes; /* without a final \n */
	const char *shown; /* lines joined with \n */
};

static const struct line_case cases[] = {
	{ "", "" },
	{ "plain text", "plain text" },
	{ "tab\tkept \t", "tab\tkept \t" },
	{ "two\nlines", "two\nlines" },
	{ "\n\n", "\n\n" },
	{ "dos\r\nline\r", "dos\nline" },
	{ "gr\xc3\xbc\xc3\x9f"
	  "e " CHECK " \xf0\x9f\x98\x80",
	  "gr\xc3\xbc\xc3\x9f"
	  "e " CHECK " \xf0\x9f\x98\x80" },
	/* CSI */
	{ "\x1b[31mred\x1b[0m", "red" },
	{ "\x1b[38;5;196mred\x1b[m \x1b[38:2::1:2:3mtrue\x1b[0m\x1b[K end",
	  "red true end" },
	{ "\x1b[?25lhidden\x1b[?25h", "hidden" },
	{ "a\x1b[1 qb", "ab" },
	{ "a\x1b[!pb", "ab" },
	{ "\xc2\x9b"
	  "31mred\xc2\x9bm",
	  "red" },
	{ "a\x1b[31\nb", "a\nb" },		/* never ended: over with the line */
	{ "a\x1b[3" CHECK "b", "a" CHECK "b" }, /* or with what cannot be in it */
	{ "a\x1b[3\x18"
	  "b",
	  "ab" },
	{ "a\x1b[3\x1a"
	  "b",
	  "ab" },
	{ "a\x1b[3\x1b[1mb", "ab" },
	{ "a\x1b[99999999999999999999999mb", "ab" },
	/* OSC */
	{ "\x1b]0;title\x07text", "text" },
	{ "\x1b]8;;https://example.invalid/a?b=c\x1b\\LINK\x1b]8;;\x1b\\ x", "LINK x" },
	{ "\x1b]0;gr\xc3\xbc" CHECK "\xc2\x9ctext", "text" },
	{ "a\x1b]0;never ended\nb", "a\nb" },
	{ "a\x1b]0;left\x18"
	  "b",
	  "ab" },
	{ "a\x1b]0;left\x1b[1mb", "ab" },
	/* DCS, SOS, PM, APC: no BEL ends them */
	{ "a\x1bP1$r0m\x07x\x1b\\b", "ab" },
	{ "a\x1bXsos\x1b\\b\x1b^pm\x1b\\c\x1b_apc\x1b\\d", "abcd" },
	{ "a\x1bPnever\nb", "a\nb" },
	/* other escapes, with intermediate bytes */
	{ "\x1b(B\x1b)0a\x1b"
	  "7b\x1b"
	  "8c\x1b=d\x1b>e\x1b#8f\x1b cg\x1b%G",
	  "abcdefg" },
	{ "a\x1b", "a" },
	{ "a\x1b\nb", "a\nb" },
	{ "a\x1b\x1b[1mb", "ab" },
	{ "a\x1b" CHECK "b", "a" CHECK "b" },
	{ "a\x1b\x01"
	  "b",
	  "a" R "b" },
	{ "a\x1b\\b", "ab" },
	/* CR */
	{ "10%\r50%\r100%", "100%" },
	{ "working...\r\x1b[Kdone", "done" },
	{ "working...\x1b[2K\rdone", "done" },
	{ "working...\x1b[1K\rdone", "done" },
	{ "working...\r\x1b[Jdone", "done" },
	{ "longer text\rshort", "shortr text" }, /* as a terminal shows it */
	{ "[....] name\r[ ok ]", "[ ok ] name" },
	{ "working...\rdone      ", "done      " }, /* blanks that were printed stay */
	{ "abc\r\r\r", "abc" },
	{ "abc\r\x1b[31m", "abc" },
	{ "progress\r\x1b[K", "" },
	{ "abc\r\r\nd", "abc\nd" },
	/* backspaces */
	{ "abc\b\bX", "aXc" },
	{ "\b\ba", "a" },
	{ "N\bNA\bAME", "NAME" },
	{ "spin |\b/\b-\b\\", "spin \\" },
	{ "ab \b\b \b", "a  " },
	{ CHECK "x\b\by", "yx" },
	/* erasing and moving */
	{ "abcdef\x1b[3D\x1b[K", "abc" },
	{ "abcdef\x1b[3D\x1b[1Kx", "   xef" },
	{ "abc\x1b[2K", "" },
	{ "abc\x1b[2Kx", "   x" },
	{ "abcdef\x1b[3Gx", "abxdef" },
	{ "abcdef\x1b[3`x", "abxdef" },
	{ "abcdef\rx\x1b[2Cy", "xbcyef" },
	{ "abcdef\x1b[Gx\x1b[Dy", "ybcdef" },
	{ "a\x1b[5Gb", "a   b" },
	{ "a\x1b[0C\x1b[0Db\x1b[0Gc", "cb" },
	{ "a\x1b[99999Dx", "x" },
	{ "abc\x1b[?K\x1b[3K\x1b[1J\x1b[2J\x1b[1 K", "abc" },
	{ "ab\x1b[3Cc\b\x1b[K", "ab" }, /* blanks jumped over are no text */
	{ "ab   \x1b[2D\x1b[K", "ab " },
	/* other control bytes */
	{ "a\x07"
	  "b\x7f"
	  "c\x0e\x0f\v\f",
	  "a" R "b" R "c" R R R R },
	{ "\xc2\x80\xc2\x85\xc2\x9d\xc2\x9f", R R R R },
	{ "\xc2\xa0|\xe2\x80\xa8|\xe2\x80\xae", "\xc2\xa0|\xe2\x80\xa8|\xe2\x80\xae" },
	/* bytes that are no UTF-8: once for each maximal part */
	{ "\xff\xfe", R R },
	{ "\xe2\x9c", R },
	{ "\xe2\x9c\n\xe2", R "\n" R },
	{ "\xe2\x9cx", R "x" },
	{ "\xf0\x9f\x98" CHECK, R CHECK },
	{ "\xed\xa0\x80", R R R },
	{ "\xc0\xaf\xe0\x80\x80\xf4\x90\x80\x80", R R R R R R R R R },
	{ "\xc3\x1b[1mx", R "x" },
	{ "\x9b"
	  "31m",
	  R "31m" },		 /* alone it is no C1 control */
	{ "\xf0\x9f\r\x80", R }, /* the broken one, then a byte over it */
};

/* Feed in pieces of the given sizes, in turn. */
static char *
shown(const char *bytes, size_t n, size_t first, size_t rest)
{
	struct line l = LINE_INIT;
	struct buf out = BUF_INIT;
	char text[4096];
	size_t at = 0, piece = first, used;
	bool ended = false;

	while (at < n) {
		if (piece > n - at)
			piece = n - at;
		for (size_t end = at + piece; at < end; at += used) {
			used = line_feed(&l, bytes + at, end - at, &ended);
			cr_assert(used > 0 && used <= end - at);
			cr_assert_eq(ended, bytes[at + used - 1] == '\n');
			if (!ended)
				continue;
			cr_expect_eq(line_bytes(&l), line_copy(&l, text, sizeof(text)));
			buf_append(&out, text, line_copy(&l, text, sizeof(text)));
			buf_putc(&out, '\n');
			line_clear(&l);
		}
		piece = rest;
	}
	line_finish(&l);
	buf_append(&out, text, line_copy(&l, text, sizeof(text)));
	line_release(&l);
	return out.data != NULL ? buf_steal(&out) : xstrdup("");
}

Test(line, shown_as_a_terminal_does)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct line_case *c = &cases[i];
		size_t n = strlen(c->bytes);
		char *got = shown(c->bytes, n, n, n);

		cr_expect_str_eq(got, c->shown, "case %zu: %s", i, got);
		free(got);
	}
}

Test(line, pieces_make_no_difference)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct line_case *c = &cases[i];
		size_t n = strlen(c->bytes);

		for (size_t first = 1; first < n; first++) {
			char *two = shown(c->bytes, n, first, n);
			char *more = shown(c->bytes, n, first, 1);

			cr_expect_str_eq(two, c->shown, "case %zu cut at %zu", i, first);
			cr_expect_str_eq(more, c->shown, "case %zu from %zu", i, first);
			free(two);
			free(more);
		}
	}
}

Test(line, nul_is_a_control)
{
	char *got = shown("a\0b\0", 4, 4, 4);

	cr_expect_str_eq(got, "a" R "b" R);
	free(got);
}

struct move_case {
	const char *bytes;
	size_t column; /* where x comes to stand */
};

static const struct move_case moves[] = {
	{ "\x1b[255Cx", 255 },
	{ "\x1b[9999Cx", 255 }, /* the right edge of a wide terminal */
	{ "\x1b[9999999999Gx", 255 },
	{ "\x1b[80Gx", 79 },
};

Test(line, moves_end_at_the_right_edge)
{
	for (size_t i = 0; i < COUNT(moves); i++) {
		char *got = shown(moves[i].bytes, strlen(moves[i].bytes), 1, 1);

		cr_expect_eq(strspn(got, " "), moves[i].column, "case %zu", i);
		cr_expect_str_eq(got + moves[i].column, "x", "case %zu", i);
		free(got);
	}
}

/* Text far longer than the cells: kept as far as they go, and counted. */
Test(line, long_lines)
{
	struct line l = LINE_INIT;
	size_t n = 100 * 1000;
	char *bytes = xmalloc(n), *text = xmalloc(n);
	bool ended;

	memset(bytes, 'a', n);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(line_feed(&l, bytes, n, &ended), n);
	cr_expect_eq(line_bytes(&l), 10 * n);
	cr_expect_eq(line_copy(&l, text, n), (size_t)LINE_CELLS);
	cr_expect_eq(line_copy(&l, text, 100), 100u);
	/* Overwritten, there is no more of it. */
	(void)line_feed(&l, "\rb", 2, &ended);
	cr_expect_eq(line_bytes(&l), 10 * n);
	(void)line_feed(&l, bytes, n, &ended);
	cr_expect_eq(line_bytes(&l), 10 * n);
	cr_expect_eq(line_copy(&l, text, 1), 1u);
	cr_expect_eq(text[0], 'b');
	/* A character of three bytes at the very end, and beyond an erased end. */
	line_clear(&l);
	(void)line_feed(&l, bytes, LINE_CELLS, &ended);
	(void)line_feed(&l, CHECK CHECK "a", 7, &ended);
	cr_expect_eq(line_bytes(&l), LINE_CELLS + 7u);
	(void)line_feed(&l, "\r\x1b[K", 4, &ended);
	cr_expect_eq(line_bytes(&l), 0u);
	cr_expect(line_is_empty(&l));
	line_release(&l);
	free(bytes);
	free(text);
}

Test(line, copy_ends_with_a_whole_character)
{
	struct line l = LINE_INIT;
	char text[16];
	bool ended;

	(void)line_feed(&l, "ab" CHECK "c", 6, &ended);
	for (size_t size = 0; size <= 6; size++)
		cr_expect_eq(line_copy(&l, text, size),
			     size < 2	? size
			     : size < 5 ? 2
					: size,
			     "%zu", size);
	line_release(&l);
}

struct sound_case {
	const char *bytes;
	bool sound;
};

static const struct sound_case sounds[] = {
	{ "", true },
	{ "plain\ttext", true },
	{ "gr\xc3\xbc\xc3\x9f"
	  "e " CHECK,
	  true },
	{ "\xc2\xa0", true },
	{ "\xc2\x9b", false },
	{ "\x1b[m", false },
	{ "a\rb", false },
	{ "\x7f", false },
	{ "\xff", false },
	{ "\xe2\x9c", false },
	{ "a line that is longer than one step of sixty-four bytes, with a bell \x07",
	  false },
};

Test(line, sound_bytes_are_shown_as_they_stand)
{
	for (size_t i = 0; i < COUNT(sounds); i++)
		cr_expect_eq(line_is_sound(sounds[i].bytes, strlen(sounds[i].bytes)),
			     sounds[i].sound, "case %zu", i);
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t n = strlen(cases[i].bytes);

		if (line_is_sound(cases[i].bytes, n))
			cr_expect_str_eq(cases[i].bytes, cases[i].shown, "case %zu", i);
	}
}

/* Whatever comes in, valid UTF-8 without a control character comes out. */
Test(line, random_bytes)
{
	static const char *const parts[] = {
		"\x1b", "[",	"]", "P",  "\\",  "31",	  ";",	     "m",
		"K",	"G",	"D", "C",  "\r",  "\b",	  "\n",	     "\xc2",
		"\x9b", "\x9c", "a", "bc", CHECK, "\xff", "\x07",    "J",
		"1",	"2",	"?", " ",  "\t",  "\x18", "\xf0\x9f"
	};
	struct buf bytes = BUF_INIT;

	srandom(1);
	for (int round = 0; round < 3000; round++) {
		char *at_once, *split;

		buf_clear(&bytes);
		for (long n = random() % 40; n >= 0; n--)
			buf_puts(&bytes, parts[(size_t)random() % COUNT(parts)]);
		at_once = shown(bytes.data, bytes.len, bytes.len, bytes.len);
		split = shown(bytes.data, bytes.len, 1 + (size_t)random() % bytes.len, 1);
		cr_expect_str_eq(at_once, split, "round %d", round);
		cr_expect(utf8_valid(at_once, strlen(at_once)), "round %d", round);
		cr_expect_eq(strcspn(at_once, "\x1b\r\b\x07\x18"), strlen(at_once),
			     "round %d", round);
		cr_expect_null(strstr(at_once, "\xc2\x9b"), "round %d", round);
		free(at_once);
		free(split);
	}
	buf_release(&bytes);
}
