/* SPDX-License-Identifier: MIT */
/*
 * Space: a mount namespace for the copy of one step, and what is read-only in it.
 *
 * Entered by root, else by way of a user namespace in which the user keeps the number
 * that it has.  It lasts as long as a process is in it or has its descriptor: mounts are
 * undone by the kernel, whatever becomes of us.
 */
#ifndef SUPERVISOR_PROVE_SPACE_H
#define SUPERVISOR_PROVE_SPACE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

/*
 * Put this process, which has one thread, into a mount namespace of its own in which
 * nothing that is mounted is seen outside.  *ret_is_user: by way of a user namespace.
 */
int space_enter(bool *ret_is_user, struct error *err);
/*
 * Make a directory read-only, with all that is mounted below it; but not `except` (NULL:
 * nothing), a directory inside it.
 */
int space_guard(const char *path, const char *except, struct error *err);

/* Where something is mounted below a directory: paths from it, parents first. */
struct mounts {
	char **paths;
	size_t npaths;
	size_t room;
};

#define MOUNTS_INIT        \
	{                  \
		NULL, 0, 0 \
	}

/* Reads /proc/self/mountinfo; fails where that cannot be read. */
int mounts_find(const char *dir, struct mounts *ret_mounts, struct error *err);
/* The same from its text. */
void mounts_parse(const char *text, const char *dir, struct mounts *ret_mounts);
void mounts_release(struct mounts *m);

#endif
