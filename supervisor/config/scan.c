/* SPDX-License-Identifier: MIT */
#include "supervisor/config/scan.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/config/keyset.h"
#include "supervisor/config/scanner.h"

/* Scan one value; `v` says whose it is, and is filled in. */
static int scanner_value(struct scanner *s, struct scan_value v, struct error *err);

static struct file_place
scanner_place(const struct scanner *s, size_t at)
{
	return (struct file_place){ s->line, (unsigned)(at - s->line_start + 1) };
}

/* Refuse what stands at `at`, on the line that is scanned. */
int
scanner_refuse(const struct scanner *s, size_t at, struct error *err, const char *fmt,
	       ...)
{
	struct file_place p = scanner_place(s, at);
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return error_set(err, ERROR_CONFIG, "%s:%u:%u: %s", s->name, p.line, p.column,
			 why);
}

/* The byte at hand; 0 at the end (a NUL in the text is refused where it is met). */
char
scanner_peek(const struct scanner *s)
{
	return s->at < s->n ? s->text[s->at] : '\0';
}

/* The code point of a valid sequence of more than one byte. */
static unsigned
utf8_code(const char *s, size_t len)
{
	unsigned code = (unsigned char)s[0] & (0xffU >> (len + 1));

	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3f);
	return code;
}

/* Refuse the character at hand.  What does not show, or looks like another, by number. */
static int
scanner_unexpected(const struct scanner *s, const char *wanted, struct error *err)
{
	const char *c = s->text + s->at, *hint = "";
	size_t len = utf8_sequence(c, s->n - s->at);
	char what[32];

	if (s->at == s->n)
		(void)snprintf(what, sizeof(what), "the end of the file");
	else if (*c == '\'')
		(void)snprintf(what, sizeof(what), "a single quote");
	else if (*c == '"')
		(void)snprintf(what, sizeof(what), "a string");
	else if (len > 1)
		(void)snprintf(what, sizeof(what), "U+%04X", utf8_code(c, len));
	else if (*c > 0x20 && *c < 0x7f)
		(void)snprintf(what, sizeof(what), "\"%c\"", *c);
	else
		(void)snprintf(what, sizeof(what), "the byte 0x%02X", (unsigned)*c);
	if (s->at < s->n && *c == '\'')
		hint = ": strings and keys stand in double quotes";
	return scanner_refuse(s, s->at, err, "%s where %s is due%s", what, wanted, hint);
}

static void
scanner_newline(struct scanner *s)
{
	s->line++;
	s->line_start = s->at + 1;
}

static int
scanner_comment(struct scanner *s, struct error *err)
{
	struct scanner start = *s;
	const char *end;

	if (s->at + 1 < s->n && s->text[s->at + 1] == '/') {
		end = memchr(s->text + s->at, '\n', s->n - s->at);
		s->at = end != NULL ? (size_t)(end - s->text) : s->n;
	} else if (s->at + 1 < s->n && s->text[s->at + 1] == '*') {
		for (s->at += 2;; s->at++) {
			if (s->at + 1 >= s->n)
				return scanner_refuse(&start, start.at, err,
						      "a comment that is not closed");
			if (s->text[s->at] == '\n')
				scanner_newline(s);
			if (s->text[s->at] == '*' && s->text[s->at + 1] == '/')
				break;
		}
		s->at += 2;
	} else
		return scanner_refuse(s, s->at, err,
				      "a lone \"/\": comments are // and /* */");
	memset(s->text + start.at, ' ', s->at - start.at);
	return 0;
}

/* Skip white space and comments. */
static int
scanner_space(struct scanner *s, struct error *err)
{
	for (; s->at < s->n; s->at++) {
		switch (s->text[s->at]) {
		case '\n':
			scanner_newline(s);
			break;
		case ' ':
		case '\t':
		case '\r':
			break;
		case '/':
			if (scanner_comment(s, err) != 0)
				return -1;
			s->at--;
			break;
		default:
			return 0;
		}
	}
	return 0;
}

static int
scanner_open(struct scanner *s, struct error *err)
{
	if (s->depth == CONFIG_DEPTH_MAX)
		return scanner_refuse(s, s->at, err, "nested past 64 levels");
	s->depth++;
	s->at++;
	return 0;
}

/*
 * After a value: true in *ret_more when another follows.  A trailing comma is
 * overwritten.
 */
static int
scanner_separator(struct scanner *s, char closing, const char *wanted, bool *ret_more,
		  struct error *err)
{
	size_t comma;

	if (scanner_space(s, err) != 0)
		return -1;
	comma = s->at;
	*ret_more = scanner_peek(s) == ',';
	if (*ret_more) {
		s->at++;
		if (scanner_space(s, err) != 0)
			return -1;
		if (scanner_peek(s) == closing) {
			s->text[comma] = ' ';
			*ret_more = false;
		}
	}
	if (*ret_more)
		return 0;
	if (scanner_peek(s) != closing)
		return scanner_unexpected(s, wanted, err);
	s->at++;
	return 0;
}

static int
scanner_array(struct scanner *s, size_t self, struct error *err)
{
	unsigned ordinal = 0;
	bool more;

	if (scanner_open(s, err) != 0 || scanner_space(s, err) != 0)
		return -1;
	more = scanner_peek(s) != ']';
	if (!more)
		s->at++;
	while (more) {
		struct scan_value v = { .parent = (unsigned)self, .ordinal = ordinal };

		if (scanner_value(s, v, err) != 0)
			return -1;
		ordinal++;
		if (scanner_separator(s, ']', "\",\" or \"]\"", &more, err) != 0)
			return -1;
	}
	s->depth--;
	return 0;
}

static int
scanner_member(struct scanner *s, size_t self, unsigned ordinal, struct error *err)
{
	struct scan_value v = {
		.parent = (unsigned)self,
		.ordinal = ordinal,
		.key = (unsigned)s->scan.keys.len,
		.key_place = scanner_place(s, s->at),
	};

	if (scanner_peek(s) != '"')
		return scanner_unexpected(s, "a key in double quotes", err);
	if (scanner_string(s, &s->scan.keys, err) != 0 || scanner_space(s, err) != 0)
		return -1;
	v.key_bytes = (unsigned)s->scan.keys.len - v.key;
	buf_append(&s->scan.keys, "", 1);
	if (scanner_peek(s) != ':')
		return scanner_unexpected(s, "\":\"", err);
	s->at++;
	if (scanner_space(s, err) != 0)
		return -1;
	return scanner_value(s, v, err);
}

static int
scanner_duplicate(const struct scanner *s, size_t self, struct error *err)
{
	struct buf path = BUF_INIT;
	size_t first, again = keyset_duplicate(&s->scan, self, &first);
	struct file_place p, q;

	if (again == 0)
		return 0;
	p = s->scan.values[again].key_place;
	q = s->scan.values[first].key_place;
	config_scan_path(&s->scan, again, &path);
	(void)error_set(
	    err, ERROR_CONFIG,
	    "%s:%u:%u: %s: the key stands here twice, first at %u:%u: keep one", s->name,
	    p.line, p.column, buf_text(&path), q.line, q.column);
	buf_release(&path);
	return -1;
}

static int
scanner_object(struct scanner *s, size_t self, struct error *err)
{
	unsigned ordinal = 0;
	bool more;

	if (scanner_open(s, err) != 0 || scanner_space(s, err) != 0)
		return -1;
	more = scanner_peek(s) != '}';
	if (!more)
		s->at++;
	while (more) {
		if (scanner_member(s, self, ordinal++, err) != 0 ||
		    scanner_separator(s, '}', "\",\" or \"}\"", &more, err) != 0)
			return -1;
	}
	s->depth--;
	s->scan.values[self].next = (unsigned)s->scan.nvalues;
	return scanner_duplicate(s, self, err);
}

static int
scanner_any(struct scanner *s, size_t self, struct error *err)
{
	struct scan_value *v = s->scan.values + self;
	char c = scanner_peek(s);

	if (c == '{') {
		v->kind = SCAN_OBJECT;
		return scanner_object(s, self, err);
	}
	if (c == '[') {
		v->kind = SCAN_ARRAY;
		return scanner_array(s, self, err);
	}
	if (c == '"') {
		v->kind = SCAN_STRING;
		return scanner_string(s, NULL, err);
	}
	if ((c >= '0' && c <= '9') || c == '-') {
		v->kind = SCAN_NUMBER;
		return scanner_number(s, err);
	}
	if (scanner_is_word(c))
		return scanner_word(s, &v->kind, err);
	return scanner_unexpected(s, "a value", err);
}

static int
scanner_value(struct scanner *s, struct scan_value v, struct error *err)
{
	size_t self = s->scan.nvalues;

	if (self == SCAN_VALUES_MAX)
		return scanner_refuse(s, s->at, err, "more than a million values");
	v.place = scanner_place(s, s->at);
	s->scan.values =
	    xgrow(s->scan.values, self + 1, &s->scan.room, sizeof(*s->scan.values));
	s->scan.values[self] = v;
	s->scan.nvalues++;
	if (scanner_any(s, self, err) != 0)
		return -1;
	s->scan.values[self].next = (unsigned)s->scan.nvalues;
	return 0;
}

/* All bytes are UTF-8, so that nothing after it needs to ask. */
static int
scanner_check_utf8(struct scanner *s, struct error *err)
{
	const char *why = "invalid UTF-8";
	size_t len;

	if (utf8_valid(s->text, s->n))
		return 0;
	for (; s->at < s->n; s->at += len) {
		len = utf8_sequence(s->text + s->at, s->n - s->at);
		if (len == 0)
			break;
		if (s->text[s->at] == '\n')
			scanner_newline(s);
	}
	if (s->at == 0 && s->n > 1 &&
	    (memcmp(s->text, "\xff\xfe", 2) == 0 || memcmp(s->text, "\xfe\xff", 2) == 0))
		why = "UTF-16: save it as UTF-8";
	return scanner_refuse(s, s->at, err, "%s", why);
}

static int
scanner_run(struct scanner *s, struct error *err)
{
	if (s->n > INT_MAX - 1)
		return scanner_refuse(s, 0, err, "too large");
	if (scanner_check_utf8(s, err) != 0)
		return -1;
	if (s->n >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0) {
		memset(s->text, ' ', 3);
		s->at = s->line_start = 3;
	}
	if (scanner_space(s, err) != 0)
		return -1;
	if (s->at == s->n)
		return scanner_refuse(s, s->at, err,
				      "empty: an object with \"verify\" is due");
	if (scanner_value(s, (struct scan_value){ .parent = 0 }, err) != 0 ||
	    scanner_space(s, err) != 0)
		return -1;
	if (s->at < s->n)
		return scanner_unexpected(s, "the end of the file", err);
	return 0;
}

int
config_scan_text(const char *name, const char *text, size_t n,
		 struct config_scan *ret_scan, struct error *err)
{
	struct scanner s = { .name = name, .line = 1, .n = n };

	buf_append(&s.scan.text, text, n);
	s.text = s.scan.text.data;
	if (scanner_run(&s, err) != 0) {
		config_scan_release(&s.scan);
		return -1;
	}
	*ret_scan = s.scan;
	return 0;
}
