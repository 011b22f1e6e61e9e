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

enum {
	PLAN_JOBS_MAX = 100000
};

struct job {
	const struct step *step; /* borrowed from the config */
	char *id;		 /* `fast/2`, `full/4@1/2` */
	char *command;		 /* placeholders filled in */
};

enum node_kind {
	NODE_JOB,
	NODE_SEQUENCE, /* children one after another */
	NODE_GROUP,    /* children at once */
};

struct node {
	enum node_kind kind;
	size_t job; /* NODE_JOB: index in plan.jobs */
	struct node *children;
	size_t nchildren;
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
 * Resolve a tier: names inlined, repeats left out, shards made.  `only` NULL, or
 * an id (`fast/2` all of its jobs, `full/4@1/2` one) that the plan is narrowed to;
 * one that the tier does not have is refused, the nearest named.
 */
int plan_build(const struct config *c, const struct tier *t, const char *only,
	       struct plan *ret_plan, struct error *err);
void plan_release(struct plan *p);

#endif
