/* SPDX-License-Identifier: MIT */
#include "git/ignore.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "git/wildmatch.h"
#include "ipc/mem.h"

struct pattern {
	const char *text; /* without '!', final '/', and a leading '/' */
	size_t len;
	size_t plain; /* bytes before the first wildcard, at most len */
	bool negated;
	bool only_dirs;
	bool by_name; /* no '/' in it: matches the last component, at any depth */
	bool by_end;  /* "*" and then no wildcard */
};

struct ignore_list {
	char *text; /* what the patterns point into */
	char *base;
	size_t base_len;
	bool fold_case;
	struct pattern *patterns;
	size_t npatterns, room;
};

static size_t
plain_length(const char *s)
{
	return strcspn(s, "*?[\\");
}

/* Cut the spaces at the end that no backslash protects. */
static void
spaces_trim(char *line)
{
	char *p, *from = NULL;

	for (p = line; *p != '\0'; p++) {
		if (*p == ' ') {
			from = from != NULL ? from : p;
			continue;
		}
		from = NULL;
		if (*p == '\\' && *++p == '\0')
			return;
	}
	if (from != NULL)
		*from = '\0';
}

static void
pattern_add(struct ignore_list *list, char *line)
{
	struct pattern p = { .negated = *line == '!' };

	line += p.negated;
	p.len = strlen(line);
	if (p.len > 0 && line[p.len - 1] == '/') {
		p.only_dirs = true;
		line[--p.len] = '\0';
	}
	p.by_name = strchr(line, '/') == NULL;
	if (*line == '/') {
		line++;
		p.len--;
	}
	p.text = line;
	p.plain = plain_length(line);
	p.by_end = *line == '*' && line[1 + plain_length(line + 1)] == '\0';
	list->patterns =
	    xgrow(list->patterns, list->npatterns + 1, &list->room, sizeof(p));
	list->patterns[list->npatterns++] = p;
}

struct ignore_list *
ignore_parse(const char *text, size_t n, const char *base, bool fold_case)
{
	struct ignore_list *list = xcalloc(1, sizeof(*list));
	char *line, *end;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	list->text = xmalloc(n + 1);
	memcpy(list->text, text, n);
	list->text[n] = '\0';
	list->base = xstrdup(base);
	list->base_len = strlen(base);
	list->fold_case = fold_case;
	for (line = list->text; line < list->text + n; line = end + 1) {
		end = memchr(line, '\n', n - (size_t)(line - list->text));
		if (end == NULL)
			end = list->text + n;
		*end = '\0';
		if (end == line || *line == '#')
			continue;
		if (end[-1] == '\r')
			end[-1] = '\0';
		spaces_trim(line);
		pattern_add(list, line);
	}
	return list;
}

static bool
bytes_equal(const struct ignore_list *list, const char *a, const char *b, size_t n)
{
	return list->fold_case ? strncasecmp(a, b, n) == 0 : strncmp(a, b, n) == 0;
}

static bool
name_matches(const struct ignore_list *list, const struct pattern *p, const char *name,
	     size_t len)
{
	if (p->plain == p->len)
		return p->len == len && bytes_equal(list, p->text, name, len);
	if (p->by_end)
		return p->len - 1 <= len &&
		       bytes_equal(list, p->text + 1, name + len - (p->len - 1),
				   p->len - 1);
	return wildmatch(p->text, name, list->fold_case ? WILD_FOLD_CASE : 0);
}

/*
 * The part of a pattern before its first wildcard is compared as bytes, and only the
 * rest is a wildcard pattern: so `a**` crosses '/', as it does in git.
 */
static bool
path_matches(const struct ignore_list *list, const struct pattern *p, const char *path,
	     size_t len)
{
	if (list->base_len > 0) {
		if (len < list->base_len + 1 || path[list->base_len] != '/' ||
		    !bytes_equal(list, path, list->base, list->base_len))
			return false;
		path += list->base_len + 1;
		len -= list->base_len + 1;
	}
	if (p->plain > len || !bytes_equal(list, p->text, path, p->plain))
		return false;
	if (p->plain == p->len && p->plain == len && len > 0)
		return true;
	return wildmatch(p->text + p->plain, path + p->plain,
			 WILD_PATHNAME | (list->fold_case ? WILD_FOLD_CASE : 0));
}

enum ignore_verdict
ignore_match(const struct ignore_list *list, const char *path, size_t len,
	     const char *name, bool is_dir)
{
	size_t i, name_len = len - (size_t)(name - path);

	for (i = list->npatterns; i-- > 0;) {
		const struct pattern *p = &list->patterns[i];

		if (p->only_dirs && !is_dir)
			continue;
		if (p->by_name ? name_matches(list, p, name, name_len)
			       : path_matches(list, p, path, len))
			return p->negated ? IGNORE_NO : IGNORE_YES;
	}
	return IGNORE_UNSAID;
}

void
ignore_free(struct ignore_list *list)
{
	if (list == NULL)
		return;
	free(list->text);
	free(list->base);
	free(list->patterns);
	free(list);
}
