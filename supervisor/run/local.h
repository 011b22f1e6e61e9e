/* SPDX-License-Identifier: MIT */
/*
 * Local engine: jobs as worker processes of this machine.
 */
#ifndef SUPERVISOR_RUN_LOCAL_H
#define SUPERVISOR_RUN_LOCAL_H

#include "ipc/error.h"
#include "supervisor/plan/plan.h"
#include "supervisor/run/engine.h"
#include "supervisor/run/environment.h"

struct local;

struct local_options {
	char *const *caller_env; /* what steps inherit from; borrowed for the call */
	const char *run_id;	 /* GEONOSIS_GATE_RUN; borrowed for the call */
	const char *run_chain;	 /* TURN_CHAIN_VARIABLE; borrowed for the call */
	const char *base;	 /* GEONOSIS_BASE, "" for none; borrowed for the call */
	const char
	    *changed_file;     /* GEONOSIS_CHANGED_FILES or NULL; borrowed for the call */
	const char *log_dir;   /* `.geonosis/logs/fast`; borrowed */
	int log_dir_fd;	       /* of it, borrowed; -1: it cannot be written */
	const char *log_error; /* why not; borrowed, NULL otherwise */
};

/*
 * Name of a job's log in the tier's log directory: `fast-1.log`,
 * `fast-2@packages%2Fa.log`.  Freed by the caller.
 */
char *local_log_name(const char *job_id);
/*
 * MAKEFLAGS for the jobserver that a worker makes of so many slots, as a make gives it to
 * those below: it takes the jobserver for its parent's.  A pipe, since make before 4.4
 * fails at a fifo, and those after it take either.
 */
void local_offer_jobserver(struct environment *e, unsigned slots);

/* The plan is borrowed.  The calling process becomes a child subreaper. */
struct local *local_new(const struct plan *p, const struct local_options *o);
struct engine local_engine(struct local *l);
/* Tasks that still run are killed. */
void local_free(struct local *l);

#endif
