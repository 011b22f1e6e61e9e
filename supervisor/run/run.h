/* SPDX-License-Identifier: MIT */
/*
 * Run: plan -> results.  The one event loop: it starts jobs as the plan lets them,
 * waits at one place, and stops at the first red, or at a signal.
 */
#ifndef SUPERVISOR_RUN_RUN_H
#define SUPERVISOR_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "ipc/signals.h"
#include "supervisor/base/result.h"
#include "supervisor/plan/plan.h"
#include "supervisor/run/engine.h"

/* What a run tells while it goes on: its only upward talk.  Members may be NULL. */
struct run_observer {
	void *ctx;
	void (*job_start)(void *ctx, size_t job, unsigned attempt);
	/* The result of an attempt that is made again, `retry` of at most `limit`. */
	void (*job_retry)(void *ctx, size_t job, const struct result *r, unsigned retry,
			  unsigned limit);
	/* Once for each job, skipped ones too: those at the end, in plan order. */
	void (*job_end)(void *ctx, size_t job, const struct result *r);
};

struct run_options {
	unsigned jobs;	  /* at once, at least 1 */
	unsigned retries; /* of a step that failed for the environment */
	bool keep_going;
};

struct run_outcome {
	bool ok;	 /* every job ran and is ok */
	int interrupted; /* the signal that ended the run, 0: none */
};

/*
 * Run all of the plan.  `results` has room for one item a job, each RESULT_INIT; it is
 * whole afterwards whatever happened.  Fails only where nothing can be waited for.
 */
int run_execute(const struct plan *p, const struct run_options *o,
		const struct engine *engine, struct signals *signals,
		const struct run_observer *observer, struct result *results,
		struct run_outcome *ret_outcome, struct error *err);

#endif
