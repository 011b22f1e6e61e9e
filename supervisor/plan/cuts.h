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

/* What is asked; everything is borrowed for the call. */
struct cuts_question {
	const struct repository *repository;
	const char *subdir;	    /* of the working directory in the tree */
	const char *const *commits; /* hex */
	size_t ncommits;
	const struct string_list *version_files;
	const char *const *paths; /* that changed, from the working directory */
	size_t npaths;
};

/*
 * Which of the changed paths are one against every commit that they are held against:
 * ret_is_cut has room for all.  What cannot be read, has another mode or is no regular
 * file on both sides is a change.
 */
int cuts_find(const struct cuts_question *q, bool *ret_is_cut, struct error *err);

#endif
