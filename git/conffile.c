/* SPDX-License-Identifier: MIT */
#include "git/conffile.h"

#include <stdbool.h>
#include <string.h>

#include "ipc/buf.h"

struct reader {
	const char *p, *end;
	struct buf section; /* "core." or "remote.Origin." */
	struct buf key, value;
};

/* The next byte, '\n' for CR LF, -1 at the end. */
static int
peek(const struct reader *r)
{
	if (r->p == r->end)
		return -1;
	if (*r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n')
		return '\n';
	return (unsigned char)*r->p;
}

static int
next(struct reader *r)
{
	int c = peek(r);

	if (c >= 0)
		r->p += c == '\n' && *r->p == '\r' ? 2 : 1;
	return c;
}

static bool
is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static int
lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static bool
is_name(int c)
{
	c = lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static void
line_skip(struct reader *r)
{
	int c;

	do
		c = next(r);
	while (c >= 0 && c != '\n');
}

/* After the blank: "subsection"] */
static int
subsection_read(struct reader *r)
{
	int c;

	do
		c = next(r);
	while (is_blank(c));
	if (c != '"')
		return -1;
	buf_putc(&r->section, '.');
	while ((c = next(r)) != '"') {
		if (c == '\\')
			c = next(r);
		if (c <= 0 || c == '\n')
			return -1;
		buf_putc(&r->section, (char)c);
	}
	return next(r) == ']' ? 0 : -1;
}

/* After the '['. */
static int
section_read(struct reader *r)
{
	int c;

	buf_clear(&r->section);
	for (;;) {
		c = next(r);
		if (c == ']')
			break;
		if (is_blank(c)) {
			if (subsection_read(r) < 0)
				return -1;
			break;
		}
		if (!is_name(c) && c != '.')
			return -1;
		buf_putc(&r->section, (char)lower(c));
	}
	if (r->section.len == 0 || r->section.data[0] == '.')
		return -1;
	buf_putc(&r->section, '.');
	return 0;
}

static int
escape_read(struct reader *r)
{
	int c = next(r);

	switch (c) {
	case '\n':
		return 0; /* the line goes on */
	case 't':
		buf_putc(&r->value, '\t');
		return 0;
	case 'n':
		buf_putc(&r->value, '\n');
		return 0;
	case 'b':
		buf_putc(&r->value, '\b');
		return 0;
	case '\\':
	case '"':
		buf_putc(&r->value, (char)c);
		return 0;
	default:
		return -1;
	}
}

/* After the '='. White space outside quotes at either end does not count. */
static int
value_read(struct reader *r)
{
	bool quoted = false, comment = false;
	size_t blanks = 0;

	buf_clear(&r->value);
	for (;;) {
		int c = next(r);

		if (c == 0 || (quoted && (c < 0 || c == '\n')))
			return -1;
		if (c < 0 || c == '\n')
			return 0;
		if (comment)
			continue;
		if (is_blank(c) && !quoted) {
			blanks += r->value.len > 0;
			continue;
		}
		if (!quoted && (c == ';' || c == '#')) {
			comment = true;
			continue;
		}
		for (; blanks > 0; blanks--)
			buf_putc(&r->value, ' ');
		if (c == '"')
			quoted = !quoted;
		else if (c != '\\')
			buf_putc(&r->value, (char)c);
		else if (escape_read(r) < 0)
			return -1;
	}
}

/* A setting that begins with the name byte c. */
static int
setting_read(struct reader *r, int c, conffile_fn *fn, void *context)
{
	if (r->section.len == 0 || !((lower(c) >= 'a' && lower(c) <= 'z')))
		return -1;
	buf_clear(&r->key);
	buf_append(&r->key, r->section.data, r->section.len);
	buf_putc(&r->key, (char)lower(c));
	while (is_name(peek(r)))
		buf_putc(&r->key, (char)lower(next(r)));
	while (is_blank(peek(r)))
		(void)next(r);
	c = peek(r);
	if (c < 0 || c == '\n' || c == '#' || c == ';')
		return fn(context, r->key.data, NULL);
	if (next(r) != '=' || value_read(r) < 0)
		return -1;
	return fn(context, r->key.data, buf_text(&r->value));
}

int
conffile_parse(const char *text, size_t n, conffile_fn *fn, void *context)
{
	struct reader r = { text, text + n, BUF_INIT, BUF_INIT, BUF_INIT };
	int rc = 0;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3;
	while (rc == 0) {
		int c = next(&r);

		if (c < 0)
			break;
		if (c == '\n' || is_blank(c))
			continue;
		if (c == '#' || c == ';')
			line_skip(&r);
		else if (c == '[')
			rc = section_read(&r);
		else
			rc = setting_read(&r, c, fn, context);
	}
	buf_release(&r.section);
	buf_release(&r.key);
	buf_release(&r.value);
	return rc;
}
