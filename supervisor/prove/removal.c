/* SPDX-License-Identifier: MIT */
/*
 * One descriptor a level would run out in a tree that is deep enough.  Past a depth a
 * directory is not entered but moved up, beside those of the first level, which are gone
 * through again until there is none.
 */
#include "supervisor/prove/removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fd.h"

enum {
	REMOVAL_DEPTH_MAX = 100,
	/* While a dying process still writes there, a directory fills up again. */
	REMOVAL_ROUNDS_MAX = 20,
};

struct removal {
	int top_fd;
	struct statx top; /* the mount that is not left */
	unsigned moved;
	bool again; /* something was moved up: the top has to be read once more */
	int errnum; /* of the first thing that stays */
	uint64_t *bytes;
};

static void removal_empty(struct removal *r, int fd, unsigned depth);

static void
removal_fail(struct removal *r)
{
	if (r->errnum == 0)
		r->errnum = errno;
}

/* Another file system, or another mount of the same one, is not ours to empty. */
static bool
removal_is_mount(const struct removal *r, int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_MNT_ID, &sx) < 0)
		return true;
	if ((sx.stx_mask & r->top.stx_mask & STATX_MNT_ID) != 0 &&
	    sx.stx_mnt_id != r->top.stx_mnt_id)
		return true;
	return sx.stx_dev_major != r->top.stx_dev_major ||
	       sx.stx_dev_minor != r->top.stx_dev_minor;
}

static int
directory_open(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* One that its owner may not read (overlayfs makes such, and so do tests). */
	if (fd < 0 && errno == EACCES &&
	    fchmodat(parent_fd, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(parent_fd, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

static void
removal_descend(struct removal *r, int parent_fd, const char *name, unsigned depth)
{
	char moved[32];
	int fd;

	if (depth >= REMOVAL_DEPTH_MAX) {
		(void)snprintf(moved, sizeof(moved), ".moved-%u", r->moved++);
		if (renameat(parent_fd, name, r->top_fd, moved) < 0)
			removal_fail(r);
		else
			r->again = true;
		return;
	}
	fd = directory_open(parent_fd, name);
	if (fd < 0) {
		if (errno != ENOENT)
			removal_fail(r);
		return;
	}
	if (!removal_is_mount(r, fd))
		removal_empty(r, fd, depth + 1);
	fd_close(&fd);
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		removal_fail(r);
}

static void
removal_entry(struct removal *r, int fd, const struct dirent *e, unsigned depth)
{
	struct stat st;

	if (r->bytes != NULL && e->d_type != DT_DIR && e->d_type != DT_LNK &&
	    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		*r->bytes += (uint64_t)st.st_size;
	/* The type spares a call in the common case, and is not trusted. */
	if (e->d_type != DT_DIR) {
		if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
			return;
		if (errno != EISDIR && errno != EPERM) {
			removal_fail(r);
			return;
		}
	}
	removal_descend(r, fd, e->d_name, depth);
}

static void
removal_empty(struct removal *r, int fd, unsigned depth)
{
	/* closedir takes the descriptor that it has. */
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct stat st;
	struct dirent *e;

	if (dir == NULL) {
		removal_fail(r);
		fd_close(&own);
		return;
	}
	/* What is in a directory goes only where that may be written. */
	if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fchmod(fd, S_IRWXU);
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			removal_entry(r, fd, e, depth);
	(void)closedir(dir);
}

int
removal_run(int parent_fd, const char *name, uint64_t *bytes)
{
	struct removal r = { .bytes = bytes };
	int rounds = 0;
	int rc;

	r.top_fd = directory_open(parent_fd, name);
	if (r.top_fd < 0)
		return errno == ENOENT ? 0 : -1;
	rc = statx(r.top_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &r.top);
	while (rc == 0) {
		r.again = false;
		r.errnum = 0;
		removal_empty(&r, r.top_fd, 0);
		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0)
			break;
		if (errno == ENOTEMPTY && (r.again || rounds++ < REMOVAL_ROUNDS_MAX))
			continue;
		if (r.errnum != 0)
			errno = r.errnum;
		rc = -1;
	}
	fd_close(&r.top_fd);
	return rc;
}
