/* SPDX-License-Identifier: MIT */
/*
 * Hidden changes: files that git takes for unchanged, through a filter or by
 * core.fileMode, and that are not on disk as they were for the run that moved a mark.
 */
#ifndef SUPERVISOR_PLAN_HIDDEN_H
#define SUPERVISOR_PLAN_HIDDEN_H

#include <stddef.h>

#include "git/changed.h"
#include "git/mark_parts.h"

/*
 * Add to what changed the files whose parts, MARK_PART_FILE before their path, differ or
 * are in one of the two only.
 */
void hidden_add(const struct mark_parts *before, const struct mark_parts *now,
		struct changed *changed);

#endif
