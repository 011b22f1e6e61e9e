/* SPDX-License-Identifier: MIT */
/*
 * Threads take directories from a stack.  Whoever has one makes all of its entries, the
 * directories in it empty, which it puts on the stack, and then gives it its mode and
 * times: nothing is written to it after that.
 */
#include "supervisor/prove/portable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/cache.h"
#include "supervisor/prove/storage.h"

enum {
	PORTABLE_THREADS_MAX = 8,
	/* Smaller files go through memory: one call less to fail on each file system. */
	PORTABLE_SMALL = 65536,
};

struct portable {
	const struct ground *ground;
	const char *to;
	int from_fd;
	int to_fd;
	pthread_mutex_t lock;
	pthread_cond_t more;
	char **stack; /* directories to be filled, from the root; "" is that itself */
	size_t nstack;
	size_t room;
	unsigned busy; /* threads that may put more on the stack */
	bool failed;
	struct error error;
	atomic_bool no_clone; /* this file system has no reflinks */
};

/* A directory that is being filled. */
struct filling {
	struct portable *portable;
	const char *path; /* from the root, "" for that itself */
	int from_fd;
	int to_fd;
	char *chunk; /* PORTABLE_SMALL */
};

/* --- links --- */

/* Where the path leads by its text alone: absolute, no `.`, no `..`. */
static char *
path_normalize(const char *path)
{
	struct buf b = BUF_INIT;

	while (*path != '\0') {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 2 && strncmp(path, "..", 2) == 0) {
			while (b.len > 0 && b.data[--b.len] != '/')
				;
		} else if (n > 0 && !(n == 1 && *path == '.')) {
			buf_putc(&b, '/');
			buf_append(&b, path, n);
		}
		path += n;
	}
	if (b.len == 0)
		buf_putc(&b, '/');
	b.data[b.len] = '\0';
	return buf_steal(&b);
}

char *
portable_link(const char *root, const char *to, const char *dir, const char *target)
{
	bool is_absolute = target[0] == '/';
	char *whole =
	    is_absolute ? xstrdup(target) : xasprintf("%s/%s/%s", root, dir, target);
	char *leads = path_normalize(whole);
	bool is_inside = path_lies_in(leads, root);
	char *link = NULL;

	if (is_absolute && is_inside)
		link = xasprintf("%s%s", to, leads + strlen(root));
	else if (!is_absolute && !is_inside)
		link = xstrdup(leads);
	free(leads);
	free(whole);
	return link;
}

/* --- files --- */

static int
filling_fail(const struct filling *f, const char *name, const char *what)
{
	struct portable *p = f->portable;
	int errnum = errno;

	(void)pthread_mutex_lock(&p->lock);
	if (!p->failed) {
		p->failed = true;
		errno = errnum;
		(void)error_system(&p->error, "copy: %s%s%s%s", f->path,
				   *f->path != '\0' ? "/" : "", name, what);
	}
	(void)pthread_cond_broadcast(&p->more);
	(void)pthread_mutex_unlock(&p->lock);
	return -1;
}

/* Root keeps the owner; for others it is themselves.  One that a namespace does not know
 * cannot be kept. */
static void
owner_keep(int fd, const struct stat *st)
{
	if (geteuid() == 0 && (st->st_uid != 0 || st->st_gid != getegid()) &&
	    fchown(fd, st->st_uid, st->st_gid) < 0)
		return;
}

static int
bytes_copy_small(const struct filling *f, int from, int to)
{
	ssize_t n;

	while ((n = read(from, f->chunk, PORTABLE_SMALL)) > 0)
		if (fd_write(to, f->chunk, (size_t)n) < 0)
			return -1;
	return n < 0 ? -1 : 0;
}

/* Holes stay holes: data by data. */
static int
bytes_copy_large(const struct filling *f, int from, int to, off_t size)
{
	off_t at = 0, end;

	while (at < size) {
		at = lseek(from, at, SEEK_DATA);
		if (at < 0)
			break;
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -1;
		while (at < end) {
			loff_t in = at, out = at;
			ssize_t n =
			    copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);

			if (n <= 0) {
				/* Not between these file systems: through memory. */
				if (lseek(from, 0, SEEK_SET) < 0 ||
				    lseek(to, 0, SEEK_SET) < 0)
					return -1;
				return n < 0 && errno == ENOSPC
					   ? -1
					   : bytes_copy_small(f, from, to);
			}
			at += n;
		}
	}
	return at < 0 && errno != ENXIO ? -1 : ftruncate(to, size);
}

static int
bytes_copy(const struct filling *f, int from, int to, const struct stat *st)
{
	struct portable *p = f->portable;

	if (st->st_size == 0)
		return 0;
	if (!atomic_load_explicit(&p->no_clone, memory_order_relaxed)) {
		if (ioctl(to, FICLONE, from) == 0)
			return 0;
		if (errno == ENOSPC)
			return -1;
		atomic_store_explicit(&p->no_clone, true, memory_order_relaxed);
	}
	if (st->st_size <= PORTABLE_SMALL)
		return bytes_copy_small(f, from, to);
	return bytes_copy_large(f, from, to, st->st_size);
}

static int
filling_copy_file(const struct filling *f, const char *name)
{
	int from =
	    openat(f->from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct timespec times[2];
	struct stat st = { 0 };
	int to, rc = -1;

	/* Gone meanwhile. */
	if (from < 0 && errno == ENOENT)
		return 0;
	/* What we may not read no step of ours can: it is there, and no more. */
	if (from < 0 && errno != EACCES)
		return filling_fail(f, name, "");
	if (from < 0 ? fstatat(f->from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		     : fstat(from, &st) < 0) {
		fd_close(&from);
		return filling_fail(f, name, "");
	}
	to = openat(f->to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (to >= 0 && (from < 0 || bytes_copy(f, from, to, &st) == 0)) {
		owner_keep(to, &st);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		if (fchmod(to, st.st_mode & 07777) == 0 && futimens(to, times) == 0)
			rc = 0;
	}
	if (rc < 0)
		(void)filling_fail(f, name, "");
	fd_close(&to);
	fd_close(&from);
	return rc;
}

static int
filling_copy_link(const struct filling *f, const char *name)
{
	const struct portable *p = f->portable;
	char target[PATH_MAX];
	ssize_t n = readlinkat(f->from_fd, name, target, sizeof(target) - 1);
	char *link;
	int rc;

	if (n < 0)
		return errno == ENOENT ? 0 : filling_fail(f, name, "");
	target[n] = '\0';
	link = portable_link(p->ground->root, p->to, f->path, target);
	rc = symlinkat(link != NULL ? link : target, f->to_fd, name);
	free(link);
	return rc < 0 ? filling_fail(f, name, "") : 0;
}

/* --- directories --- */

static char *
path_join(const char *dir, const char *name)
{
	return *dir == '\0' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
}

/* Takes the path. */
static void
portable_push(struct portable *p, char *path)
{
	(void)pthread_mutex_lock(&p->lock);
	p->stack = xgrow(p->stack, p->nstack + 1, &p->room, sizeof(*p->stack));
	p->stack[p->nstack++] = path;
	(void)pthread_cond_signal(&p->more);
	(void)pthread_mutex_unlock(&p->lock);
}

static bool
directory_is_left_out(const struct filling *f, const char *name)
{
	if (strcmp(name, ".geonosis") == 0 ||
	    strncmp(name, STORAGE_PREFIX, strlen(STORAGE_PREFIX)) == 0)
		return true;
	if (*f->path == '\0' && strcmp(name, ".git") == 0)
		return true;
	return f->portable->ground->git_dir != NULL &&
	       cache_is_skipped(f->portable->ground->root, f->path, f->from_fd, name);
}

static int
filling_copy_directory(const struct filling *f, const char *name)
{
	if (directory_is_left_out(f, name))
		return 0;
	if (mkdirat(f->to_fd, name, 0700) < 0)
		return filling_fail(f, name, "");
	portable_push(f->portable, path_join(f->path, name));
	return 0;
}

static int
filling_copy_entry(const struct filling *f, const struct dirent *e)
{
	unsigned char type = e->d_type;
	struct stat st;

	if (type == DT_UNKNOWN || type == DT_FIFO) {
		if (fstatat(f->from_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		type = (unsigned char)IFTODT(st.st_mode);
	}
	if (type == DT_DIR)
		return filling_copy_directory(f, e->d_name);
	if (strcmp(e->d_name, ".git") == 0)
		return 0;
	if (type == DT_REG)
		return filling_copy_file(f, e->d_name);
	if (type == DT_LNK)
		return filling_copy_link(f, e->d_name);
	if (type == DT_FIFO && mkfifoat(f->to_fd, e->d_name, st.st_mode & 07777) < 0)
		return filling_fail(f, e->d_name, "");
	return 0;
}

static bool
portable_has_failed(struct portable *p)
{
	bool failed;

	(void)pthread_mutex_lock(&p->lock);
	failed = p->failed;
	(void)pthread_mutex_unlock(&p->lock);
	return failed;
}

static int
filling_copy_entries(const struct filling *f)
{
	int own = openat(f->from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct dirent *e;
	int rc = 0;

	if (dir == NULL) {
		fd_close(&own);
		return filling_fail(f, ".", "");
	}
	while (rc == 0 && (e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = filling_copy_entry(f, e);
	(void)closedir(dir);
	return rc;
}

static void
portable_fill(struct portable *p, const char *path, char *chunk)
{
	const char *name = *path == '\0' ? "." : path;
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct filling f = {
		.portable = p,
		.path = path,
		.from_fd = openat(p->from_fd, name, flags),
		.to_fd = openat(p->to_fd, name, flags),
		.chunk = chunk,
	};
	struct timespec times[2];
	struct stat st;

	if (f.to_fd < 0) {
		(void)filling_fail(&f, "", "");
	} else if (f.from_fd < 0) {
		/* Unreadable, or gone: it stays empty. */
		if (errno == EACCES)
			(void)fchmod(f.to_fd, 0);
		else if (errno != ENOENT)
			(void)filling_fail(&f, "", "");
	} else if (filling_copy_entries(&f) == 0 && fstat(f.from_fd, &st) == 0) {
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		owner_keep(f.to_fd, &st);
		(void)fchmod(f.to_fd, st.st_mode & 07777);
		(void)futimens(f.to_fd, times);
	}
	fd_close(&f.to_fd);
	fd_close(&f.from_fd);
}

/* --- threads --- */

/* The next directory, which the caller frees; NULL when all is done, or has failed. */
static char *
portable_pop(struct portable *p, bool was_busy)
{
	char *path = NULL;

	(void)pthread_mutex_lock(&p->lock);
	p->busy -= was_busy;
	while (p->nstack == 0 && p->busy > 0 && !p->failed)
		(void)pthread_cond_wait(&p->more, &p->lock);
	if (p->nstack > 0 && !p->failed) {
		path = p->stack[--p->nstack];
		p->busy++;
	} else {
		(void)pthread_cond_broadcast(&p->more);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return path;
}

static void *
portable_work(void *arg)
{
	struct portable *p = arg;
	char *chunk = xmalloc(PORTABLE_SMALL);
	bool was_busy = false;
	char *path;

	while ((path = portable_pop(p, was_busy)) != NULL) {
		portable_fill(p, path, chunk);
		free(path);
		was_busy = true;
	}
	free(chunk);
	return NULL;
}

static void
portable_run(struct portable *p)
{
	pthread_t threads[PORTABLE_THREADS_MAX];
	long ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t i, n = 0;

	/* This thread is one of them. */
	while ((long)n + 1 < ncpus && n < PORTABLE_THREADS_MAX &&
	       pthread_create(&threads[n], NULL, portable_work, p) == 0)
		n++;
	(void)portable_work(p);
	for (i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
}

int
portable_make(const struct ground *g, const char *to, struct error *err)
{
	struct portable p = {
		.ground = g,
		.to = to,
		.from_fd = open(g->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.to_fd = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
		.error = ERROR_INIT,
	};
	int rc = -1;

	if (p.from_fd < 0) {
		(void)error_system(err, "copy: %s", g->root);
		goto out;
	}
	if (mkdir(to, 0700) == 0)
		p.to_fd = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p.to_fd < 0) {
		(void)error_system(err, "copy: %s", to);
		goto out;
	}
	portable_push(&p, xstrdup(""));
	portable_run(&p);
	if (portable_has_failed(&p))
		*err = p.error;
	else
		rc = 0;
out:
	while (p.nstack > 0)
		free(p.stack[--p.nstack]);
	free(p.stack);
	fd_close(&p.to_fd);
	fd_close(&p.from_fd);
	return rc;
}
