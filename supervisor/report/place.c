/* SPDX-License-Identifier: MIT */
/*
 * A place is resolved to a target anew for each use: links are followed by hand,
 * since rename() replaces a link and not what it points to.  Links under /proc
 * (/dev/stdout leads there) name an open file and have no path to rename over: what
 * they lead to is written in place.
 */
#include "supervisor/report/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	LINKS_MAX = 40,		/* as the kernel's own bound */
	PROBE_BYTES = 4096,	/* what must at least fit */
	READER_WAIT_MS = 1000,	/* for somebody to open a fifo */
	READER_STALL_MS = 5000, /* for a reader to make room */
	READER_RETRY_MS = 10,
};

struct report_place {
	char *path;	  /* as given */
	char *dir;	  /* the target's directory, when it was opened */
	size_t dir_stood; /* length of the part of `dir` that stood before */
	bool written;
};

struct target {
	char *path;    /* no link any more, unless in_place */
	bool in_place; /* no regular file: written where it is */
};

static char *
path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

static bool
path_names_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	return *name != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Why a file of this type is no place for a report, or NULL. */
static const char *
mode_refusal(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "is a directory";
	case S_IFSOCK:
		return "is a socket";
	case S_IFBLK:
		return "is a block device";
	default:
		return NULL;
	}
}

static bool
link_is_magic(const char *path)
{
	char *dir = path_dir(path);
	struct statfs fs;
	bool magic = statfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;

	free(dir);
	return magic;
}

/* The path that a link holds, seen from where the link stands; NULL with errno. */
static char *
link_read(const char *path)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof(text) - 1);
	char *dir, *next;

	if (n < 0)
		return NULL;
	text[n] = '\0';
	if (text[0] == '/')
		return xstrdup(text);
	dir = path_dir(path);
	next = xasprintf("%s/%s", dir, text);
	free(dir);
	return next;
}

/*
 * One look at *path: 1 when it is the target, 0 when it was a link and *path is
 * now what it points to, -1 with *err.
 */
static int
target_step(const char *given, char **path, bool *in_place, struct error *err)
{
	struct stat st;
	char *next;

	if (!path_names_file(*path))
		return error_set(err, ERROR_USAGE, "report %s: names a directory", given);
	if (lstat(*path, &st) < 0) {
		*in_place = false;
		/* What is in the way of a missing directory, dir_make will name. */
		if (errno == ENOENT || errno == ENOTDIR)
			return 1;
		return error_system(err, "report %s", given);
	}
	*in_place = !S_ISREG(st.st_mode);
	if (S_ISLNK(st.st_mode) && !link_is_magic(*path)) {
		next = link_read(*path);
		if (next == NULL)
			return error_system(err, "report %s", given);
		free(*path);
		*path = next;
		return 0;
	}
	if (S_ISLNK(st.st_mode) && stat(*path, &st) < 0)
		return error_system(err, "report %s", given);
	if (mode_refusal(st.st_mode) != NULL)
		return error_set(err, ERROR_USAGE, "report %s: %s", given,
				 mode_refusal(st.st_mode));
	return 1;
}

static int
target_find(const char *given, struct target *ret_target, struct error *err)
{
	char *path = xstrdup(given);
	bool in_place = false;
	int links, rc = 0;

	for (links = 0; rc == 0 && links <= LINKS_MAX; links++)
		rc = target_step(given, &path, &in_place, err);
	if (rc == 0) {
		errno = ELOOP;
		rc = error_system(err, "report %s", given);
	}
	if (rc < 0) {
		free(path);
		return -1;
	}
	*ret_target = (struct target){ path, in_place };
	return 0;
}

/* ERROR_SYSTEM from errno, naming the path given and, where it is another, the
 * target. */
static int
target_error(const char *given, const struct target *t, struct error *err)
{
	if (strcmp(given, t->path) == 0)
		return error_system(err, "report %s", given);
	return error_system(err, "report %s: %s", given, t->path);
}

/*
 * A file that never shows in the directory where the file system can make one;
 * else a temporary file that is gone at once.  -1 with errno.
 */
static int
probe_open(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char *temp;

	/* EISDIR and ENOENT come from file systems or kernels that know no O_TMPFILE. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	temp = xasprintf("%s/.report-probe.%ld.tmp", dir, (long)getpid());
	(void)unlink(temp);
	fd = open(temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		(void)unlink(temp);
	free(temp);
	return fd;
}

/* Can a file of some bytes be made in the directory?  -1 with errno. */
static int
dir_probe(const char *dir)
{
	static const char bytes[PROBE_BYTES];
	int fd = probe_open(dir);
	int rc;

	if (fd < 0)
		return -1;
	rc = fd_write(fd, bytes, sizeof(bytes));
	if (rc == 0) {
		rc = close(fd);
		fd = -1;
	}
	fd_close(&fd);
	return rc;
}

/* A device or a fifo is not opened: that alone could end its reader. */
static int
target_probe(const char *given, const struct target *t, const char *dir,
	     struct error *err)
{
	int rc;

	if (t->in_place)
		rc = faccessat(AT_FDCWD, t->path, W_OK, AT_EACCESS);
	else
		rc = dir_probe(dir);
	return rc == 0 ? 0 : target_error(given, t, err);
}

/* How much of a directory's path is there. */
static size_t
dir_standing(const char *dir)
{
	char *p = xstrdup(dir);
	size_t n = strlen(p);
	struct stat st;

	while (n > 0 && lstat(p, &st) < 0 && errno == ENOENT) {
		while (n > 0 && p[n - 1] != '/')
			n--;
		while (n > 0 && p[n - 1] == '/')
			n--;
		p[n] = '\0';
	}
	free(p);
	return n;
}

/* Take away again, from the deepest, what dir_make made past `stood`; stops at one that
 * is not empty. */
static void
dir_unmake(char *dir, size_t stood)
{
	size_t n = strlen(dir);

	while (n > stood && rmdir(dir) == 0) {
		while (n > stood && dir[n - 1] != '/')
			n--;
		while (n > stood && dir[n - 1] == '/')
			n--;
		dir[n] = '\0';
	}
}

int
report_place_open(const char *path, struct report_place **ret_place, struct error *err)
{
	struct report_place *p = xcalloc(1, sizeof(*p));
	struct target t = { NULL, false };
	int rc = -1;

	p->path = xstrdup(path);
	if (target_find(path, &t, err) < 0)
		goto out;
	p->dir = path_dir(t.path);
	p->dir_stood = dir_standing(p->dir);
	if (!t.in_place && dir_make(p->dir, err) < 0) {
		(void)error_wrap(err, "report %s", path);
		goto out;
	}
	if (target_probe(path, &t, p->dir, err) < 0)
		goto out;
	*ret_place = p;
	p = NULL;
	rc = 0;
out:
	report_place_free(p);
	free(t.path);
	return rc;
}

/* A fifo's writing end, once somebody reads; -1 with errno (ENXIO: nobody came). */
static int
stream_open(const char *path)
{
	int64_t deadline = clock_now_ms() + READER_WAIT_MS;
	int fd;

	for (;;) {
		fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0 || errno != ENXIO || clock_now_ms() >= deadline)
			return fd;
		(void)poll(NULL, 0, READER_RETRY_MS);
	}
}

/* 0, or -1 with errno: ETIMEDOUT where the reader stands still. */
static int
stream_write(int fd, const char *bytes, size_t n)
{
	struct pollfd room = { fd, POLLOUT, 0 };

	while (n > 0) {
		ssize_t put = write(fd, bytes, n);

		if (put >= 0) {
			bytes += put;
			n -= (size_t)put;
		} else if (errno == EAGAIN) {
			if (poll(&room, 1, READER_STALL_MS) == 0) {
				errno = ETIMEDOUT;
				return -1;
			}
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

static int
target_stream(const char *given, const struct target *t, const char *bytes, size_t n,
	      struct error *err)
{
	int fd = stream_open(t->path);
	int rc;

	if (fd < 0 && errno == ENXIO)
		return error_set(err, ERROR_SYSTEM, "report %s: nobody reads it", given);
	if (fd < 0)
		return target_error(given, t, err);
	rc = stream_write(fd, bytes, n);
	if (rc == 0) {
		rc = close(fd);
		fd = -1;
	}
	if (rc < 0)
		(void)target_error(given, t, err);
	fd_close(&fd);
	return rc;
}

static int
target_replace(const char *given, const struct target *t, const char *bytes, size_t n,
	       struct error *err)
{
	if (file_save(t->path, bytes, n, err) == 0)
		return 0;
	errno = err->errnum;
	(void)target_error(given, t, err);
	if (err->errnum == ENOENT)
		return error_wrap(err, "the directory of the report has gone while the "
				       "steps ran (git clean, rm?); keep it, or give "
				       "--report a place that stays");
	return -1;
}

/* `stream`: whether this is the one report that a device or a fifo gets. */
static int
place_write(struct report_place *p, bool stream, const char *bytes, size_t n,
	    struct error *err)
{
	struct target t = { NULL, false };
	int rc = target_find(p->path, &t, err);

	if (rc < 0)
		return -1;
	if (!t.in_place)
		rc = target_replace(p->path, &t, bytes, n, err);
	else if (stream)
		rc = target_stream(p->path, &t, bytes, n, err);
	if (rc == 0)
		p->written = true;
	free(t.path);
	return rc;
}

int
report_place_begin(struct report_place *p, const char *bytes, size_t n, struct error *err)
{
	return place_write(p, false, bytes, n, err);
}

int
report_place_save(struct report_place *p, const char *bytes, size_t n, struct error *err)
{
	return place_write(p, true, bytes, n, err);
}

void
report_place_free(struct report_place *p)
{
	if (p == NULL)
		return;
	if (!p->written && p->dir != NULL)
		dir_unmake(p->dir, p->dir_stood);
	free(p->dir);
	free(p->path);
	free(p);
}
