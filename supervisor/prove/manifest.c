/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/storage.h"

enum {
	/* A descriptor a level; what lies deeper counts as not there, before and after.
	 */
	MANIFEST_DEPTH_MAX = 400,
	CONTENT_CHUNK = 65536,
};

/* --- taking --- */

/* One walk. */
struct taking {
	struct manifest *manifest;
	const char *git; /* where a git directory may lie, "" for the top itself */
	bool is_strict;
};

static bool
name_is_left_out(const struct taking *t, const char *dir, const char *name)
{
	static const char *const of_git[] = { "objects", "logs", "index" };
	size_t i;

	if (strcmp(name, ".geonosis") == 0 ||
	    strncmp(name, STORAGE_PREFIX, strlen(STORAGE_PREFIX)) == 0)
		return true;
	if (strcmp(dir, t->git) != 0)
		return false;
	if (*t->git == '\0' && strcmp(name, "worktrees") == 0)
		return true;
	for (i = 0; i < sizeof(of_git) / sizeof(of_git[0]); i++)
		if (strcmp(name, of_git[i]) == 0)
			return true;
	return false;
}

static char *
link_target(int dir_fd, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir_fd, name, text, sizeof(text) - 1);

	return xstrndup(text, n > 0 ? (size_t)n : 0);
}

static int64_t
time_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct manifest_entry
entry_make(const char *path, int dir_fd, const char *name, const struct stat *st)
{
	return (struct manifest_entry){
		.path = xstrdup(path),
		.target = S_ISLNK(st->st_mode) ? link_target(dir_fd, name) : NULL,
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.device = st->st_rdev,
		.inode = st->st_ino,
		.size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
		.mtime_ns = time_ns(&st->st_mtim),
	};
}

void
manifest_entry_release(struct manifest_entry *e)
{
	free(e->path);
	free(e->target);
}

int
manifest_look(const char *dir, const char *path, struct manifest_entry *ret_entry)
{
	char *whole = xasprintf("%s/%s", dir, path);
	struct stat st;
	int rc = lstat(whole, &st);

	if (rc == 0)
		*ret_entry = entry_make(path, AT_FDCWD, whole, &st);
	free(whole);
	return rc;
}

static void
manifest_add(struct manifest *m, struct manifest_entry e)
{
	m->entries = xgrow(m->entries, m->nentries + 1, &m->room, sizeof(*m->entries));
	m->entries[m->nentries++] = e;
}

/* `fd` is taken; `path` is the directory's, and the same again afterwards. */
static void
manifest_walk(struct taking *t, int fd, struct buf *path, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	size_t len = path->len;
	struct dirent *e;

	if (dir == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir)) != NULL) {
		struct manifest_entry entry;
		struct stat st;
		int child;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    name_is_left_out(t, buf_text(path), e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (len > 0)
			buf_putc(path, '/');
		buf_puts(path, e->d_name);
		entry = entry_make(buf_text(path), fd, e->d_name, &st);
		if (t->is_strict && !S_ISDIR(st.st_mode)) {
			entry.ctime_ns = time_ns(&st.st_ctim);
			entry.nlinks = st.st_nlink;
		}
		manifest_add(t->manifest, entry);
		if (S_ISDIR(st.st_mode) && depth < MANIFEST_DEPTH_MAX) {
			child = openat(fd, e->d_name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (child >= 0)
				manifest_walk(t, child, path, depth + 1);
		}
		path->len = len;
		path->data[len] = '\0';
	}
	(void)closedir(dir);
}

static int
entry_compare(const void *a, const void *b)
{
	const struct manifest_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int
manifest_take_as(const char *dir, const char *git, bool is_strict,
		 struct manifest *ret_manifest, struct error *err)
{
	struct manifest m = MANIFEST_INIT;
	struct taking t = { &m, git, is_strict };
	struct buf path = BUF_INIT;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_system(err, "%s", dir);
	manifest_walk(&t, fd, &path, 0);
	buf_release(&path);
	if (m.nentries > 1)
		qsort(m.entries, m.nentries, sizeof(*m.entries), entry_compare);
	*ret_manifest = m;
	return 0;
}

int
manifest_take(const char *dir, struct manifest *ret_manifest, struct error *err)
{
	return manifest_take_as(dir, ".git", false, ret_manifest, err);
}

int
manifest_take_strict(const char *dir, struct manifest *ret_manifest, struct error *err)
{
	return manifest_take_as(dir, ".git", true, ret_manifest, err);
}

int
manifest_take_git(const char *dir, struct manifest *ret_manifest, struct error *err)
{
	return manifest_take_as(dir, "", true, ret_manifest, err);
}

const struct manifest_entry *
manifest_find(const struct manifest *m, const char *path)
{
	union {
		const char *from;
		char *to;
	} u = { .from = path };
	struct manifest_entry key = { .path = u.to };

	if (m->nentries == 0)
		return NULL;
	return bsearch(&key, m->entries, m->nentries, sizeof(key), entry_compare);
}

void
manifest_release(struct manifest *m)
{
	size_t i;

	if (m == NULL)
		return;
	for (i = 0; i < m->nentries; i++)
		manifest_entry_release(&m->entries[i]);
	free(m->entries);
	*m = (struct manifest)MANIFEST_INIT;
}

/* --- comparing --- */

void
changes_add(struct changes *c, const char *path)
{
	c->count++;
	if (c->nkept == CHANGES_KEPT_MAX)
		return;
	c->paths = xgrow(c->paths, c->nkept + 1, &c->room, sizeof(*c->paths));
	c->paths[c->nkept++] = xstrdup(path);
}

void
changes_release(struct changes *c)
{
	size_t i;

	for (i = 0; i < c->nkept; i++)
		free(c->paths[i]);
	free(c->paths);
	*c = (struct changes)CHANGES_INIT;
}

/* Not even its stat data: nobody wrote to it, and it is the same file. */
static bool
entry_is_untouched(const struct manifest_entry *a, const struct manifest_entry *b)
{
	return manifest_entry_same(a, b) >= 0 && a->inode == b->inode &&
	       (!S_ISREG(a->mode) || a->mtime_ns == b->mtime_ns) &&
	       (a->ctime_ns == b->ctime_ns || a->nlinks != b->nlinks);
}

void
manifest_compare(const struct manifest *before, const struct manifest *after,
		 manifest_judge_fn *judge, void *ctx, struct changes *changes)
{
	size_t i = 0, k = 0;

	while (i < before->nentries || k < after->nentries) {
		const struct manifest_entry *a =
		    i < before->nentries ? &before->entries[i] : NULL;
		const struct manifest_entry *b =
		    k < after->nentries ? &after->entries[k] : NULL;
		int order = a == NULL ? 1 : b == NULL ? -1 : strcmp(a->path, b->path);

		if (order < 0)
			b = NULL;
		if (order > 0)
			a = NULL;
		i += a != NULL;
		k += b != NULL;
		if (a != NULL && b != NULL && entry_is_untouched(a, b))
			continue;
		if (!judge(ctx, a, b))
			continue;
		if (b != NULL)
			changes_add(changes, b->path);
		else if (a != NULL)
			changes_add(changes, a->path);
	}
}

int
manifest_entry_same(const struct manifest_entry *a, const struct manifest_entry *b)
{
	if (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid ||
	    a->size != b->size)
		return -1;
	if (S_ISLNK(a->mode))
		return strcmp(a->target, b->target) == 0 ? 1 : -1;
	if (S_ISREG(a->mode))
		return 0;
	if (S_ISCHR(a->mode) || S_ISBLK(a->mode))
		return a->device == b->device ? 1 : -1;
	return 1;
}

static bool
content_same(int a, int b)
{
	char *chunks = xmalloc((size_t)CONTENT_CHUNK * 2);
	bool same = false;
	ssize_t n, m;

	for (off_t at = 0;; at += n) {
		n = pread(a, chunks, CONTENT_CHUNK, at);
		m = pread(b, chunks + CONTENT_CHUNK, CONTENT_CHUNK, at);
		if (n < 0 || n != m ||
		    memcmp(chunks, chunks + CONTENT_CHUNK, (size_t)n) != 0)
			break;
		if (n == 0) {
			same = true;
			break;
		}
	}
	free(chunks);
	return same;
}

bool
file_content_same(const char *a, const char *b)
{
	int fd_a = open(a, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int fd_b = open(b, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool same = fd_a >= 0 && fd_b >= 0 && content_same(fd_a, fd_b);

	fd_close(&fd_a);
	fd_close(&fd_b);
	return same;
}
