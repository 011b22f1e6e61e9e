/* SPDX-License-Identifier: MIT */
#include "git/changed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "git/ask.h"
#include "git/commit.h"
#include "git/tree.h"
#include "ipc/mem.h"

struct collection {
	char **paths;
	size_t n, room;
};

static bool
is_ours(const char *path)
{
	return strncmp(path, ".geonosis/", 10) == 0 ||
	       strstr(path, "/.geonosis/") != NULL;
}

/* `len` bytes, less a final slash. */
static void
path_add(struct collection *c, const char *path, size_t len)
{
	char *copy;

	if (len > 0 && path[len - 1] == '/')
		len--;
	if (len == 0 || is_ours(path))
		return;
	copy = xstrndup(path, len);
	c->paths = xgrow(c->paths, c->n + 1, &c->room, sizeof(*c->paths));
	c->paths[c->n++] = copy;
}

/* Paths that end in NUL. */
static int
answer_add(const struct repository *r, const char *const *arguments, struct collection *c,
	   struct error *err)
{
	struct buf answer = BUF_INIT;
	const char *p, *end;
	int rc;

	rc = ask_git(r->place.root, arguments, &answer, err);
	if (rc == 1) {
		end = answer.data + answer.len;
		for (p = answer.data; p < end; p += strlen(p) + 1)
			path_add(c, p, strlen(p));
	}
	buf_release(&answer);
	return rc == 1 ? 0 : error_wrap(err, "git %s", arguments[0]);
}

/* In any order and with repetitions, as all that is collected. */
static void
path_collect(void *ctx, const char *path, size_t len)
{
	path_add(ctx, path, len);
}

/*
 * Without git, where the index says which tree it is and both can be read here: 1; 0 git
 * must be asked.
 */
static int
commit_peek_add(const struct repository *r, const char *commit, struct collection *c)
{
	uint8_t id[OBJECT_ID_MAX], index[OBJECT_ID_MAX];
	struct commit is = COMMIT_INIT;
	struct trees *trees;
	int rc = 0;

	if (commit_parse(r, r->key->index, index) < 0 ||
	    commit_parse(r, commit, id) < 0 || commit_peek(r, id, &is) != 1)
		return 0;
	trees = trees_new(r);
	rc = tree_diff(trees, is.tree, index, path_collect, c);
	trees_free(trees);
	commit_release(&is);
	return rc;
}

static int
commit_add(const struct repository *r, const char *commit, struct collection *c,
	   struct error *err)
{
	const char *arguments[] = { "diff-index",
				    "--cached",
				    "--name-only",
				    "--no-renames",
				    "--ignore-submodules=none",
				    "-z",
				    commit,
				    "--",
				    NULL };

	return commit_peek_add(r, commit, c) == 1 ? 0 : answer_add(r, arguments, c, err);
}

static int
index_add(const struct repository *r, struct collection *c, struct error *err)
{
	static const char *const arguments[] = { "ls-files", "-z", NULL };

	return answer_add(r, arguments, c, err);
}

static int
path_compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

size_t
changed_settle(char **paths, size_t n)
{
	size_t i, left = 0;

	if (n > 1)
		qsort(paths, n, sizeof(*paths), path_compare);
	for (i = 0; i < n; i++) {
		if (left > 0 && strcmp(paths[left - 1], paths[i]) == 0)
			free(paths[i]);
		else
			paths[left++] = paths[i];
	}
	return left;
}

static bool
is_repeated(const char *const *commits, size_t at)
{
	size_t i;

	for (i = 0; i < at; i++)
		if (strcmp(commits[i], commits[at]) == 0)
			return true;
	return false;
}

int
changed_find(const struct repository *r, const char *const *commits, size_t ncommits,
	     struct changed *ret_changed, struct error *err)
{
	struct collection c = { .n = 0 };
	struct changed found;
	size_t i;
	int rc = 0;

	if (r->key->changes == NULL)
		return error_set(err, ERROR_REPO, "the key was made without changes");
	for (i = 0; rc == 0 && i < ncommits; i++)
		if (!is_repeated(commits, i))
			rc = commit_add(r, commits[i], &c, err);
	if (ncommits == 0)
		rc = index_add(r, &c, err);
	for (i = 0; rc == 0 && i < r->key->nchanges; i++)
		path_add(&c, r->key->changes[i].path, strlen(r->key->changes[i].path));
	found = (struct changed){ .paths = c.paths, .npaths = c.n };
	if (rc < 0) {
		changed_release(&found);
		return -1;
	}
	found.npaths = changed_settle(found.paths, found.npaths);
	*ret_changed = found;
	return 0;
}

void
changed_release(struct changed *c)
{
	size_t i;

	for (i = 0; i < c->npaths; i++)
		free(c->paths[i]);
	free(c->paths);
	*c = (struct changed)CHANGED_INIT;
}

char *
path_from(const char *subdir, const char *path)
{
	struct buf b = BUF_INIT;
	size_t same = 0, i;

	/* What both have in common, in whole parts. */
	for (i = 0;; i++) {
		bool ends = subdir[i] == '\0' || subdir[i] == '/';

		if (ends && path[i] == '/')
			same = i + 1;
		if (subdir[i] == '\0' || subdir[i] != path[i])
			break;
	}
	if (*subdir == '\0')
		return xstrdup(path);
	if (same <= strlen(subdir)) {
		buf_puts(&b, "../");
		for (i = same; subdir[i] != '\0'; i++)
			if (subdir[i] == '/')
				buf_puts(&b, "../");
	}
	buf_puts(&b, path + same);
	return buf_steal(&b);
}

static bool
is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static void
char_quote(struct buf *b, char c)
{
	static const char plain[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
	const char *at = strchr(plain, c);

	if (at != NULL)
		buf_printf(b, "\\%c", letters[at - plain]);
	else if (is_control(c))
		buf_printf(b, "\\%03o", (unsigned char)c);
	else
		buf_putc(b, c);
}

char *
path_quote(const char *path)
{
	struct buf b = BUF_INIT;
	bool wanted = *path == '"';
	const char *p;

	for (p = path; *p != '\0' && !wanted; p++)
		wanted = is_control(*p);
	if (!wanted)
		return xstrdup(path);
	buf_putc(&b, '"');
	for (p = path; *p != '\0'; p++)
		char_quote(&b, *p);
	buf_putc(&b, '"');
	return buf_steal(&b);
}
