/* SPDX-License-Identifier: MIT */
/*
 * The file lies in the common git directory under the mark's own name, `refs/` left out:
 * geonosis/verified.  Lines: what it is, the commit, `<name> TAB <value>` each, the end.
 */
#include "git/mark_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	PARTS_MAX = 16 << 20
};

#define PARTS_HEAD "geonosis mark parts 1"
#define PARTS_END "end"

bool
mark_part_is_of_file(const struct mark_part *p)
{
	return strncmp(p->name, MARK_PART_FILE, strlen(MARK_PART_FILE)) == 0;
}

static char *
parts_path(const struct repository *r, const char *name)
{
	return xasprintf("%s/%s", r->place.common_dir, name + strlen("refs/"));
}

/* A word of the file: what would end a line or a word, or be an escape, is `%XX`. */
static void
word_append(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f || *text == '%')
			buf_printf(b, "%%%02X", (unsigned char)*text);
		else
			buf_putc(b, *text);
	}
}

static void
parts_print(struct buf *b, const char *commit, const struct mark_parts *parts)
{
	size_t i;

	buf_printf(b, "%s\n%s\n", PARTS_HEAD, commit);
	for (i = 0; i < parts->n; i++) {
		word_append(b, parts->items[i].name);
		buf_putc(b, '\t');
		word_append(b, parts->items[i].value);
		buf_putc(b, '\n');
	}
	buf_puts(b, PARTS_END "\n");
}

/* Written only where the file says something else: a sync costs more than all of it. */
static int
parts_save(const char *path, const struct buf *text, struct error *err)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	struct error ignored = ERROR_INIT;
	struct buf old = BUF_INIT;
	int rc = 0;

	if (file_read(path, PARTS_MAX, &old, &ignored) < 0 || old.len != text->len ||
	    memcmp(old.data, text->data, old.len) != 0) {
		rc = dir_make(dir, err);
		if (rc == 0)
			rc = file_save(path, text->data, text->len, err);
	}
	buf_release(&old);
	free(dir);
	return rc;
}

int
mark_parts_write(const struct repository *r, const char *name, const char *commit,
		 const struct mark_parts *parts, struct error *err)
{
	char *path = parts_path(r, name);
	struct buf text = BUF_INIT;
	int rc = 0;

	if (parts == NULL) {
		if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
			rc = error_system(err, "%s", path);
	} else {
		parts_print(&text, commit, parts);
		rc = parts_save(path, &text, err);
	}
	buf_release(&text);
	free(path);
	return rc;
}

static int
hex_digit(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

/* The bytes of a word; NULL where it is none of ours. */
static char *
word_parse(const char *word, size_t n)
{
	struct buf b = BUF_INIT;
	size_t i;

	buf_append(&b, "", 0);
	for (i = 0; i < n; i++) {
		int high, low;

		if (word[i] != '%') {
			buf_putc(&b, word[i]);
			continue;
		}
		high = n - i > 2 ? hex_digit(word[i + 1]) : -1;
		low = n - i > 2 ? hex_digit(word[i + 2]) : -1;
		if (high < 0 || low < 0 || (high == 0 && low == 0)) {
			buf_release(&b);
			return NULL;
		}
		buf_putc(&b, (char)(high * 16 + low));
		i += 2;
	}
	return buf_steal(&b);
}

/* The line at *p, without its end, and *p behind it; NULL: there is none. */
static const char *
line_next(const char **p, size_t *ret_n)
{
	const char *line = *p, *end = strchr(line, '\n');

	if (end == NULL)
		return NULL;
	*ret_n = (size_t)(end - line);
	*p = end + 1;
	return line;
}

static bool
line_is(const char *line, size_t n, const char *text)
{
	return line != NULL && n == strlen(text) && memcmp(line, text, n) == 0;
}

/* One line of a part: 0, -1 it is none. */
static int
part_parse(struct mark_parts *p, size_t *room, const char *line, size_t n)
{
	const char *tab = memchr(line, '\t', n);
	struct mark_part part;

	if (tab == NULL)
		return -1;
	part.name = word_parse(line, (size_t)(tab - line));
	part.value = word_parse(tab + 1, n - (size_t)(tab + 1 - line));
	p->items = xgrow(p->items, p->n + 1, room, sizeof(*p->items));
	p->items[p->n++] = part;
	return part.name == NULL || part.value == NULL ? -1 : 0;
}

/* 1; 0 for another commit's; -1 where it is not sound. */
static int
parts_parse(const char *text, size_t len, const char *commit, struct mark_parts *p)
{
	const char *at = text, *line;
	size_t room = 0, n = 0;

	if (strlen(text) != len)
		return -1;
	line = line_next(&at, &n);
	if (!line_is(line, n, PARTS_HEAD))
		return -1;
	line = line_next(&at, &n);
	if (!line_is(line, n, commit))
		return line == NULL ? -1 : 0;
	while ((line = line_next(&at, &n)) != NULL) {
		if (line_is(line, n, PARTS_END))
			return *at == '\0' ? 1 : -1;
		if (part_parse(p, &room, line, n) < 0)
			return -1;
	}
	return -1;
}

int
mark_parts_read(const struct repository *r, const char *name, const char *commit,
		struct mark_parts *ret_parts, struct error *err)
{
	char *path = parts_path(r, name);
	struct mark_parts p = MARK_PARTS_INIT;
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT;
	int rc;

	if (file_read(path, PARTS_MAX, &text, &e) < 0) {
		rc = e.errnum == ENOENT || e.errnum == ENOTDIR ? 0 : -1;
		if (rc == 0)
			(void)error_set(err, ERROR_DATA, "%s: nothing was kept", path);
		else
			*err = e;
		goto out;
	}
	rc = parts_parse(buf_text(&text), text.len, commit, &p);
	if (rc == 1) {
		*ret_parts = p;
		p = (struct mark_parts)MARK_PARTS_INIT;
	} else if (rc == 0) {
		(void)error_set(err, ERROR_DATA, "%s: is of another commit", path);
	} else {
		rc = error_set(err, ERROR_DATA, "%s: is damaged", path) + 1;
	}
out:
	mark_parts_release(&p);
	buf_release(&text);
	free(path);
	return rc;
}

void
mark_parts_release(struct mark_parts *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->items[i].name);
		free(p->items[i].value);
	}
	free(p->items);
	*p = (struct mark_parts)MARK_PARTS_INIT;
}
