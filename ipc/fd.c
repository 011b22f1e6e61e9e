/* SPDX-License-Identifier: MIT */
#include "ipc/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/mem.h"

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

int
fd_write(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

static int
fd_read_all(int fd, const char *path, size_t max, struct buf *b, struct error *err)
{
	char chunk[65536];

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got == 0)
			return 0;
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return error_system(err, "%s", path);
		}
		if (b->len + (size_t)got > max)
			return error_set(err, ERROR_DATA, "%s: larger than %zu bytes",
					 path, max);
		buf_append(b, chunk, (size_t)got);
	}
}

int
file_read(const char *path, size_t max, struct buf *ret_content, struct error *err)
{
	struct buf b = BUF_INIT;
	struct stat st;
	int rc = -1;
	/* O_NONBLOCK: opening a fifo that nobody writes must not hang. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	/* A socket cannot even be opened. */
	if (fd < 0 && errno == ENXIO)
		return error_set(err, ERROR_DATA, "%s: not a regular file", path);
	if (fd < 0)
		return error_system(err, "%s", path);
	if (fstat(fd, &st) < 0) {
		(void)error_system(err, "%s", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		(void)error_set(err, ERROR_DATA, "%s: not a regular file", path);
		goto out;
	}
	if (fd_read_all(fd, path, max, &b, err) < 0)
		goto out;
	buf_release(ret_content);
	*ret_content = b;
	b = (struct buf)BUF_INIT;
	rc = 0;
out:
	buf_release(&b);
	fd_close(&fd);
	return rc;
}

/*
 * A name of its own beside the path, freed by the caller: random, since a pid is no
 * name across pid namespaces, and not made of the target's, which may be as long as names
 * can be.
 */
static char *
file_temp_name(const char *path)
{
	char *copy = xstrdup(path);
	uint64_t id = 0;
	char *temp;

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		id = (uint64_t)getpid();
	temp = xasprintf("%s/.geonosis-%016" PRIx64 ".tmp", dirname(copy), id);
	free(copy);
	return temp;
}

/*
 * A file without a name yet: killed before it has one, we leave nothing.  -1 where the
 * file system makes none.
 */
static int
file_open_nameless(const char *temp, mode_t mode)
{
	char *copy = xstrdup(temp);
	int fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	free(copy);
	return fd;
}

static int
file_name(int fd, const char *temp)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, temp, AT_SYMLINK_FOLLOW);
}

/* Write to a new file; `exact`: the mode is that of the file replaced, which the umask
 * does not touch. Takes the descriptor. */
static int
file_fill(int fd, const char *temp, bool is_nameless, mode_t exact, const void *bytes,
	  size_t n)
{
	int rc;

	/* A file system without modes is no reason to lose the content. */
	if (exact != 0)
		(void)fchmod(fd, exact);
	rc = fd_write(fd, bytes, n);
	if (rc == 0)
		rc = fsync(fd);
	if (rc == 0 && is_nameless)
		rc = file_name(fd, temp);
	if (rc == 0) {
		rc = close(fd);
		fd = -1;
	}
	fd_close(&fd);
	return rc;
}

/* A new file of that name, whole. */
static int
file_make(const char *temp, mode_t mode, bool exact, const void *bytes, size_t n)
{
	mode_t kept = exact ? mode : 0;
	int fd = file_open_nameless(temp, mode);

	if (fd >= 0 && file_fill(fd, temp, true, kept, bytes, n) == 0)
		return 0;
	/* Where none can be made, or none can be named (no /proc). */
	if (fd >= 0 && errno != ENOENT)
		return -1;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd >= 0 ? file_fill(fd, temp, false, kept, bytes, n) : -1;
}

int
file_save(const char *path, const void *bytes, size_t n, struct error *err)
{
	struct stat st;
	bool exact = stat(path, &st) == 0 && S_ISREG(st.st_mode);
	mode_t mode = exact ? st.st_mode & 0777 : 0644;
	char *temp = file_temp_name(path);
	int rc;

	rc = file_make(temp, mode, exact, bytes, n);
	if (rc == 0)
		rc = rename(temp, path);
	if (rc < 0) {
		(void)error_system(err, "%s", path);
		(void)unlink(temp);
	}
	free(temp);
	return rc;
}

int
dir_make(const char *path, struct error *err)
{
	char *p = xstrdup(path);
	char *s = p;
	struct stat st;
	int rc = 0;

	while (rc == 0 && *s != '\0') {
		char cut;

		s += strspn(s, "/");
		s += strcspn(s, "/");
		cut = *s;
		*s = '\0';
		if (mkdir(p, 0777) < 0 && errno != EEXIST)
			rc = error_system(err, "%s", p);
		else if (stat(p, &st) < 0)
			rc = error_system(err, "%s", p);
		else if (!S_ISDIR(st.st_mode))
			rc = error_set(err, ERROR_DATA, "%s: not a directory", p);
		*s = cut;
	}
	free(p);
	return rc;
}
