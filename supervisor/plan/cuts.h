/* SPDX-License-Identifier: MIT */
/*
 * Cuts: which changed paths are no more than what a version cut writes.
 */
#ifndef SUPERVISOR_PLAN_CUTS_H
#define SUPERVISOR_PLAN_CUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "git/repository.h"
#include "ipc/error.h"
#include "supervisor/config/config.h"

/*
 * Which of the changed paths (from the working directory) are one against every commit
 * (hex) that they are held against: ret_is_cut has room for all.  What cannot be read,
 * has another mode or is no regular file on both sides is a change.
 */
int cuts_find(const struct repository *r, const char *subdir, const char *const *commits,
	      size_t ncommits, const struct string_list *version_files,
	      const char *const *paths, size_t npaths, bool *ret_is_cut,
	      struct error *err);

#endif
