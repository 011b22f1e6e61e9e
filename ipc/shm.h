/* SPDX-License-Identifier: MIT */
/*
 * Shared memory: a named segment of this user, as a file that is read and
 * written, and locks on its bytes.
 *
 * It is not mapped: whoever may open the segment may truncate it, and a mapping of
 * a truncated file ends the process with SIGBUS; so does a hole in a full tmpfs.
 * pread and pwrite answer with a short count instead, cost half a microsecond
 * here, and a write within one page happens whole or, if we are killed, not at all.
 *
 * Locks are OFD locks: they belong to the open file description, exclude other
 * descriptions of the same process too, and are dropped by the kernel when the
 * last copy of the descriptor is closed, however its owner ends.
 */
#ifndef IPC_SHM_H
#define IPC_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"

enum {
	SHM_NAME_SIZE = 256
};

/* Locks lie far behind any data. */
#define SHM_LOCK_BASE ((int64_t)1 << 40)

/* The user's own segment, `/geonosis-<uid>`; returns `name`. */
const char *shm_name_default(char name[SHM_NAME_SIZE]);
/* ERROR_USAGE unless it is `/` and one path segment of at most 250 bytes. */
int shm_name_check(const char *name, struct error *err);

/*
 * Open the segment: 1, or 0 where there is none and `make` is false.  A new one
 * is empty, mode 0600.  ERROR_DATA, naming it, unless it is a regular file of ours
 * with that mode and that one name.
 */
int shm_attach(const char *name, bool make, int *ret_fd, struct error *err);
/* Memory without a name, for this process and its forks. */
int shm_private(int *ret_fd, struct error *err);
/*
 * Another description of the segment behind `fd`, whose inode that is, by its name
 * or, where that is NULL, through /proc.  -1 with errno; ESTALE: the name stands for
 * another by now.
 */
int shm_reopen(const char *name, int fd, uint64_t inode);
/* Its inode, 0 where that cannot be asked. */
uint64_t shm_inode(int fd);
/* The segment has lost its name: nobody new will come. */
bool shm_is_unlinked(int fd);

/* Lock byte SHM_LOCK_BASE + `at`: 0, or -1 with errno, EAGAIN when it is taken. */
int shm_lock(int fd, int64_t at);
/* The same, shared with others that do so. */
int shm_lock_shared(int fd, int64_t at);
void shm_unlock(int fd, int64_t at);
/*
 * Does another description hold a lock within those bytes?  One's own locks are
 * not seen, so this must not be asked of the description that holds them.
 */
bool shm_is_locked(int fd, int64_t at, int64_t nbytes);
/*
 * Lock, trying again for `patience_ms` with ever longer pauses.  0, or -1 with
 * errno EAGAIN when it was taken all the time.
 */
int shm_lock_patient(int fd, int64_t at, int patience_ms);
/*
 * A pid of our pid namespace whose description holds the lock on that byte, from
 * /proc; 0 where none can be seen.  Slow: for messages only.
 */
int32_t shm_lock_owner(int fd, int64_t at);
/*
 * Which of the `n` bytes from `at` on are locked by descriptions that the process has
 * descriptors of, from /proc; nothing is written where that cannot be seen.
 */
void shm_process_locks(int fd, int32_t pid, int64_t at, size_t n, bool held[]);

#endif
