/* SPDX-License-Identifier: MIT */
/*
 * Descriptors and files.  Every descriptor is close-on-exec from birth, lives
 * in exactly one place, and -1 is "none".
 */
#ifndef IPC_FD_H
#define IPC_FD_H

#include <stddef.h>
#include <sys/types.h>

#include "ipc/buf.h"
#include "ipc/error.h"

/* Close and set to -1; -1 is fine.  errno is kept. */
void fd_close(int *fd);
/* Write all of it, through short writes and EINTR.  0, or -1 with errno. */
int fd_write(int fd, const void *bytes, size_t n);
/*
 * Read a whole regular file of at most `max` bytes.  0; -1 with *err naming the
 * path (kind ERROR_SYSTEM with errnum ENOENT where there is none; ERROR_DATA
 * for one that is too large or no regular file).
 */
int file_read(const char *path, size_t max, struct buf *ret_content, struct error *err);
/*
 * Replace a file whole or not at all: temporary file beside it, fsync, rename.
 * Killed at any instant, the old content or the new stands.  The temporary file has a
 * name, `.geonosis-<random>.tmp`, only between two system calls (throughout, where the
 * file system makes none without one): killed then, it stays.  Mode 0644 less the umask,
 * or that of the file replaced.
 */
int file_save(const char *path, const void *bytes, size_t n, struct error *err);
/* mkdir -p. 0, or -1 with *err naming the component that is in the way. */
int dir_make(const char *path, struct error *err);

#endif
