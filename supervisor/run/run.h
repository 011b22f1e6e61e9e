/* SPDX-License-Identifier: MIT */
/*
 * Run: plan -> results.  The one event loop: it asks for the slots of the jobs that the
 * plan lets go, starts those that have them, waits at one place, and stops at the first
 * red, or at a signal.
 */
#ifndef SUPERVISOR_RUN_RUN_H
#define SUPERVISOR_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "ipc/signals.h"
#include "supervisor/base/result.h"
#include "supervisor/plan/plan.h"
#include "supervisor/run/engine.h"
#include "supervisor/run/machine.h"

/* One job under way, as a live display shows it. */
struct run_activity {
	size_t job;
	int64_t since_ms;    /* clock_now_ms of its start, or of its asking for slots */
	bool is_waiting;     /* for slots */
	char last_line[256]; /* of its output; while it waits, who is in the way */
};

/* What a run tells while it goes on: its only upward talk.  Members may be NULL. */
struct run_observer {
	void *ctx;
	/* It has not got its slots at once; told once a job, after a moment. */
	void (*job_wait)(void *ctx, size_t job, const char *holders);
	void (*job_start)(void *ctx, size_t job, unsigned attempt);
	/* The result of an attempt that is made again, `retry` of at most `limit`. */
	void (*job_retry)(void *ctx, size_t job, const struct result *r, unsigned retry,
			  unsigned limit);
	/* Once for each job, skipped ones too: those at the end, in plan order. */
	void (*job_end)(void *ctx, size_t job, const struct result *r);
	/* Every so often, where it is not 0: what is under way. */
	int tick_ms;
	void (*tick)(void *ctx, const struct run_activity *activities, size_t n);
};

struct run_options {
	unsigned jobs;	  /* at once, at least 1; also what `slots: "all"` asks for */
	unsigned retries; /* of a step that failed for the environment */
	bool keep_going;
	struct machine *machine;      /* where slots are asked for */
	const struct slot *exclusive; /* the machine, where the run holds it; else NULL */
	const struct engine *engine;  /* what runs the jobs */
	struct signals *signals;      /* that end the run */
	const struct run_observer *observer;
};

struct run_outcome {
	bool ok;	 /* every job ran and is ok */
	int interrupted; /* the signal that ended the run, 0: none */
};

/*
 * Run all of the plan.  `results` has room for one item a job, each RESULT_INIT; it is
 * whole afterwards whatever happened.  Fails only where nothing can be waited for.
 */
int run_execute(const struct plan *p, const struct run_options *o, struct result *results,
		struct run_outcome *ret_outcome, struct error *err);

#endif
