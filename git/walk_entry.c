/* SPDX-License-Identifier: MIT */
/*
 * One path: what the index knows of it against what lies on disk.
 *
 * Stat data that are the same in every word, and older than the index, prove that the
 * content is the same; anything else is read.  Every word counts here, whatever
 * core.trustCtime and core.checkStat say: they spare git work, at the price of proof.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/walk_part.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	READ_TRIES = 3
};

/* The mode git would give it; 0 for what git does not keep (devices, sockets). */
static uint32_t
mode_of(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return st->st_mode & 0100 ? INDEX_MODE_EXEC : INDEX_MODE_FILE;
	if (S_ISLNK(st->st_mode))
		return INDEX_MODE_LINK;
	return S_ISDIR(st->st_mode) ? INDEX_MODE_GITLINK : 0;
}

/* The mode that counts, where the file system cannot keep what the index says. */
static uint32_t
mode_against(const struct settings *s, const struct stat *st, uint32_t indexed)
{
	uint32_t mode = mode_of(st);

	if (!S_ISREG(st->st_mode))
		return mode;
	if (indexed == INDEX_MODE_LINK && !s->symlinks)
		return INDEX_MODE_LINK;
	if (s->file_mode)
		return mode;
	return indexed == INDEX_MODE_EXEC ? INDEX_MODE_EXEC : INDEX_MODE_FILE;
}

/* Steps see the mode that git is told not to look at. */
static void
odd_mode_keep(const struct walk *w, const struct stat *st, size_t at)
{
	uint32_t indexed = w->index->entries[at].mode;

	if (w->odd_modes != NULL && S_ISREG(st->st_mode) && S_ISREG(indexed))
		w->odd_modes[at] = mode_of(st) != indexed;
}

static bool
stat_equals(const struct index_entry *e, const struct stat *st)
{
	const struct {
		enum index_stat word;
		uint64_t is;
	} words[] = { { INDEX_STAT_MTIME, (uint64_t)st->st_mtim.tv_sec },
		      { INDEX_STAT_MTIME_NSEC, (uint64_t)st->st_mtim.tv_nsec },
		      { INDEX_STAT_CTIME, (uint64_t)st->st_ctim.tv_sec },
		      { INDEX_STAT_CTIME_NSEC, (uint64_t)st->st_ctim.tv_nsec },
		      { INDEX_STAT_INO, st->st_ino },
		      { INDEX_STAT_UID, st->st_uid },
		      { INDEX_STAT_GID, st->st_gid },
		      { INDEX_STAT_BYTES, (uint64_t)st->st_size } };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (index_stat_word(e, words[i].word) != (uint32_t)words[i].is)
			return false;
	return true;
}

/* Could the file have changed after git looked, and still show the same times? */
static bool
is_racy(const struct walk *w, const struct stat *st)
{
	const struct timespec *t = &st->st_mtim;

	if (st->st_ctim.tv_sec > t->tv_sec ||
	    (st->st_ctim.tv_sec == t->tv_sec && st->st_ctim.tv_nsec > t->tv_nsec))
		t = &st->st_ctim;
	return t->tv_sec > w->racy.tv_sec ||
	       (t->tv_sec == w->racy.tv_sec && t->tv_nsec >= w->racy.tv_nsec);
}

/*
 * Was the file of another size when git last looked?  Where its bytes are the blob's
 * now, it then had them in another form: git calls that modified, and so do we.
 */
static bool
size_differs(const struct index_entry *e, const struct stat *st)
{
	uint32_t indexed = index_stat_word(e, INDEX_STAT_BYTES);

	return indexed != 0 && S_ISREG(st->st_mode) && indexed != (uint32_t)st->st_size;
}

/*
 * git writes a size of 0 for entries that it found racy itself; those prove nothing
 * unless the content is known to be empty.
 */
static bool
stat_proves(const struct walk *w, const struct index_entry *e, const struct stat *st)
{
	if (!stat_equals(e, st) || is_racy(w, st))
		return false;
	return st->st_size != 0 ||
	       memcmp(e->id, w->empty_id, object_format_size(w->settings->format)) == 0;
}

static int
link_id(const struct walk *w, int fd, const char *name, uint8_t id[OBJECT_ID_MAX])
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, name, target, sizeof(target));

	if (n < 0)
		return -1;
	blob_id(w->settings->format, target, (size_t)n, id);
	return 0;
}

static int
file_id(const struct walk *w, int fd, const char *name, uint8_t id[OBJECT_ID_MAX])
{
	int file =
	    openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int rc = -1;

	if (file < 0)
		return -1;
	if (fstat(file, &st) == 0) {
		errno = ESTALE;
		if (S_ISREG(st.st_mode))
			rc = blob_id_fd(w->settings->format, file, (uint64_t)st.st_size,
					id);
	}
	fd_close(&file);
	return rc;
}

/* For what cannot be read: an id that changes when the stat data do. */
static void
opaque_id(const struct walk *w, const struct stat *st, uint8_t id[OBJECT_ID_MAX])
{
	const uint64_t words[] = { st->st_dev,
				   st->st_ino,
				   st->st_mode,
				   st->st_uid,
				   st->st_gid,
				   (uint64_t)st->st_size,
				   (uint64_t)st->st_mtim.tv_sec,
				   (uint64_t)st->st_mtim.tv_nsec,
				   (uint64_t)st->st_ctim.tv_sec,
				   (uint64_t)st->st_ctim.tv_nsec };

	blob_id(w->settings->format, words, sizeof(words), id);
}

/*
 * The content's id: 0; 1 where it cannot be read (or never stands still) and the id is
 * opaque; -1 when there is nothing any more.
 */
static int
content_id(const struct walk *w, int fd, const char *name, struct stat *st,
	   uint8_t id[OBJECT_ID_MAX])
{
	unsigned tries;

	for (tries = 0; tries < READ_TRIES; tries++) {
		if (S_ISLNK(st->st_mode) ? link_id(w, fd, name, id) == 0
					 : file_id(w, fd, name, id) == 0)
			return 0;
		if (errno == ENOENT || errno == ENOTDIR)
			return -1;
		if (errno != ESTALE && errno != ELOOP && errno != EINVAL)
			break;
		/* It was replaced or written to: look again. */
		if (fstatat(fd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
			return -1;
		if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
			break;
	}
	opaque_id(w, st, id);
	return 1;
}

static bool
kinds_differ(uint32_t a, uint32_t b)
{
	return (a & 0170000) != (b & 0170000);
}

static void
entry_gone(struct walk_thread *t, size_t first, size_t n)
{
	const struct index_entry *e = &t->w->index->entries[first];
	enum tree_change_kind kind =
	    e->stage != 0 ? TREE_CHANGE_UNMERGED : TREE_CHANGE_DELETED;

	/* Without a sparse checkout somebody has taken away what git does not look at. */
	if ((e->flags & INDEX_SKIP_WORKTREE) && t->w->settings->is_sparse) {
		memset(t->w->states + first, WALK_LEFT_OUT, n);
		return;
	}
	memset(t->w->states + first, WALK_ITEM, n);
	(void)walk_item_add(t, e->path, e->len, (uint32_t)first, kind);
}

static bool
is_ours(const char *path)
{
	return strncmp(path, ".geonosis/", 10) == 0 ||
	       strstr(path, "/.geonosis/") != NULL;
}

void
walk_entries_gone(struct walk_thread *t, size_t from, size_t to)
{
	const struct index *x = t->w->index;

	while (from < to) {
		size_t n = 1;

		while (from + n < to &&
		       x->entries[from + n].len == x->entries[from].len &&
		       strcmp(x->entries[from + n].path, x->entries[from].path) == 0)
			n++;
		if (is_ours(x->entries[from].path))
			memset(t->w->states + from, WALK_OURS, n);
		else
			entry_gone(t, from, n);
		from += n;
	}
}

/* A directory where a file is wanted: nothing, or a repository in its place. */
static void
directory_check(struct walk_thread *t, const struct walk_dir *dir, int fd,
		const char *name, size_t first, size_t n)
{
	const struct index_entry *e = &t->w->index->entries[first];
	bool is_repository = walk_is_repository(t->w, dir, fd, name);
	struct walk_item *item;

	if (!is_repository && e->mode == INDEX_MODE_GITLINK && e->stage == 0)
		return; /* a submodule that is not checked out: as the index says */
	memset(t->w->states + first, WALK_ITEM, n);
	item = walk_item_add(t, e->path, e->len, (uint32_t)first,
			     e->stage != 0 ? TREE_CHANGE_UNMERGED : TREE_CHANGE_DELETED);
	if (!is_repository)
		return;
	item->mode = INDEX_MODE_GITLINK;
	item->flags |= WALK_REPOSITORY;
	if (e->stage == 0)
		item->kind = e->flags & INDEX_INTENT_TO_ADD  ? TREE_CHANGE_ADDED
			     : e->mode == INDEX_MODE_GITLINK ? TREE_CHANGE_MODIFIED
							     : TREE_CHANGE_TYPE;
}

static enum tree_change_kind
kind_of(const struct index_entry *e, uint32_t mode)
{
	if (e->stage != 0)
		return TREE_CHANGE_UNMERGED;
	if (e->flags & INDEX_INTENT_TO_ADD)
		return TREE_CHANGE_ADDED;
	/* git takes a device or a socket for a file */
	return kinds_differ(e->mode, mode == 0 ? INDEX_MODE_FILE : mode)
		   ? TREE_CHANGE_TYPE
		   : TREE_CHANGE_MODIFIED;
}

void
walk_entry_check(struct walk_thread *t, const struct walk_dir *dir, int fd,
		 const char *name, size_t first, size_t n)
{
	struct walk *w = t->w;
	const struct index_entry *e = &w->index->entries[first];
	bool is_plain = e->stage == 0 && !(e->flags & INDEX_INTENT_TO_ADD);
	uint8_t id[OBJECT_ID_MAX];
	struct walk_item *item;
	struct stat st;
	uint32_t mode;
	int rc = 0;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		entry_gone(t, first, n);
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		directory_check(t, dir, fd, name, first, n);
		return;
	}
	mode = mode_against(w->settings, &st, e->mode);
	odd_mode_keep(w, &st, first);
	if (S_ISREG(st.st_mode))
		w->sizes[first] = (uint64_t)st.st_size;
	if (is_plain && mode == e->mode && stat_proves(w, e, &st))
		return; /* the state is WALK_CLEAN already */
	memset(id, 0, sizeof(id));
	if (mode != 0 && (rc = content_id(w, fd, name, &st, id)) < 0) {
		entry_gone(t, first, n);
		return;
	}
	if (S_ISREG(st.st_mode))
		w->sizes[first] = (uint64_t)st.st_size; /* it may have grown meanwhile */
	if (is_plain && rc == 0 && mode == e->mode && !size_differs(e, &st) &&
	    memcmp(id, e->id, object_format_size(w->settings->format)) == 0) {
		t->nstale++;
		return;
	}
	memset(w->states + first, WALK_ITEM, n);
	item = walk_item_add(t, e->path, e->len, (uint32_t)first, kind_of(e, mode));
	item->mode = mode;
	item->size = w->sizes[first];
	item->flags = (uint8_t)((rc == 1 ? WALK_OPAQUE : 0) |
				(is_plain && S_ISREG(st.st_mode) ? WALK_STALE : 0));
	memcpy(item->id, id, sizeof(id));
}

void
walk_untracked_add(struct walk_thread *t, const struct walk_dir *dir, int fd,
		   const char *name, const char *path, size_t len)
{
	uint8_t id[OBJECT_ID_MAX] = { 0 };
	struct walk_item *item;
	struct stat st;
	int rc;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return;
	rc = content_id(t->w, fd, name, &st, id);
	if (rc < 0)
		return;
	item = walk_item_add(t, path, len, WALK_NO_ENTRY, TREE_CHANGE_UNTRACKED);
	item->mode = mode_of(&st);
	item->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	item->flags = (uint8_t)((rc == 1 ? WALK_OPAQUE : 0) |
				(dir->is_unlisted ? WALK_UNLISTED : 0));
	memcpy(item->id, id, sizeof(id));
}

void
walk_repository_add(struct walk_thread *t, const struct walk_dir *dir, const char *path,
		    size_t len)
{
	char *with_slash = xasprintf("%s/", path);
	struct walk_item *item =
	    walk_item_add(t, with_slash, len + 1, WALK_NO_ENTRY, TREE_CHANGE_UNTRACKED);

	item->mode = INDEX_MODE_GITLINK;
	item->flags = (uint8_t)(WALK_REPOSITORY | (dir->is_unlisted ? WALK_UNLISTED : 0));
	free(with_slash);
}

void
walk_opaque_dir_add(struct walk_thread *t, const struct walk_dir *dir)
{
	const char *path = dir->len == 0 ? "." : dir->path;
	struct walk_item *item;
	struct stat st;

	if (fstatat(t->w->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		memset(&st, 0, sizeof(st));
	item = walk_item_add(t, path, strlen(path), WALK_NO_ENTRY, TREE_CHANGE_UNTRACKED);
	item->flags = WALK_OPAQUE | WALK_UNLISTED;
	opaque_id(t->w, &st, item->id);
}
