/* SPDX-License-Identifier: MIT */
#include "tests/supervisor/cases.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/fd.h"
#include "ipc/mem.h"

static unsigned
hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c != '\0' ? strchr(digits, c) : NULL;

	cr_assert(found != NULL, "@{...} holds \"%c\"", c);
	return (unsigned)(found - digits);
}

/* `@{hex*n}` at s, which ends at *ret_end. */
static void
input_expand(struct buf *out, const char *s, const char **ret_end)
{
	const char *end = strchr(s, '}'), *star;
	unsigned long times = 1;

	cr_assert(end != NULL, "@{ is not closed: %s", s);
	star = memchr(s, '*', (size_t)(end - s));
	if (star != NULL)
		times = strtoul(star + 1, NULL, 10);
	for (; times > 0; times--)
		for (const char *c = s + 2; c < (star != NULL ? star : end); c += 2)
			buf_putc(out, (char)(hex_digit(c[0]) << 4 | hex_digit(c[1])));
	*ret_end = end + 1;
}

static void
input_append(struct buf *out, const char *line, size_t n)
{
	const char *end = line + n;

	while (line < end) {
		if (end - line > 1 && line[0] == '@' && line[1] == '{')
			input_expand(out, line, &line);
		else
			buf_putc(out, *line++);
	}
}

/* One case, whose first line is at hand; *ret_next is behind its last. */
static struct test_case
case_read(const char *text, unsigned *line, const char **ret_next)
{
	struct test_case t = { .line = *line };
	struct buf expected = BUF_INIT;
	unsigned ninput = 0, nexpected = 0;

	for (; *text != '\0' && *text != '\n'; ++*line) {
		size_t n = strcspn(text, "\n");

		if (strncmp(text, "=>", 2) == 0) {
			size_t skip = n > 2 && text[2] == ' ' ? 3 : 2;

			buf_append(&expected, "\n", nexpected++ > 0);
			buf_append(&expected, text + skip, n - skip);
		} else {
			cr_assert(nexpected == 0, "line %u: input after =>", *line);
			buf_append(&t.input, "\n", ninput++ > 0);
			input_append(&t.input, text, n);
		}
		text += n + (text[n] == '\n');
	}
	cr_assert(nexpected > 0, "line %u: a case without =>", t.line);
	t.expected = buf_steal(&expected);
	*ret_next = text;
	return t;
}

struct cases
cases_read(const char *name)
{
	char *path = xasprintf("%s/%s", GN_DATA_DIR, name);
	struct error err = ERROR_INIT;
	struct buf file = BUF_INIT;
	struct cases c = { NULL, 0 };
	unsigned line = 1;
	size_t room = 0;

	cr_assert(file_read(path, 1 << 24, &file, &err) == 0, "%s", err.text);
	for (const char *s = buf_text(&file); *s != '\0';) {
		if (*s == '\n' || *s == '#') {
			s += strcspn(s, "\n");
			s += *s == '\n';
			line++;
			continue;
		}
		c.items = xgrow(c.items, c.nitems + 1, &room, sizeof(*c.items));
		c.items[c.nitems++] = case_read(s, &line, &s);
	}
	cr_assert(c.nitems > 0, "%s: no case", path);
	buf_release(&file);
	free(path);
	return c;
}

void
cases_release(struct cases *c)
{
	for (size_t i = 0; i < c->nitems; i++) {
		buf_release(&c->items[i].input);
		free(c->items[i].expected);
	}
	free(c->items);
}
