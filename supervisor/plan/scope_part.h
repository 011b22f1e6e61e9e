/* SPDX-License-Identifier: MIT */
/* What the files of the scope share: the search for it, on its way. */
#ifndef SUPERVISOR_PLAN_SCOPE_PART_H
#define SUPERVISOR_PLAN_SCOPE_PART_H

#include <stddef.h>

#include "git/digest.h"
#include "git/mark_parts.h"
#include "git/repository.h"
#include "ipc/error.h"
#include "supervisor/plan/aliases.h"
#include "supervisor/plan/scope.h"

struct finder {
	const struct scope_request *rq;
	struct scope *s;
	struct repository repository;
	char *subdir;
	/* What the tree is held against: the merge-base first, then the tip where that
	 * counts too. */
	char commits[2][DIGEST_HEX_SIZE];
	const char *commit_list[2];
	size_t ncommits;
	struct alias_list aliases; /* of the scope's changes, from where we are */
	/* What the run that moved the mark left beside it; 1 where it is known. */
	struct mark_parts parts;
	int known_parts;
	struct error *err;
};

/* All run; the first reason stands. */
void scope_run_all(struct scope *s, const char *reason);

/*
 * Leave out the workspaces that no change reaches.  What depended on a workspace by the
 * name that it had at either commit is reached.  Where a commit's workspaces cannot be
 * read nothing is left out, and the scope says why.
 */
int finder_narrow(struct finder *f);

#endif
