/* SPDX-License-Identifier: MIT */
/*
 * Log: a step's output on disk, byte for byte, in bounded space.
 *
 * The output is read straight into a ring that always holds its last half of the
 * limit; what fits in the first half goes to the file as it comes, so that the file
 * can be followed while the step runs.  At the end the two are joined; where bytes were
 * dropped between them a line of its own says how many, and both sides are cut
 * at a line's end where they have one.
 */
#ifndef WORKER_LOG_H
#define WORKER_LOG_H

#include <stddef.h>
#include <stdint.h>

enum {
	LOG_BYTES_MAX = 4194304,
	LOG_HALF_BYTES = LOG_BYTES_MAX / 2,
};

struct log {
	int dir_fd;	  /* directory, borrowed; -1: keep no file */
	const char *name; /* file in it, borrowed */
	int fd;		  /* the file, -1 until the first byte */
	int errnum;	  /* why the file could not be kept, 0: it could */
	char *ring;	  /* LOG_HALF_BYTES */
	size_t at;	  /* where the next byte goes in the ring */
	uint64_t total;	  /* bytes seen */
};

/*
 * Start a log.  Its file is made when the first byte comes, in place of one of that name.
 */
void log_init(struct log *l, int dir_fd, const char *name);
/* Room to read the next bytes into: *ret_size is at least 1. */
char *log_space(struct log *l, size_t *ret_size);
/* So many bytes were put into the space.  A failure is kept in errnum. */
void log_advance(struct log *l, size_t n);
/*
 * The output is over: finish the file, or remove it (keep false).  Returns 0, or
 * the errno that kept the log from being whole; then no file is left.
 */
int log_finish(struct log *l, int keep);
void log_release(struct log *l);

#endif
