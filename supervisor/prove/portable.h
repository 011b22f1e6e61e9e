/* SPDX-License-Identifier: MIT */
/*
 * Portable: a copy of the tree as a directory of its own, for where no overlay can be.
 *
 * Every file that a step may look at is copied, ignored ones and node_modules too (a
 * plant may write there), by reflink where the file system has it, by several threads.  A
 * link that leads into the tree by an absolute path leads into the copy; a relative one
 * that leads out of the tree still leads there.
 *
 * Left out: `.git` at the top, and any that is a file, since it leads to a repository
 * elsewhere; `.geonosis/`; ignored directories that say of themselves that they are a
 * cache (CACHEDIR.TAG) or are bound to their place (CMakeCache.txt); sockets and devices.
 */
#ifndef SUPERVISOR_PROVE_PORTABLE_H
#define SUPERVISOR_PROVE_PORTABLE_H

#include "ipc/error.h"
#include "supervisor/prove/ground.h"

/*
 * Copy the tree to `to`, which does not exist; its name is absolute and without links.
 * Starts threads, and ends them.  On failure what was made stays for the caller to
 * remove.
 */
int portable_make(const struct ground *g, const char *to, struct error *err);

/*
 * Where a link of the copy leads: the text for it, or NULL where it stays as it is.
 * `dir` is the directory it lies in, from the root; pure.
 */
char *portable_link(const char *root, const char *to, const char *dir,
		    const char *target);

#endif
