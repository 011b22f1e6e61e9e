/* SPDX-License-Identifier: MIT */
#include "git/conversion.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/ask.h"
#include "git/attributes.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	PATHS_MAX = 256 /* more are not named one by one: git looks at all */
};

/* Is there a CR in the file? Also when it cannot be read: then git shall look. */
static bool
has_cr(const struct scan *s, const char *path)
{
	char *full = xasprintf("%s/%s", s->place.root, path);
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	char chunk[32768];
	bool has = fd < 0;
	ssize_t n;

	free(full);
	while (!has && (n = read(fd, chunk, sizeof(chunk))) != 0)
		has = n < 0 || memchr(chunk, '\r', (size_t)n) != NULL;
	fd_close(&fd);
	return has;
}

/*
 * Only plain entries whose content differs; and none that git would not look at
 * either.
 */
static bool
is_doubtful(const struct scan *s, const struct attributes *a,
	    const struct walk_item *item)
{
	const struct index_entry *e;

	if (!(item->flags & WALK_STALE) || (item->flags & WALK_OPAQUE))
		return false;
	e = &s->index.entries[item->entry];
	if (item->mode != e->mode || item->mode == INDEX_MODE_LINK ||
	    (e->flags & (INDEX_ASSUME_UNCHANGED | INDEX_SKIP_WORKTREE)))
		return false;
	return attributes_may_filter(a, item->path, item->len) ||
	       (attributes_may_end_lines(a, item->path, item->len) &&
		has_cr(s, item->path));
}

/*
 * The next record of git status: its path and whether the disk differs from the index.
 * NULL at the end, or where it is not understood.
 */
static const char *
record_next(const char **p, const char *end, bool *ret_differs)
{
	const char *r = *p, *path;
	unsigned fields;

	if (r >= end || (*r != '1' && *r != 'u') || strlen(r) < 4)
		return NULL;
	*ret_differs = r[3] != '.';
	path = r;
	for (fields = *r == '1' ? 8 : 10; fields > 0 && path != NULL; fields--) {
		path = strchr(path, ' ');
		path = path == NULL ? NULL : path + 1;
	}
	*p = r + strlen(r) + 1;
	return path;
}

static int
path_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Drop the doubtful items that git does not name. */
static int
items_drop(struct scan *s, size_t *doubtful, size_t n, const struct buf *answer,
	   struct error *err)
{
	const char *p = buf_text(answer), *end = p + answer->len, *path;
	const char **named = NULL;
	size_t nnamed = 0, room = 0, i;
	bool differs;

	while ((path = record_next(&p, end, &differs)) != NULL) {
		if (!differs)
			continue;
		named = xgrow(named, nnamed + 1, &room, sizeof(*named));
		named[nnamed++] = path;
	}
	if (p < end) {
		free(named);
		return error_set(err, ERROR_REPO, "git status: answer not understood");
	}
	if (nnamed > 1)
		qsort(named, nnamed, sizeof(*named), path_compare);
	for (i = 0; i < n; i++) {
		struct walk_item *item = &s->walk.items[doubtful[i]];
		const char *key = item->path;

		if (nnamed > 0 &&
		    bsearch(&key, named, nnamed, sizeof(*named), path_compare) != NULL)
			continue;
		item->dropped = true;
		s->walk.states[item->entry] = WALK_CLEAN;
		s->walk.nstale++;
	}
	free(named);
	return 0;
}

static int
git_judge(struct scan *s, size_t *doubtful, size_t n, struct error *err)
{
	static const char *const fixed[] = { "status",
					     "--porcelain=v2",
					     "-z",
					     "--untracked-files=no",
					     "--ignore-submodules=all",
					     "--no-renames",
					     "--" };
	const char *arguments[sizeof(fixed) / sizeof(fixed[0]) + PATHS_MAX + 1];
	struct buf answer = BUF_INIT;
	size_t argc = sizeof(fixed) / sizeof(fixed[0]), i;
	int rc;

	memcpy(arguments, fixed, sizeof(fixed));
	for (i = 0; n <= PATHS_MAX && i < n; i++)
		arguments[argc++] = s->walk.items[doubtful[i]].path;
	arguments[argc] = NULL;
	scan_asked(s, "a filter or line endings may make two contents one");
	if (ask_git(s->place.root, arguments, &answer, err) != 1)
		return error_wrap(err, "git status");
	rc = items_drop(s, doubtful, n, &answer, err);
	buf_release(&answer);
	return rc;
}

int
conversion_judge(struct scan *s, struct error *err)
{
	const struct walk_result *w = &s->walk;
	struct attributes *a = NULL;
	size_t *doubtful = NULL;
	size_t n = 0, room = 0, i;
	int rc = 0;

	for (i = 0; i < w->nitems; i++) {
		if (!(w->items[i].flags & WALK_STALE))
			continue;
		if (a == NULL)
			a = attributes_load(&s->place, &s->settings, w->attribute_dirs,
					    w->nattribute_dirs, w->hidden_attributes);
		if (!is_doubtful(s, a, &w->items[i]))
			continue;
		doubtful = xgrow(doubtful, n + 1, &room, sizeof(*doubtful));
		doubtful[n++] = i;
	}
	if (n > 0)
		rc = git_judge(s, doubtful, n, err);
	attributes_free(a);
	free(doubtful);
	return rc;
}
