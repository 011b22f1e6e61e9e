/* SPDX-License-Identifier: MIT */
/*
 * Paths: text of paths, relative to a root, with `/` between their parts.
 */
#ifndef SUPERVISOR_PROJECT_PATHS_H
#define SUPERVISOR_PROJECT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `path`, seen from the directory `from` ("" or "." the root), as seen from the root:
 * without `.`, `..` and doubled slashes; "" the root itself.  NULL where it leads out of
 * the root.  Freed by the caller.
 */
char *path_resolve(const char *from, const char *path);
/* Is the path the directory, or in it?  Both as path_resolve has them. */
bool path_is_within(const char *path, const char *dir);
/*
 * An absolute path as seen from the absolute directory `root`, both without links; "" the
 * root itself, NULL where it is outside.  Borrowed from `path`.
 */
const char *path_below(const char *root, const char *path);

#endif
