/* SPDX-License-Identifier: MIT */
/*
 * Base source: the files of a commit as a source of workspaces.
 */
#ifndef SUPERVISOR_PLAN_BASE_SOURCE_H
#define SUPERVISOR_PLAN_BASE_SOURCE_H

#include "git/snapshot.h"
#include "supervisor/project/source.h"

/* Borrows the snapshot for as long as the source is used. */
struct source source_of_snapshot(struct snapshot *s);

#endif
