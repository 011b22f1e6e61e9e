/* SPDX-License-Identifier: MIT */
/*
 * Cuts: which changed paths are no more than what a version cut writes.
 */
#ifndef SUPERVISOR_PLAN_CUTS_H
#define SUPERVISOR_PLAN_CUTS_H

#include <stddef.h>

#include "git/repository.h"
#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/project/affected.h"

/*
 * Set `is_cut` of each change that is one against every commit (hex) it is held against.
 * What cannot be read, has another mode or is no regular file on both sides is a change.
 */
int cuts_find(const struct repository *r, const char *subdir, const char *const *commits,
	      size_t ncommits, const struct string_list *version_files,
	      struct change *changes, size_t nchanges, struct error *err);

#endif
