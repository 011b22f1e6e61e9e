/* SPDX-License-Identifier: MIT */
#include "worker/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"

/* How far from an edge a line's end is looked for, so that a long line costs no more. */
enum {
	LOG_CUT_BYTES = 65536
};

void
log_init(struct log *l, int dir_fd, const char *name)
{
	*l = (struct log){ .dir_fd = dir_fd, .name = name, .fd = -1 };
	l->ring = xmalloc(LOG_HALF_BYTES);
	/* An earlier attempt's log must not pass for this one's. */
	if (dir_fd >= 0)
		(void)unlinkat(dir_fd, name, 0);
}

char *
log_space(struct log *l, size_t *ret_size)
{
	*ret_size = LOG_HALF_BYTES - l->at;
	return l->ring + l->at;
}

/* From the first failure on nothing is written; log_finish takes the rest away. */
static void
log_fail(struct log *l)
{
	if (l->errnum == 0)
		l->errnum = errno;
}

/* What has the name is an earlier attempt's, or stands in the way: it goes. */
static void
log_open(struct log *l)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;

	if (l->fd >= 0 || l->dir_fd < 0 || l->errnum != 0)
		return;
	l->fd = openat(l->dir_fd, l->name, flags, 0666);
	if (l->fd < 0 && errno == EEXIST && unlinkat(l->dir_fd, l->name, 0) == 0)
		l->fd = openat(l->dir_fd, l->name, flags, 0666);
	if (l->fd < 0)
		log_fail(l);
}

static void
log_write(struct log *l, const void *bytes, size_t n)
{
	if (l->dir_fd < 0)
		return;
	log_open(l);
	if (l->errnum == 0 && n > 0 && fd_write(l->fd, bytes, n) < 0)
		log_fail(l);
}

void
log_advance(struct log *l, size_t n)
{
	if (l->total < LOG_HALF_BYTES) {
		size_t room = LOG_HALF_BYTES - (size_t)l->total;

		log_write(l, l->ring + l->at, n < room ? n : room);
	}
	l->total += n;
	l->at = (l->at + n) % LOG_HALF_BYTES;
}

/* Write the last n bytes of the ring. */
static void
log_write_last(struct log *l, size_t n)
{
	size_t from = (l->at + LOG_HALF_BYTES - n) % LOG_HALF_BYTES;
	size_t first = n < LOG_HALF_BYTES - from ? n : LOG_HALF_BYTES - from;

	log_write(l, l->ring + from, first);
	log_write(l, l->ring, n - first);
}

/* Length of the head when it is cut after its last line; 0 where no line ends near its
 * end. */
static size_t
log_head_length(const struct log *l)
{
	char chunk[LOG_CUT_BYTES];
	off_t from = LOG_HALF_BYTES - LOG_CUT_BYTES;
	const char *nl;

	if (pread(l->fd, chunk, sizeof(chunk), from) != (ssize_t)sizeof(chunk))
		return 0;
	nl = memrchr(chunk, '\n', sizeof(chunk));
	return nl != NULL ? (size_t)from + (size_t)(nl - chunk) + 1 : 0;
}

/*
 * How much of the ring is kept when it is cut before its first whole line; all of it
 * where no line begins near its start.  The ring is full: its oldest byte is at l->at.
 */
static size_t
log_tail_length(const struct log *l)
{
	size_t i;

	for (i = 0; i < LOG_CUT_BYTES; i++)
		if (l->ring[(l->at + i) % LOG_HALF_BYTES] == '\n')
			return LOG_HALF_BYTES - i - 1;
	return LOG_HALF_BYTES;
}

static void
log_join(struct log *l)
{
	const char *lead = "";
	size_t head, tail;
	char note[80];
	int n;

	if (l->total <= LOG_HALF_BYTES)
		return;
	if (l->total <= LOG_BYTES_MAX) {
		log_write_last(l, (size_t)(l->total - LOG_HALF_BYTES));
		return;
	}
	if (l->fd < 0)
		return;
	head = log_head_length(l);
	if (head == 0) {
		head = LOG_HALF_BYTES;
		lead = "\n";
	}
	tail = log_tail_length(l);
	if (ftruncate(l->fd, (off_t)head) < 0 ||
	    lseek(l->fd, (off_t)head, SEEK_SET) < 0) {
		log_fail(l);
		return;
	}
	n = snprintf(note, sizeof(note), "%s[geonosis: %" PRIu64 " bytes dropped here]\n",
		     lead, l->total - head - tail);
	log_write(l, note, (size_t)n);
	log_write_last(l, tail);
}

int
log_finish(struct log *l, int keep)
{
	if (keep) {
		log_open(l);
		if (l->errnum == 0)
			log_join(l);
	}
	if (l->fd >= 0 && close(l->fd) < 0)
		log_fail(l);
	if ((!keep || l->errnum != 0) && l->fd >= 0)
		(void)unlinkat(l->dir_fd, l->name, 0);
	l->fd = -1;
	return l->errnum;
}

void
log_release(struct log *l)
{
	fd_close(&l->fd);
	free(l->ring);
	l->ring = NULL;
}
