/* SPDX-License-Identifier: MIT */
/*
 * Reach: which workspaces what a plant changed reaches: those that it lies in, and those
 * that depend on them; all, where it lies in none.
 */
#ifndef SUPERVISOR_PROVE_REACH_H
#define SUPERVISOR_PROVE_REACH_H

#include <stdbool.h>

#include "ipc/error.h"
#include "supervisor/plan/scope.h"
#include "supervisor/prove/ground.h"
#include "supervisor/prove/manifest.h"

/* A path from the top of the tree as one from the working directory: `../x` above it. */
char *reach_path(const struct ground *g, const char *path);
/*
 * *ret_reached has one item a workspace that there is now, and is the caller's.  Of
 * scopes only workspaces and graph are read: `base` has those before the change.  The
 * changes are paths from the top of the tree.  A document is a change like any other
 * here: the step may be one that reads it.
 */
int reach_find(const struct ground *g, const struct scope *base, const struct scope *now,
	       const struct changes *c, bool **ret_reached, struct error *err);

#endif
