/* SPDX-License-Identifier: MIT */
/*
 * Lock: one holder at a time of a file, and a note that says who.
 *
 * An OFD lock: the kernel drops it when the holder dies.  The note only tells people;
 * it is untrusted, and of an earlier holder where the present one has not written yet.
 */
#ifndef IPC_LOCK_H
#define IPC_LOCK_H

#include <stddef.h>

#include "ipc/error.h"

enum {
	LOCK_NOTE_MAX = 256
};

/*
 * Open the file, made where it is missing; a link or anything that is no regular file
 * is refused.
 */
int lock_open(const char *path, int *ret_fd, struct error *err);
/* 1: it is ours until the descriptor is closed; 0: somebody has it; -1: *err. */
int lock_try(int fd, struct error *err);
/* Say who holds it: one line, at most LOCK_NOTE_MAX - 1 bytes. */
void lock_write_note(int fd, const char *note);
/* What the holder said, "" where it said nothing. */
void lock_read_note(int fd, char note[LOCK_NOTE_MAX]);

#endif
