/* SPDX-License-Identifier: MIT */
/*
 * Plan: what a run is to do, frozen before it starts: a tree of sequences and
 * groups over jobs.  A job is a step, or one of its shards or workspaces.
 */
#ifndef SUPERVISOR_PLAN_PLAN_H
#define SUPERVISOR_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/plan/scope.h"

enum {
	PLAN_JOBS_MAX = 100000
};

struct job {
	const struct step *step; /* borrowed from the config */
	char *id;		 /* `fast/2`, `full/4@1/2`, `fast/3@packages/a` */
	char *command;		 /* placeholders filled in */
	const char *workspace;	 /* it runs for, borrowed from the scope; or NULL */
	const char *why;	 /* that workspace is selected, borrowed; NULL: all are */
	char *nothing;		 /* why there is nothing to run, or NULL */
	size_t *needs;		 /* jobs of its own step that must have ended before */
	size_t nneeds;
};

enum node_kind {
	NODE_JOB,
	NODE_SEQUENCE, /* children one after another */
	NODE_GROUP,    /* children at once */
	/*
	 * A tier that is met again: it runs once, at its first place, and here is waited
	 * for.  That place is always before this one in plan order, so no two can wait
	 * for each other.
	 */
	NODE_WAIT,
};

struct node {
	enum node_kind kind;
	size_t job; /* NODE_JOB: index in plan.jobs */
	struct node *children;
	size_t nchildren;
	/* One more than the index in config.tiers: of a NODE_SEQUENCE, the tier that it
	 * is; of a NODE_WAIT, the one that is waited for.  0: none. */
	size_t tier;
};

/* A tier's name that was met again, where its steps had been planned already. */
struct plan_repeat {
	const struct tier *tier;
	const struct tier *in; /* the tier whose list names it again */
};

struct plan {
	const struct config *config; /* borrowed */
	const struct tier *tier;     /* the tier that is run */
	struct job *jobs;	     /* in plan order */
	size_t njobs;
	struct node root;
	struct plan_repeat *repeats;
	size_t nrepeats;
};

#define PLAN_INIT \
	{         \
		0 \
	}

/*
 * Resolve a tier: names inlined, repeats left out, shards and workspaces made, the latter
 * as the scope has them (borrowed as long as the plan).  `only` NULL, or an id (`fast/2`
 * all of its jobs, `full/4@1/2` one) that the plan is narrowed to; one that the tier does
 * not have is refused, the nearest named.
 */
int plan_build(const struct config *c, const struct tier *t, const struct scope *scope,
	       const char *only, struct plan *ret_plan, struct error *err);
/* Does the tier, or one that it names, have a step that runs per workspace? */
bool plan_has_workspace_steps(const struct config *c, const struct tier *t);
void plan_release(struct plan *p);

#endif
