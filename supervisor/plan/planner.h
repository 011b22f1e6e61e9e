/* SPDX-License-Identifier: MIT */
/*
 * Planner: what the files of this folder share: a plan in the making.  Private to them.
 */
#ifndef SUPERVISOR_PLAN_PLANNER_H
#define SUPERVISOR_PLAN_PLANNER_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/plan/plan.h"

struct planner {
	struct plan *plan;
	const struct scope *scope;
	size_t jobs_room;
	size_t repeats_room;
	bool *is_planned; /* by tier */
	bool *has_jobs;	  /* by tier: some of its own place are in the plan */
	const char *only;
	size_t command_max; /* bytes that the kernel takes as one argument */
	struct error *err;
};

/* --- plan.c --- */

/* The new child stands until the next is added to the same parent. */
struct node *node_add(struct node *parent, enum node_kind kind);
/* A last child that is an empty sequence or group has nothing to run: it leaves. */
void node_drop_if_empty(struct node *parent);
/* `geonosis.json:3:5: verify.fast[2]<key>: <why>`; returns -1. */
int planner_refuse(struct planner *p, const struct step *s, const char *key,
		   const char *why);
/* Add a job, which is taken; one that --only does not name is dropped. */
int plan_job(struct planner *p, struct node *into, struct job *j);

/* --- spread.c: steps of more than one job --- */

int plan_shards(struct planner *p, const struct step *s, struct node *into);
int plan_workspaces(struct planner *p, const struct step *s, struct node *into);

#endif
