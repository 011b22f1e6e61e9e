/* SPDX-License-Identifier: MIT */
#include "supervisor/base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ipc/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define R "\xef\xbf\xbd"

struct sequence_case {
	const char *bytes;
	size_t len;
};

static const struct sequence_case sequences[] = {
	{ "a", 1 },
	{ "\x7f", 1 },
	{ "\xc2\x80", 2 },
	{ "\xdf\xbf", 2 },
	{ "\xe0\xa0\x80", 3 },
	{ "\xed\x9f\xbf", 3 },
	{ "\xee\x80\x80", 3 },
	{ "\xef\xbf\xbf", 3 },
	{ "\xf0\x90\x80\x80", 4 },
	{ "\xf4\x8f\xbf\xbf", 4 },
	/* bytes that begin nothing */
	{ "\x80", 0 },
	{ "\xbf", 0 },
	{ "\xc0\x80", 0 },
	{ "\xc1\xbf", 0 },
	{ "\xf5\x80\x80\x80", 0 },
	{ "\xff", 0 },
	/* overlong, surrogates, past the end of Unicode */
	{ "\xe0\x9f\xbf", 0 },
	{ "\xf0\x8f\xbf\xbf", 0 },
	{ "\xed\xa0\x80", 0 },
	{ "\xed\xbf\xbf", 0 },
	{ "\xf4\x90\x80\x80", 0 },
	/* cut */
	{ "\xc2", 0 },
	{ "\xe2\x9c", 0 },
	{ "\xf0\x9f\x98", 0 },
	{ "\xe2\x9c"
	  "a",
	  0 },
};

Test(text, sequences)
{
	for (size_t i = 0; i < COUNT(sequences); i++)
		cr_expect_eq(
		    utf8_sequence(sequences[i].bytes, strlen(sequences[i].bytes)),
		    sequences[i].len, "case %zu", i);
	cr_expect_eq(utf8_sequence("a", 0), 0);
	cr_expect_eq(utf8_sequence("\xe2\x9c\x93", 2), 0, "the length given counts");
	cr_expect_eq(utf8_sequence("", 1), 1, "NUL is a character");
}

/* The bit layout written down a second time, as arithmetic. */
static size_t
sequence_reference(const unsigned char *s, size_t n)
{
	static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80   ? 1
		     : s[0] < 0xc0 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
				   : 4;
	unsigned long point;

	if (len < 2)
		return len;
	if (s[0] >= 0xf8 || n < len)
		return 0;
	point = s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		point = point << 6 | (s[i] & 0x3fu);
	}
	if (point < least[len] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	return len;
}

Test(text, sequences_agree_with_arithmetic)
{
	static const unsigned char third[] = { 0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff };
	unsigned char s[4];
	unsigned wrong = 0;

	for (unsigned head = 0; head < 0x10000; head++) {
		s[0] = (unsigned char)(head >> 8);
		s[1] = (unsigned char)head;
		for (size_t t = 0; t < COUNT(third) * COUNT(third); t++) {
			s[2] = third[t / COUNT(third)];
			s[3] = third[t % COUNT(third)];
			for (size_t n = 1; n <= 4; n++)
				wrong += utf8_sequence((char *)s, n) !=
					 sequence_reference(s, n);
		}
	}
	cr_expect_eq(wrong, 0);
}

Test(text, valid)
{
	static const char mixed[] = "gr\xc3\xbc\xc3\x9f"
				    "e \xe2\x9c\x93 \xf0\x9f\x98\x80";
	char text[64];

	cr_expect(utf8_valid("", 0));
	cr_expect(utf8_valid("plain ascii, longer than a word", 31));
	cr_expect(utf8_valid(mixed, sizeof(mixed) - 1));
	cr_expect_not(utf8_valid(mixed, sizeof(mixed) - 2));
	/* One bad byte at each place of a long text. */
	for (size_t i = 0; i < sizeof(text); i++) {
		memset(text, 'a', sizeof(text));
		text[i] = (char)0xff;
		cr_expect_not(utf8_valid(text, sizeof(text)), "at %zu", i);
	}
}

struct clean_case {
	const char *bytes;
	const char *clean;
};

static const struct clean_case cleans[] = {
	{ "", "" },
	{ "packages/gr\xc3\xbc\xc3\x9f"
	  "e",
	  "packages/gr\xc3\xbc\xc3\x9f"
	  "e" },
	{ "a\tb\nc\rd", "a" R "b" R "c" R "d" },
	{ "\x1b[31mred\x1b[0m", R "[31mred" R "[0m" },
	{ "\x7f", R },
	{ "\xc2\x9b"
	  "31m",
	  R "31m" },
	{ "\xc2\xa0", "\xc2\xa0" },
	/* separators and overrides of direction; marks of direction stay */
	{ "a\xe2\x80\xa8"
	  "b\xe2\x80\xa9"
	  "c",
	  "a" R "b" R "c" },
	{ "a\xe2\x80\xae"
	  "b\xe2\x81\xa6"
	  "c",
	  "a" R "b" R "c" },
	{ "a\xe2\x80\x8f"
	  "b",
	  "a\xe2\x80\x8f"
	  "b" },
	/* one replacement for each run that could have become a character */
	{ "\xff\xfe", R R },
	{ "\xe2\x9c"
	  "a",
	  R "a" },
	{ "\xe2\x9c", R },
	{ "\xf0\x9f\x98", R },
	{ "\xf0\x9f\xff", R R },
	{ "\xed\xa0\x80", R R R },
	{ "\xc0\x80", R R },
	{ "\x80"
	  "a",
	  R "a" },
	{ "\xe2\xe2\x9c\x93", R "\xe2\x9c\x93" },
};

Test(text, clean)
{
	char *got;

	for (size_t i = 0; i < COUNT(cleans); i++) {
		got = text_clean(cleans[i].bytes, strlen(cleans[i].bytes));
		cr_expect_str_eq(got, cleans[i].clean, "case %zu: %s", i, got);
		free(got);
	}
	got = text_clean("a\0b", 3);
	cr_expect_str_eq(got, "a" R "b", "NUL");
	free(got);
}

Test(text, blank)
{
	cr_expect(text_is_blank(""));
	cr_expect(text_is_blank(" \t\n\v\f\r"));
	cr_expect_not(text_is_blank(" x "));
	cr_expect_not(text_is_blank("\xc2\xa0"), "a no-break space is something");
}

struct nearest_case {
	const char *word;
	const char *nearest;
};

static const char *const keys[] = {
	"command", "per",   "exclude", "shards",      "batch", "also",	    "counts",
	"graph",   "turbo", "force",   "proves",      "slots", "history",   "runner",
	"verify",  "gate",  "hook",    "failureMark", "x",     "jobserver",
};

static const struct nearest_case nearests[] = {
	{ "prove", "proves" },
	{ "failuremark", "failureMark" },
	{ "comand", "command" },
	{ "slot", "slots" },
	{ "verfy", "verify" },
	{ "vreify", "verify" }, /* a swap is one slip */
	{ "slots", "slots" },
	{ "HOOK", "hook" },
	{ "gaet", "gate" },
	{ "fail", "failureMark" }, /* a beginning */
	{ "historybook", "history" },
	{ "fo", NULL }, /* too short to be a beginning */
	{ "zzzzzz", NULL },
	{ "", NULL },
	{ "y", NULL }, /* nothing shared */
	{ "cxxxand", NULL },
};

Test(text, nearest)
{
	static const char *const two[] = { "slots", "shots" };
	char word[1025];

	for (size_t i = 0; i < COUNT(nearests); i++) {
		const char *got = text_nearest(nearests[i].word, keys, COUNT(keys));

		cr_expect((got == NULL) == (nearests[i].nearest == NULL) &&
			      (got == NULL || strcmp(got, nearests[i].nearest) == 0),
			  "%s: %s", nearests[i].word, got != NULL ? got : "none");
	}
	cr_expect_str_eq(text_nearest("shoots", two, 2), "shots", "the nearest of two");
	cr_expect_str_eq(text_nearest("smots", two, 2), "slots", "the first of equals");
	cr_expect_null(text_nearest("slots", NULL, 0));
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	cr_expect_null(text_nearest(word, keys, COUNT(keys)), "a very long word");
}

struct quote_case {
	const char *word;
	const char *quoted;
};

static const struct quote_case quotes[] = {
	{ "packages/a", "packages/a" },
	{ "--filter=./a", "--filter=./a" },
	{ "@scope/x_1,2:3%4+5.6", "@scope/x_1,2:3%4+5.6" },
	{ "", "''" },
	{ "a b", "'a b'" },
	{ "a=b", "'a=b'" }, /* an assignment where a command is expected */
	{ "it's", "'it'\\''s'" },
	{ "$(touch x)`y`", "'$(touch x)`y`'" },
	{ "~", "'~'" },
	{ "a\nb", "'a\nb'" },
	{ "\xc3\xbc", "'\xc3\xbc'" },
};

Test(text, quoted_words)
{
	char *got;

	for (size_t i = 0; i < COUNT(quotes); i++) {
		got = text_shell_quote(quotes[i].word);
		cr_expect_str_eq(got, quotes[i].quoted, "%s: %s", quotes[i].word, got);
		free(got);
	}
}

/* What a shell makes of a quoted word is the word. */
static void
expect_shell_reads(const char *word)
{
	char *quoted = text_shell_quote(word), *command;
	char got[512] = "";
	FILE *f;

	command = xasprintf("printf %%s %s", quoted);
	f = popen(command, "r");
	cr_assert_not_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	cr_expect_eq(pclose(f), 0);
	cr_expect_str_eq(got, word);
	free(command);
	free(quoted);
}

Test(text, shell_reads_the_word)
{
	char every[256];

	for (int i = 1; i < 256; i++)
		every[i - 1] = (char)i;
	every[255] = '\0';
	expect_shell_reads(every);
	for (size_t i = 0; i < COUNT(quotes); i++)
		expect_shell_reads(quotes[i].word);
}
