/* SPDX-License-Identifier: MIT */
/*
 * Cache: directories that a copy is better without.
 */
#ifndef SUPERVISOR_PROVE_CACHE_H
#define SUPERVISOR_PROVE_CACHE_H

#include <stdbool.h>

/*
 * Does the directory `name` of `parent_fd` (which is `dir` of the tree) say of itself
 * that it can be made anew (CACHEDIR.TAG), or that it works only where it is
 * (CMakeCache.txt), and is it ignored by git and without a tracked file?  Where that
 * cannot be told: no. Git is asked only about those that have such a file.
 */
bool cache_is_skipped(const char *root, const char *dir, int parent_fd, const char *name);

#endif
