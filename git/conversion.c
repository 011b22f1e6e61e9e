/* SPDX-License-Identifier: MIT */
#include "git/conversion.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/ask.h"
#include "git/attributes.h"
#include "git/digest.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	PATHS_MAX = 256,	/* more are not named one by one: git looks at all */
	RAW_BYTES_MAX = 1 << 20 /* of a filtered file that is read each time */
};

enum line_ends {
	ENDS_NO_CR,
	ENDS_CRLF, /* every line: what git makes of the file says all of it */
	ENDS_MIXED /* or not known */
};

static int
file_open(const struct scan *s, const char *path)
{
	char *full = xasprintf("%s/%s", s->place.root, path);
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);

	free(full);
	return fd;
}

/* Of a file that cannot be read nothing is known: then git shall look. */
static enum line_ends
line_ends_of(const struct scan *s, const char *path)
{
	int fd = file_open(s, path);
	char chunk[32768], last = '\0';
	bool has_cr = false, has_lf = false;
	ssize_t n = fd < 0 ? -1 : 1, i;

	while (n > 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		for (i = 0; i < n; last = chunk[i++]) {
			has_cr = has_cr || chunk[i] == '\r';
			has_lf = has_lf || (chunk[i] == '\n' && last != '\r');
		}
	fd_close(&fd);
	if (n < 0)
		return ENDS_MIXED;
	if (!has_cr)
		return ENDS_NO_CR;
	return has_lf ? ENDS_MIXED : ENDS_CRLF;
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
		line_ends_of(s, item->path) != ENDS_NO_CR);
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

/* --- the bytes that git does not see --- */

static void
raw_add(struct scan *s, size_t entry, const uint8_t *id, size_t *room)
{
	struct walk_result *w = &s->walk;

	w->raws = xgrow(w->raws, w->nraws + 1, room, sizeof(*w->raws));
	w->raws[w->nraws].entry = (uint32_t)entry;
	memcpy(w->raws[w->nraws++].id, id, OBJECT_ID_MAX);
}

static int
raw_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct walk_raw *)a)->entry;
	uint32_t y = ((const struct walk_raw *)b)->entry;

	return x < y ? -1 : x > y;
}

/* What was read already. */
static void
dropped_add(struct scan *s, const struct attributes *a, size_t *room)
{
	size_t i;

	for (i = 0; i < s->walk.nitems; i++) {
		const struct walk_item *item = &s->walk.items[i];

		if (item->dropped && (attributes_may_hide(a, item->path, item->len) ||
				      line_ends_of(s, item->path) == ENDS_MIXED))
			raw_add(s, item->entry, item->id, room);
	}
	if (s->walk.nraws > 1)
		qsort(s->walk.raws, s->walk.nraws, sizeof(*s->walk.raws), raw_compare);
}

/* An id of the bytes; of a large file, or one that cannot be read, of its stat data. */
static void
raw_id(const struct scan *s, const char *path, uint8_t id[OBJECT_ID_MAX])
{
	int fd = file_open(s, path);
	struct stat st = { .st_size = 0 };
	uint64_t words[6];

	memset(id, 0, OBJECT_ID_MAX);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= RAW_BYTES_MAX &&
	    blob_id_fd(s->settings.format, fd, (uint64_t)st.st_size, id) == 0)
		goto out;
	words[0] = st.st_ino;
	words[1] = (uint64_t)st.st_size;
	words[2] = (uint64_t)st.st_mtim.tv_sec;
	words[3] = (uint64_t)st.st_mtim.tv_nsec;
	words[4] = (uint64_t)st.st_ctim.tv_sec;
	words[5] = (uint64_t)st.st_ctim.tv_nsec;
	blob_id(s->settings.format, words, sizeof(words), id);
out:
	fd_close(&fd);
}

/*
 * A clean entry that a filter may apply to: its stat data are those that git saw, and
 * what it saw was what the filter let through.
 */
static void
clean_add(struct scan *s, const struct attributes *a, size_t *room)
{
	size_t i, known = s->walk.nraws;
	uint8_t id[OBJECT_ID_MAX];

	for (i = 0; i < s->index.nentries; i++) {
		const struct index_entry *e = &s->index.entries[i];
		const struct walk_raw key = { .entry = (uint32_t)i };

		if (s->walk.states[i] != WALK_CLEAN || e->stage != 0 ||
		    (e->mode != INDEX_MODE_FILE && e->mode != INDEX_MODE_EXEC) ||
		    !attributes_may_hide(a, e->path, e->len))
			continue;
		if (known > 0 &&
		    bsearch(&key, s->walk.raws, known, sizeof(key), raw_compare) != NULL)
			continue;
		raw_id(s, e->path, id);
		if (memcmp(id, e->id, object_format_size(s->settings.format)) != 0)
			raw_add(s, i, id, room);
	}
	if (s->walk.nraws > known)
		qsort(s->walk.raws, s->walk.nraws, sizeof(*s->walk.raws), raw_compare);
}

/* --- the whole --- */

static int
doubtful_judge(struct scan *s, const struct attributes *a, struct error *err)
{
	const struct walk_result *w = &s->walk;
	size_t *doubtful = NULL;
	size_t n = 0, room = 0, i;
	int rc = 0;

	for (i = 0; i < w->nitems; i++) {
		if (!is_doubtful(s, a, &w->items[i]))
			continue;
		doubtful = xgrow(doubtful, n + 1, &room, sizeof(*doubtful));
		doubtful[n++] = i;
	}
	if (n > 0)
		rc = git_judge(s, doubtful, n, err);
	free(doubtful);
	return rc;
}

int
conversion_judge(struct scan *s, struct error *err)
{
	const struct walk_result *w = &s->walk;
	struct attributes *a = attributes_load(&s->place, &s->settings, w->attribute_dirs,
					       w->nattribute_dirs, w->hidden_attributes);
	size_t room = 0;
	int rc = doubtful_judge(s, a, err);

	if (rc == 0)
		dropped_add(s, a, &room);
	if (rc == 0 && attributes_hide_something(a))
		clean_add(s, a, &room);
	attributes_free(a);
	return rc;
}
