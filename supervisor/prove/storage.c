/* SPDX-License-Identifier: MIT */
/*
 * A storage gets its name only when its lock is held, by a rename; until then it is
 * called `….new`.  A run that is killed in between leaves one of those, which goes when
 * it is old.
 */
#include "supervisor/prove/storage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/removal.h"

#define STORAGE_LOCK "geonosis.lock"
#define STORAGE_MARK "copies of geonosis verify prove\n"
#define STORAGE_NEW ".new"

enum {
	STORAGE_NEW_AGE_S = 60,
	STORAGE_TRIES = 100,
};

/* 1: it is ours now; 0: somebody has it; -1. */
static int
lock_take(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return 1;
	return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

/* --- removing --- */

static bool
name_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
entry_remove(int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR || errno == EPERM ? removal_run(dir_fd, name, NULL) : -1;
}

/* *ret_left: entries beside the lock; with `remove` those that could not be removed. */
static int
storage_go_through(int dir_fd, bool remove, unsigned *ret_left)
{
	int own = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	unsigned left = 0;
	struct dirent *e;

	if (dir == NULL) {
		fd_close(&own);
		return -1;
	}
	while ((e = readdir(dir)) != NULL)
		if (!name_is_dots(e->d_name) && strcmp(e->d_name, STORAGE_LOCK) != 0 &&
		    (!remove || entry_remove(dir_fd, e->d_name) < 0))
			left++;
	(void)closedir(dir);
	*ret_left = left;
	return 0;
}

/*
 * The lock goes last: whatever instant we are killed at, what is left has its mark, or is
 * empty.
 */
static int
storage_remove(int tmp_fd, const char *name, int dir_fd)
{
	unsigned left;

	if (storage_go_through(dir_fd, true, &left) < 0)
		return -1;
	if (left > 0) {
		errno = ENOTEMPTY;
		return -1;
	}
	if (unlinkat(dir_fd, STORAGE_LOCK, 0) < 0 && errno != ENOENT)
		return -1;
	return unlinkat(tmp_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -1 : 0;
}

/* --- what dead runs left --- */

static bool
name_is_ours(const char *name)
{
	char prefix[64];

	(void)snprintf(prefix, sizeof(prefix), STORAGE_PREFIX "%u-", (unsigned)geteuid());
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool
name_is_new(const char *name)
{
	size_t n = strlen(name), suffix = strlen(STORAGE_NEW);

	return n > suffix && strcmp(name + n - suffix, STORAGE_NEW) == 0;
}

static bool
stat_is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 0777) == 0700;
}

/* The lock file with our mark in it, and nobody's: its descriptor, else -1. */
static int
storage_take_dead(int dir_fd)
{
	char mark[sizeof(STORAGE_MARK)];
	struct stat st;
	int fd =
	    openat(dir_fd, STORAGE_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    pread(fd, mark, sizeof(mark), 0) == (ssize_t)sizeof(mark) - 1 &&
	    memcmp(mark, STORAGE_MARK, sizeof(mark) - 1) == 0 && lock_take(fd) == 1)
		return fd;
	fd_close(&fd);
	return -1;
}

static bool
is_old(const struct stat *st)
{
	return time(NULL) - st->st_mtim.tv_sec > STORAGE_NEW_AGE_S;
}

static void
storage_sweep_one(int tmp_fd, const char *name, const struct stat *tmp)
{
	int fd = openat(tmp_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int lock = -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !stat_is_private(&st) ||
	    st.st_dev != tmp->st_dev || (name_is_new(name) && !is_old(&st)))
		goto out;
	lock = storage_take_dead(fd);
	if (lock >= 0)
		(void)storage_remove(tmp_fd, name, fd);
	else
		/* With no lock yet, or no more, it is empty, or not ours. */
		(void)unlinkat(tmp_fd, name, AT_REMOVEDIR);
out:
	fd_close(&lock);
	fd_close(&fd);
}

static void
storage_sweep(int tmp_fd)
{
	int own = openat(tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct dirent *e;
	struct stat tmp;

	if (dir == NULL || fstat(tmp_fd, &tmp) < 0) {
		if (dir == NULL)
			fd_close(&own);
		else
			(void)closedir(dir);
		return;
	}
	while ((e = readdir(dir)) != NULL)
		if (name_is_ours(e->d_name))
			storage_sweep_one(tmp_fd, e->d_name, &tmp);
	(void)closedir(dir);
}

/* --- our own --- */

static int
storage_make(struct storage *s, char name[static 64])
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < STORAGE_TRIES; i++) {
		if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
			return -1;
		(void)snprintf(name, 64, STORAGE_PREFIX "%u-%08" PRIx32 STORAGE_NEW,
			       (unsigned)geteuid(), (uint32_t)n);
		if (mkdirat(s->tmp_fd, name, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* Its mode whatever the umask is; lock, mark, and only then its name. */
static int
storage_settle(struct storage *s, char name[static 64])
{
	char fresh[64];

	s->dir_fd =
	    openat(s->tmp_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir_fd < 0 || fchmod(s->dir_fd, 0700) < 0)
		return -1;
	s->lock_fd = openat(s->dir_fd, STORAGE_LOCK,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock_fd < 0 || lock_take(s->lock_fd) != 1 ||
	    fd_write(s->lock_fd, STORAGE_MARK, strlen(STORAGE_MARK)) < 0)
		return -1;
	(void)snprintf(fresh, sizeof(fresh), "%s", name);
	name[strlen(name) - strlen(STORAGE_NEW)] = '\0';
	return renameat(s->tmp_fd, fresh, s->tmp_fd, name);
}

int
storage_open(const char *tmp, struct storage *ret_storage, struct error *err)
{
	struct storage s = STORAGE_INIT;
	char name[64] = "";

	s.tmp_fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.tmp_fd < 0)
		return error_system(err, "TMPDIR: %s", tmp);
	storage_sweep(s.tmp_fd);
	if (storage_make(&s, name) < 0 || storage_settle(&s, name) < 0) {
		(void)error_system(err, "TMPDIR: %s: no room for copies", tmp);
		if (s.dir_fd >= 0)
			(void)storage_remove(s.tmp_fd, name, s.dir_fd);
		fd_close(&s.lock_fd);
		fd_close(&s.dir_fd);
		fd_close(&s.tmp_fd);
		return -1;
	}
	s.path = xasprintf("%s/%s", strcmp(tmp, "/") == 0 ? "" : tmp, name);
	*ret_storage = s;
	return 0;
}

int
storage_close(struct storage *s, struct error *err)
{
	int rc = 0;

	if (s->path != NULL &&
	    storage_remove(s->tmp_fd, strrchr(s->path, '/') + 1, s->dir_fd) < 0)
		rc = error_system(err, "%s: cannot be removed", s->path);
	free(s->path);
	fd_close(&s->lock_fd);
	fd_close(&s->dir_fd);
	fd_close(&s->tmp_fd);
	*s = (struct storage)STORAGE_INIT;
	return rc;
}

void
storage_leave(const struct storage *s)
{
	unsigned left;

	/* A directory that another one makes now keeps the rest from going. */
	if (storage_go_through(s->dir_fd, false, &left) == 0 && left == 0)
		(void)storage_remove(s->tmp_fd, strrchr(s->path, '/') + 1, s->dir_fd);
}
