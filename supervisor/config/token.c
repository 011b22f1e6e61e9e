/* SPDX-License-Identifier: MIT */
/* What a scan reads byte by byte: strings, numbers, words. */
#include <string.h>

#include "supervisor/config/scanner.h"

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The four digits of `\uXXXX` at `at`, or -1. */
static long
scanner_hex(const struct scanner *s, size_t at)
{
	long value = 0;

	if (s->n - at < 6 || s->text[at] != '\\' || s->text[at + 1] != 'u')
		return -1;
	for (size_t i = at + 2; i < at + 6; i++) {
		int digit = hex_value(s->text[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static void
buf_put_utf8(struct buf *out, unsigned long c)
{
	if (c < 0x80)
		buf_putc(out, (char)c);
	else if (c < 0x800)
		buf_putc(out, (char)(0xc0 | c >> 6));
	else if (c < 0x10000)
		buf_putc(out, (char)(0xe0 | c >> 12));
	else
		buf_putc(out, (char)(0xf0 | c >> 18));
	if (c >= 0x10000)
		buf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	if (c >= 0x800)
		buf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	if (c >= 0x80)
		buf_putc(out, (char)(0x80 | (c & 0x3f)));
}

/* `\uXXXX`, or two of them; `key` NULL or where to put what it stands for. */
static int
scanner_unicode(struct scanner *s, struct buf *key, struct error *err)
{
	size_t start = s->at;
	long c = scanner_hex(s, s->at), low;

	if (c < 0)
		return scanner_refuse(s, start, err, "\\u needs four hexadecimal digits");
	s->at += 6;
	if (c >= 0xd800 && c <= 0xdbff) {
		low = scanner_hex(s, s->at);
		if (low >= 0xdc00 && low <= 0xdfff) {
			s->at += 6;
			c = 0x10000 + (c - 0xd800) * 0x400 + (low - 0xdc00);
		}
	}
	if (c >= 0xd800 && c <= 0xdfff)
		return scanner_refuse(s, start, err,
				      "half of a surrogate pair: no character");
	if (key != NULL && c == 0)
		return scanner_refuse(s, start, err, "\\u0000 in a key");
	if (key != NULL)
		buf_put_utf8(key, (unsigned long)c);
	return 0;
}

static int
scanner_escape(struct scanner *s, struct buf *key, struct error *err)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = s->at + 1 < s->n ? s->text[s->at + 1] : '\0';
	const char *found = c != '\0' ? strchr(letters, c) : NULL;

	if (c == 'u')
		return scanner_unicode(s, key, err);
	if (found == NULL)
		return scanner_refuse(
		    s, s->at, err,
		    "no such escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
	if (key != NULL)
		buf_putc(key, meant[found - letters]);
	s->at += 2;
	return 0;
}

/* A string, from its opening quote to behind its closing one. */
int
scanner_string(struct scanner *s, struct buf *key, struct error *err)
{
	size_t start = s->at++, run;

	for (;;) {
		for (run = s->at; s->at < s->n; s->at++) {
			char c = s->text[s->at];

			if (c == '"' || c == '\\' || (unsigned char)c < 0x20)
				break;
		}
		if (key != NULL)
			buf_append(key, s->text + run, s->at - run);
		if (s->at == s->n || s->text[s->at] == '\n')
			return scanner_refuse(s, start, err,
					      "a string that is not closed");
		if (s->text[s->at] == '"')
			break;
		if (s->text[s->at] != '\\')
			return scanner_refuse(s, s->at, err,
					      "a control character in a string: "
					      "write it as \\t or \\u00XX");
		if (scanner_escape(s, key, err) != 0)
			return -1;
	}
	s->at++;
	return 0;
}

static size_t
scanner_digits(struct scanner *s)
{
	size_t start = s->at;

	while (s->at < s->n && s->text[s->at] >= '0' && s->text[s->at] <= '9')
		s->at++;
	return s->at - start;
}

int
scanner_number(struct scanner *s, struct error *err)
{
	size_t start = s->at;

	if (s->text[s->at] == '-')
		s->at++;
	if (scanner_peek(s) == '0' && s->at + 1 < s->n && s->text[s->at + 1] >= '0' &&
	    s->text[s->at + 1] <= '9')
		return scanner_refuse(s, start, err, "a number with a leading zero");
	if (scanner_digits(s) == 0)
		return scanner_refuse(s, start, err, "\"-\" without digits: no number");
	if (scanner_peek(s) == '.') {
		s->at++;
		if (scanner_digits(s) == 0)
			return scanner_refuse(s, start, err,
					      "a number without digits after its point");
	}
	if (scanner_peek(s) == 'e' || scanner_peek(s) == 'E') {
		s->at++;
		if (scanner_peek(s) == '+' || scanner_peek(s) == '-')
			s->at++;
		if (scanner_digits(s) == 0)
			return scanner_refuse(s, start, err,
					      "a number without digits in its exponent");
	}
	return 0;
}

bool
scanner_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* true, false, null; and the words that other languages have there. */
int
scanner_word(struct scanner *s, enum scan_kind *ret_kind, struct error *err)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t n = 0;

	while (s->at + n < s->n && scanner_is_word(s->text[s->at + n]))
		n++;
	for (size_t i = 0; i < 3; i++) {
		if (strlen(words[i]) != n || memcmp(words[i], s->text + s->at, n) != 0)
			continue;
		s->at += n;
		*ret_kind = (enum scan_kind)(SCAN_TRUE + i);
		return 0;
	}
	return scanner_refuse(s, s->at, err,
			      "\"%.*s\" is no JSON value: a string stands in double "
			      "quotes, and words are true, false, null",
			      n < 30 ? (int)n : 30, s->text + s->at);
}
