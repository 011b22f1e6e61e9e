/* SPDX-License-Identifier: MIT */
#include "supervisor/base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"

enum {
	NEAR_BYTES = 256, /* longer words are never compared: the work is quadratic */
};

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static unsigned
text_byte(const char *s, size_t at)
{
	return (unsigned char)s[at];
}

/*
 * How many of the bytes at s could be one character's, and in *ret_want how many
 * that character would have (0: none begins so).
 */
static size_t
utf8_prefix(const char *s, size_t n, size_t *ret_want)
{
	unsigned first = text_byte(s, 0), least = 0x80, most = 0xbf;
	size_t have = 1;

	*ret_want = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if ((first >= 0x80 && first < 0xc2) || first > 0xf4)
		*ret_want = 0;
	/* Overlong forms, surrogates and what lies past U+10FFFF show in the second. */
	if (first == 0xe0)
		least = 0xa0;
	else if (first == 0xf0)
		least = 0x90;
	else if (first == 0xed)
		most = 0x9f;
	else if (first == 0xf4)
		most = 0x8f;
	for (; have < *ret_want && have < n; have++) {
		if (text_byte(s, have) < least || text_byte(s, have) > most)
			break;
		least = 0x80;
		most = 0xbf;
	}
	return have;
}

size_t
utf8_sequence(const char *s, size_t n)
{
	size_t want;

	if (n == 0 || utf8_prefix(s, n, &want) < want)
		return 0;
	return want;
}

/* How many of the first bytes are ASCII, in whole words. */
static size_t
text_ascii_run(const char *s, size_t n)
{
	size_t at = 0;
	uint64_t word;

	for (; n - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, s + at, sizeof(word));
		if ((word & UINT64_C(0x8080808080808080)) != 0)
			break;
	}
	return at;
}

bool
utf8_valid(const char *s, size_t n)
{
	size_t at = 0, len;

	while (at < n) {
		at += text_ascii_run(s + at, n - at);
		if (at == n)
			break;
		len = utf8_sequence(s + at, n - at);
		if (len == 0)
			return false;
		at += len;
	}
	return true;
}

/*
 * Control characters (C0, DEL, C1), line and paragraph separators, and those that
 * change the order of what follows: in a line of ours they would let a name lie.
 */
static bool
text_is_control(const char *s, size_t len)
{
	unsigned a = text_byte(s, 0), b, c;

	if (len == 1)
		return a < 0x20 || a == 0x7f;
	b = text_byte(s, 1);
	if (len == 2)
		return a == 0xc2 && b < 0xa0;
	c = text_byte(s, 2);
	if (len != 3 || a != 0xe2)
		return false;
	/* U+2028 to U+202E, U+2066 to U+2069 */
	return (b == 0x80 && c >= 0xa8 && c <= 0xae) ||
	       (b == 0x81 && c >= 0xa6 && c <= 0xa9);
}

char *
text_clean(const char *s, size_t n)
{
	struct buf out = BUF_INIT;
	size_t at = 0, have, want;

	while (at < n) {
		have = utf8_prefix(s + at, n - at, &want);
		if (have != want || text_is_control(s + at, have))
			buf_puts(&out, replacement);
		else
			buf_append(&out, s + at, have);
		at += have;
	}
	return buf_steal(&out);
}

bool
text_is_blank(const char *s)
{
	return s[strspn(s, " \t\n\v\f\r")] == '\0';
}

static char
text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned
text_least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace, swap neighbours. */
static unsigned
text_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][NEAR_BYTES + 1];
	unsigned *before = rows[0], *last = rows[1], *now = rows[2], *spare;

	for (size_t j = 0; j <= nb; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			char x = text_lower(a[i - 1]), y = text_lower(b[j - 1]);

			now[j] = last[j - 1] + (x != y);
			now[j] = text_least(now[j], text_least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && x == text_lower(b[j - 2]) &&
			    y == text_lower(a[i - 2]))
				now[j] = text_least(now[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

static bool
text_begins(const char *s, const char *start, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_lower(s[i]) != text_lower(start[i]))
			return false;
	return true;
}

/* Are they near?  Then their distance is in *ret_distance. */
static bool
text_is_near(const char *a, const char *b, unsigned *ret_distance)
{
	size_t na = strlen(a), nb = strlen(b);
	size_t longer = na > nb ? na : nb, shorter = na < nb ? na : nb;
	size_t most = longer / 3 > 1 ? longer / 3 : 1;
	unsigned distance;
	bool begins;

	if (longer > NEAR_BYTES)
		return false;
	begins = shorter >= 3 && text_begins(a, b, shorter);
	if (!begins && longer - shorter > most)
		return false;
	distance = text_distance(a, na, b, nb);
	/* Words that share nothing are not near, however short. */
	if (!begins && (distance > most || distance >= longer))
		return false;
	*ret_distance = distance;
	return true;
}

const char *
text_nearest(const char *word, const char *const *words, size_t nwords)
{
	const char *nearest = NULL;
	unsigned best = 0, distance;

	for (size_t i = 0; i < nwords; i++) {
		if (!text_is_near(word, words[i], &distance))
			continue;
		if (nearest == NULL || distance < best) {
			nearest = words[i];
			best = distance;
		}
	}
	return nearest;
}

static bool
text_is_plain_word(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	if (*s == '\0' || s[strspn(s, plain)] != '\0')
		return false;
	/* `a=b` would be an assignment where a command is expected; `--a=b` is none. */
	return *s == '-' || strchr(s, '=') == NULL;
}

char *
text_shell_quote(const char *s)
{
	struct buf out = BUF_INIT;

	if (text_is_plain_word(s)) {
		buf_puts(&out, s);
		return buf_steal(&out);
	}
	buf_putc(&out, '\'');
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			buf_puts(&out, "'\\''");
		else
			buf_putc(&out, *s);
	}
	buf_putc(&out, '\'');
	return buf_steal(&out);
}
