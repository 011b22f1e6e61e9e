/* SPDX-License-Identifier: MIT */
/*
 * Storage: the directory under TMPDIR that holds the copies of one run.
 *
 * Its name tells whose it is, and a file in it, locked as long as a process of its run
 * lives, tells whether anybody still needs it.  So the next run removes what a killed
 * one left, and never what is in use, or what only looks like one.
 */
#ifndef SUPERVISOR_PROVE_STORAGE_H
#define SUPERVISOR_PROVE_STORAGE_H

#include "ipc/error.h"

/* `geonosis-copies-<uid>-…`: directories of this name in TMPDIR are no part of a tree. */
#define STORAGE_PREFIX "geonosis-copies-"

struct storage {
	char *path; /* absolute, without links */
	int tmp_fd; /* of the directory that it lies in */
	int dir_fd;
	int lock_fd; /* whoever has a copy of it keeps the storage from being removed */
};

#define STORAGE_INIT                                       \
	{                                                  \
		.tmp_fd = -1, .dir_fd = -1, .lock_fd = -1, \
	}

/* Remove what dead runs left in `tmp`, and make one of our own there. */
int storage_open(const char *tmp, struct storage *ret_storage, struct error *err);
/* Remove it with all that is in it: 0; -1 with *err where something stays. */
int storage_close(struct storage *s, struct error *err);
/*
 * The run is gone, and the caller, a child of it, has removed what it had there: remove
 * the storage where it was the last one.
 */
void storage_leave(const struct storage *s);

#endif
