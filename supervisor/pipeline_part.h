/* SPDX-License-Identifier: MIT */
/*
 * What the pipeline's own files share: a verify on its way.  Private to them.
 */
#ifndef SUPERVISOR_PIPELINE_PART_H
#define SUPERVISOR_PIPELINE_PART_H

#include "ipc/signals.h"
#include "supervisor/green/key.h"
#include "supervisor/pipeline.h"
#include "supervisor/plan/scope.h"
#include "supervisor/report/place.h"
#include "supervisor/run/machine.h"
#include "supervisor/run/turn.h"

struct pipeline {
	const struct pipeline_request *request;
	const struct pipeline_observer *observer;
	struct config config;
	const struct tier *tier; /* in the config */
	struct key key;		 /* of the tree as it is before the run */
	struct scope scope;
	struct plan plan;
	bool is_planned; /* scope and plan are there, of the tree that the key is of */
	struct machine machine;
	struct jobs jobs;
	struct report report;
	struct report_place *place;
	char *report_path;
	struct signals signals;
	struct turn turn;
	struct slot *exclusive; /* the machine, while it is ours */
	struct result *results;
	struct pipeline_view view;
};

/* `WARN: <why>: <consequence>` */
void pipeline_warn(const struct pipeline *p, const char *text);

/* `job` SIZE_MAX: the run itself. */
void pipeline_tell_wait(const struct pipeline *p, size_t job, const char *reason);

/* --- pipeline_wait.c: what comes before the run --- */

/* Holds everything that a run writes. */
#define GEONOSIS_DIR ".geonosis"

/* Where the machine's slots are, and how many steps may go at once. */
int pipeline_sit(struct pipeline *p, struct error *err);
/* These two: 0, -1, or the signal that ended the wait. */
int pipeline_take_turn(struct pipeline *p, struct error *err);
int pipeline_take_machine(struct pipeline *p, struct error *err);

/* --- pipeline_green.c: the tree's key, the record, the mark --- */

/* The flags that matter to a verdict, as records and people read them. */
const char *pipeline_flags(const struct pipeline *p);
/* (Again.)  Without a key the run goes on: nothing is recorded or answered. */
void pipeline_compute_key(struct pipeline *p);
/* Is the tier green on this very tree, and may that answer this request? */
bool pipeline_is_green(const struct pipeline *p);
/* Answer from the record: 1, the report is there; 0: it has to be run; -1. */
int pipeline_replay(struct pipeline *p, struct error *err);
enum contradiction {
	CONTRADICTION_STEP, /* a step was red, which a run with other flags has too */
	CONTRADICTION_FLAG  /* what a flag of this run asks for was not there */
};

/*
 * Something was red on the tree that the key is of: a green that is recorded of it does
 * not stand, whatever becomes of this run.
 */
void pipeline_contradict(const struct pipeline *p, enum contradiction by);
/* After a run: record a green, move the mark. */
void pipeline_keep(struct pipeline *p, const struct run_outcome *o);

#endif
