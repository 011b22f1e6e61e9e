/* SPDX-License-Identifier: MIT */
#include "ipc/shm.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"

const char *
shm_name_default(char name[SHM_NAME_SIZE])
{
	(void)snprintf(name, SHM_NAME_SIZE, "/geonosis-%lu", (unsigned long)geteuid());
	return name;
}

int
shm_name_check(const char *name, struct error *err)
{
	const char *rest = name + (name[0] == '/');

	if (name[0] != '/' || rest[0] == '\0' || strchr(rest, '/') != NULL ||
	    strcmp(rest, ".") == 0 || strcmp(rest, "..") == 0 || strlen(rest) > 250)
		return error_set(err, ERROR_USAGE,
				 "segment '%.64s': must be / and a name of at most 250 "
				 "bytes without a further /",
				 name);
	return 0;
}

/* 0 when it is ours alone, 1 when it lost its name meanwhile. */
static int
shm_check(const char *name, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_system(err, "segment %s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_DATA,
				 "segment %s: not a regular file; remove it", name);
	if (st.st_uid != geteuid())
		return error_set(err, ERROR_DATA,
				 "segment %s: belongs to user %lu, not to %lu", name,
				 (unsigned long)st.st_uid, (unsigned long)geteuid());
	/* Whoever can read it can lock its bytes and so wedge us. */
	if ((st.st_mode & 07777) != 0600)
		return error_set(err, ERROR_DATA,
				 "segment %s: mode %04o, which must be 0600; remove it",
				 name, (unsigned)st.st_mode & 07777U);
	if (st.st_nlink > 1)
		return error_set(err, ERROR_DATA,
				 "segment %s: has %lu names, which must be one", name,
				 (unsigned long)st.st_nlink);
	return st.st_nlink == 0;
}

/* Where shm_open looks for names. */
#define SHM_PLACE "/dev/shm"

/* Why a name that is there cannot be opened. */
static int
shm_refusal(const char *name, struct error *err)
{
	/* Where the place itself is closed to us, nothing is known of the name. */
	if (errno == EACCES && faccessat(AT_FDCWD, SHM_PLACE, X_OK, AT_EACCESS) < 0)
		return error_system(err, "%s", SHM_PLACE);
	switch (errno) {
	case ELOOP:
		return error_set(err, ERROR_DATA,
				 "segment %s: a symbolic link is in its place; remove it",
				 name);
	case EISDIR:
	case EINVAL: /* glibc's word for it, the name being a possible one */
		return error_set(err, ERROR_DATA,
				 "segment %s: a directory is in its place; remove it",
				 name);
	case EACCES:
	case EPERM:
		return error_set(err, ERROR_DATA,
				 "segment %s: belongs to somebody else, or has other "
				 "permissions than 0600",
				 name);
	default:
		return error_system(err, "segment %s", name);
	}
}

/* A new one: 0600 whatever the umask.  -1 with errno. */
static int
shm_create(const char *name)
{
	/* Not by fchmod: nobody is to see it with another mode. */
	mode_t mask = umask(0077);
	int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);

	(void)umask(mask);
	return fd;
}

int
shm_attach(const char *name, bool make, int *ret_fd, struct error *err)
{
	int gone;
	int fd;

	if (shm_name_check(name, err) < 0)
		return -1;
	/*
	 * Not in one call: O_CREAT on what somebody else planted in a sticky directory
	 * fails with a less telling errno.  Whoever unlinks it under us, or makes it
	 * before us, sends us round again.
	 */
	for (int i = 0; i < 100; i++) {
		fd = shm_open(name, O_RDWR, 0);
		if (fd < 0 && errno == ENOENT) {
			if (!make)
				return 0;
			fd = shm_create(name);
			if (fd < 0 && errno == EEXIST)
				continue;
			/* None of ours can be made there: no fault of what is there. */
			if (fd < 0 && errno == EACCES)
				return error_system(err, "%s", SHM_PLACE);
		}
		if (fd < 0)
			return shm_refusal(name, err);
		gone = shm_check(name, fd, err);
		if (gone == 0) {
			*ret_fd = fd;
			return 1;
		}
		fd_close(&fd);
		if (gone < 0)
			return -1;
	}
	return error_set(err, ERROR_DATA, "segment %s: is removed again and again", name);
}

int
shm_private(int *ret_fd, struct error *err)
{
	int fd = memfd_create("geonosis-slots", MFD_CLOEXEC);

	if (fd < 0)
		return error_system(err, "memory of our own for slots");
	*ret_fd = fd;
	return 0;
}

uint64_t
shm_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

int
shm_reopen(const char *name, int fd, uint64_t inode)
{
	char path[64];
	int other;

	if (name == NULL) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		return open(path, O_RDWR | O_CLOEXEC);
	}
	other = shm_open(name, O_RDWR, 0);
	if (other < 0) {
		if (errno == ENOENT || errno == ELOOP || errno == EACCES)
			errno = ESTALE;
		return -1;
	}
	/* One file system: the inode is enough. */
	if (shm_inode(other) != inode) {
		fd_close(&other);
		errno = ESTALE;
	}
	return other;
}

bool
shm_is_unlinked(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_nlink == 0;
}

static int
shm_lock_as(int fd, short type, int64_t at, int64_t nbytes, int command,
	    struct flock *ret_lock)
{
	*ret_lock = (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = SHM_LOCK_BASE + at,
		.l_len = nbytes,
	};
	return fcntl(fd, command, ret_lock);
}

static int
shm_lock_try(int fd, short type, int64_t at)
{
	struct flock lock;
	int rc = shm_lock_as(fd, type, at, 1, F_OFD_SETLK, &lock);

	if (rc < 0 && errno == EACCES)
		errno = EAGAIN;
	return rc;
}

int
shm_lock(int fd, int64_t at)
{
	return shm_lock_try(fd, F_WRLCK, at);
}

int
shm_lock_shared(int fd, int64_t at)
{
	return shm_lock_try(fd, F_RDLCK, at);
}

void
shm_unlock(int fd, int64_t at)
{
	(void)shm_lock_try(fd, F_UNLCK, at);
}

bool
shm_is_locked(int fd, int64_t at, int64_t nbytes)
{
	struct flock lock;

	/* What cannot be asked counts as alive: never give away what may be held. */
	return shm_lock_as(fd, F_WRLCK, at, nbytes, F_OFD_GETLK, &lock) < 0 ||
	       lock.l_type != F_UNLCK;
}

int
shm_lock_patient(int fd, int64_t at, int patience_ms)
{
	struct timespec pause = { 0, 5000 };
	int64_t deadline = -1;

	for (int i = 0;; i++) {
		if (shm_lock(fd, at) == 0)
			return 0;
		if (errno != EAGAIN)
			return -1;
		if (deadline < 0)
			deadline = clock_now_ms() + patience_ms;
		else if (clock_now_ms() >= deadline)
			break;
		/* The lock is held for microseconds: yield first, then sleep. */
		if (i < 4) {
			(void)sched_yield();
			continue;
		}
		(void)nanosleep(&pause, NULL);
		if (pause.tv_nsec < 200000)
			pause.tv_nsec *= 2;
	}
	errno = EAGAIN;
	return -1;
}

/* Which of the bytes does this fdinfo tell of as locked? */
static void
shm_fdinfo_locks(const char *path, int64_t at, size_t n, bool held[])
{
	FILE *f = fopen(path, "re");
	char line[512];
	int64_t first, last;

	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		/* lock: 1: OFDLCK ADVISORY WRITE <pid> <device>:<inode> <first> <last> */
		if (sscanf(line, "lock: %*s %*s %*s %*s %*s %*s %" SCNd64 " %" SCNd64,
			   &first, &last) != 2)
			continue;
		first -= SHM_LOCK_BASE + at;
		if (first >= 0 && (uint64_t)first < n)
			held[first] = true;
	}
	(void)fclose(f);
}

void
shm_process_locks(int fd, int32_t pid, int64_t at, size_t n, bool held[])
{
	struct stat file, st;
	struct dirent *d;
	char path[600];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId32 "/fd", pid);
	dir = fstat(fd, &file) < 0 ? NULL : opendir(path);
	if (dir == NULL)
		return;
	while ((d = readdir(dir)) != NULL) {
		if (fstatat(dirfd(dir), d->d_name, &st, 0) < 0 ||
		    st.st_ino != file.st_ino || st.st_dev != file.st_dev)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%" PRId32 "/fdinfo/%s", pid,
			       d->d_name);
		shm_fdinfo_locks(path, at, n, held);
	}
	(void)closedir(dir);
}

int32_t
shm_lock_owner(int fd, int64_t at)
{
	struct dirent *d;
	bool is_owner = false;
	int32_t pid = 0;
	DIR *dir = opendir("/proc");

	if (dir == NULL)
		return 0;
	while (!is_owner && (d = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		pid = (int32_t)strtol(d->d_name, NULL, 10);
		shm_process_locks(fd, pid, at, 1, &is_owner);
	}
	(void)closedir(dir);
	return is_owner ? pid : 0;
}
