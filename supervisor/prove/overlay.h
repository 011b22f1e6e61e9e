/* SPDX-License-Identifier: MIT */
/*
 * Overlay: a copy that costs nothing until it is written to.  The kernel lays an empty
 * directory over the tree, at the tree's own path, so that absolute paths in builds and
 * installs hold; what is written goes to that directory.
 *
 * What is mounted below the tree has a layer of its own, or is read-only where it can
 * have none.
 */
#ifndef SUPERVISOR_PROVE_OVERLAY_H
#define SUPERVISOR_PROVE_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/prove/ground.h"
#include "supervisor/prove/space.h"

struct overlay_setup {
	const struct ground *ground;
	const char *store;	     /* a directory for the layers */
	const struct mounts *mounts; /* below the tree, as seen before */
};

/* Where the writes of layer n go: 0 is the tree's, n + 1 that of mounts.paths[n]. */
char *overlay_upper(const char *store, size_t n);
/*
 * In a process of one thread that is in no space yet.  1: it is in one now, in which the
 * copy lies over the tree; 0 where the kernel, the file system or the tree does not allow
 * it, *err says why; it may be in a space nonetheless (*ret_is_in); -1.
 *
 * The copy is in no repository, and has no `.geonosis` in the working directory.
 */
int overlay_make(const struct overlay_setup *s, bool *ret_is_in, bool *ret_is_user,
		 struct error *err);

#endif
