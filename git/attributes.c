/* SPDX-License-Identifier: MIT */
/*
 * Each file of attributes becomes two lists of patterns, of the lines that set an
 * attribute of one sort; a later line that unsets it again is not looked at.  So the
 * answer errs on one side only.
 */
#include "git/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "git/ignore.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	FILE_MAX = 100 << 20
};

enum sort {
	SORT_FILTER,
	SORT_HIDING, /* of those, what may make two contents one */
	SORT_LINES,
	SORT_COUNT
};

struct attributes {
	struct ignore_list **lists[SORT_COUNT];
	size_t n[SORT_COUNT], room[SORT_COUNT];
	bool all[SORT_COUNT]; /* nothing is ruled out */
	bool fold_case;
};

/*
 * Which sorts the attribute named sets, as bits.  git-lfs puts a hash of the content in
 * its place: nothing is hidden by that.
 */
static unsigned
attribute_sorts(const char *word, size_t n)
{
	static const struct {
		const char *name;
		enum sort sort;
	} known[] = { { "filter", SORT_FILTER }, { "working-tree-encoding", SORT_FILTER },
		      { "ident", SORT_FILTER },	 { "text", SORT_LINES },
		      { "eol", SORT_LINES },	 { "crlf", SORT_LINES } };
	const char *equals = memchr(word, '=', n);
	bool is_lfs = n == 10 && memcmp(word, "filter=lfs", 10) == 0;
	size_t i;

	if (equals != NULL)
		n = (size_t)(equals - word);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == n && memcmp(known[i].name, word, n) == 0)
			return 1u << known[i].sort |
			       (known[i].sort == SORT_FILTER && !is_lfs
				    ? 1u << SORT_HIDING
				    : 0);
	return 0;
}

/* A line's pattern into the texts of the sorts that it sets. */
static void
line_take(struct attributes *a, const char *p, const char *end, struct buf *texts)
{
	static const char blanks[] = " \t\r";
	const char *pattern, *word;
	size_t n, used;
	unsigned sorts = 0;
	int i;

	while (p < end && strchr(blanks, *p) != NULL)
		p++;
	if (p == end || *p == '#' || *p == '!')
		return; /* git knows no negated patterns here */
	pattern = p;
	for (n = 0; p + n < end && strchr(blanks, p[n]) == NULL; n++)
		continue;
	for (word = p + n; word < end; word += used) {
		for (used = 0; word + used < end && strchr(blanks, word[used]) == NULL;)
			used++;
		sorts |= attribute_sorts(word, used);
		used += used == 0;
	}
	for (i = 0; i < SORT_COUNT; i++) {
		if (!(sorts >> i & 1))
			continue;
		/* a quoted pattern, or a macro under whatever name */
		if (*pattern == '"' || *pattern == '[')
			a->all[i] = true;
		buf_append(&texts[i], pattern, n);
		buf_putc(&texts[i], '\n');
	}
}

static void
file_load(struct attributes *a, const char *path, const char *base)
{
	struct buf text = BUF_INIT, texts[SORT_COUNT] = { BUF_INIT, BUF_INIT, BUF_INIT };
	struct error ignored = ERROR_INIT;
	const char *p, *end, *line_end;
	int i;

	if (path == NULL || file_read(path, FILE_MAX, &text, &ignored) < 0)
		return;
	p = buf_text(&text);
	for (end = p + text.len; p < end; p = line_end + 1) {
		line_end = memchr(p, '\n', (size_t)(end - p));
		if (line_end == NULL)
			line_end = end;
		line_take(a, p, line_end, texts);
	}
	for (i = 0; i < SORT_COUNT; i++) {
		if (texts[i].len > 0) {
			a->lists[i] = xgrow(a->lists[i], a->n[i] + 1, &a->room[i],
					    sizeof(struct ignore_list *));
			a->lists[i][a->n[i]++] =
			    ignore_parse(texts[i].data, texts[i].len, base, a->fold_case);
		}
		buf_release(&texts[i]);
	}
	buf_release(&text);
}

struct attributes *
attributes_load(const struct place *p, const struct settings *s, char *const *dirs,
		size_t ndirs, bool is_hidden)
{
	struct attributes *a = xcalloc(1, sizeof(*a));
	char *info = xasprintf("%s/info/attributes", p->common_dir);
	size_t i;

	a->fold_case = s->ignore_case;
	a->all[SORT_FILTER] = is_hidden;
	a->all[SORT_HIDING] = is_hidden;
	a->all[SORT_LINES] = is_hidden || s->autocrlf;
	file_load(a, "/etc/gitattributes", "");
	file_load(a, s->attributes_file, "");
	file_load(a, info, "");
	for (i = 0; i < ndirs; i++) {
		char *path = xasprintf("%s/%s%s.gitattributes", p->root, dirs[i],
				       *dirs[i] == '\0' ? "" : "/");

		file_load(a, path, dirs[i]);
		free(path);
	}
	free(info);
	return a;
}

static bool
any_matches(const struct attributes *a, enum sort sort, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash == NULL ? path : slash + 1;
	size_t i;

	if (a->all[sort])
		return true;
	for (i = 0; i < a->n[sort]; i++)
		if (ignore_match(a->lists[sort][i], path, len, name, false) == IGNORE_YES)
			return true;
	return false;
}

bool
attributes_hide_something(const struct attributes *a)
{
	return a->all[SORT_HIDING] || a->n[SORT_HIDING] > 0;
}

bool
attributes_may_hide(const struct attributes *a, const char *path, size_t len)
{
	return any_matches(a, SORT_HIDING, path, len);
}

bool
attributes_may_filter(const struct attributes *a, const char *path, size_t len)
{
	return any_matches(a, SORT_FILTER, path, len);
}

bool
attributes_may_end_lines(const struct attributes *a, const char *path, size_t len)
{
	return any_matches(a, SORT_LINES, path, len);
}

void
attributes_free(struct attributes *a)
{
	size_t i;
	int sort;

	if (a == NULL)
		return;
	for (sort = 0; sort < SORT_COUNT; sort++) {
		for (i = 0; i < a->n[sort]; i++)
			ignore_free(a->lists[sort][i]);
		free(a->lists[sort]);
	}
	free(a);
}
