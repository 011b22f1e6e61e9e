/* SPDX-License-Identifier: MIT */
/*
 * Reach: whether a path in the file stays within the repository.
 */
#ifndef SUPERVISOR_CONFIG_REACH_H
#define SUPERVISOR_CONFIG_REACH_H

#include <stdbool.h>

/*
 * Does the path, as written, lead out of the repository that `dir` is in?  Where
 * there is none, or `dir` is NULL, out of the directory.  Absolute paths do.
 */
bool reach_is_outside(const char *dir, const char *path);

#endif
