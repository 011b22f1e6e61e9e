/* SPDX-License-Identifier: MIT */
/*
 * Prove: what `geonosis verify prove <tier>` does, in order.
 *
 *   load -> plan -> place of the report -> turn -> storage -> run: a prover a step ->
 * report
 *
 * Nothing is written before every refusal has been decided.
 */
#ifndef SUPERVISOR_PROVE_PROVE_H
#define SUPERVISOR_PROVE_PROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/plan/plan.h"
#include "supervisor/prove/proof.h"
#include "supervisor/prove/provers.h"
#include "supervisor/run/jobs.h"

#define PROVE_REPORT_PATH ".geonosis/prove-report.json"

/* What is asked; everything is borrowed. */
struct prove_request {
	const char *tier;	 /* NULL: none was named, which is refused */
	const char *only;	 /* an id, or NULL */
	const char *report_path; /* NULL: PROVE_REPORT_PATH */
	unsigned jobs;		 /* --jobs, 0: not given */
	bool want_baseline;
};

/* A run as its observer sees it; everything is borrowed and lives until end has returned.
 */
struct prove_view {
	const struct plan *plan;
	const struct provable *steps;
	size_t nsteps;
	const struct proof *proofs; /* one a step */
	const struct jobs *jobs;
	const char *report_path; /* absolute where it can be */
	bool want_baseline;
	bool unfinished;
	int interrupted; /* the signal that ended the run, or 0 */
	int64_t started_ms;
	int64_t finished_ms;
};

/* Told as it goes; members may be NULL. */
struct prove_observer {
	void *ctx;
	void (*warn)(void *ctx, const char *text);
	void (*start)(void *ctx, const struct prove_view *v);
	/* A step waits for a slot; SIZE_MAX: all of it, for another that proves the tier.
	 */
	void (*wait)(void *ctx, const struct prove_view *v, size_t step,
		     const char *reason);
	void (*step_start)(void *ctx, const struct prove_view *v, size_t step);
	/* Each step once, in plan order: one that ends early waits for those before it.
	 */
	void (*proof)(void *ctx, const struct prove_view *v, size_t step);
	void (*end)(void *ctx, const struct prove_view *v);
};

struct prove_verdict {
	bool ok; /* none is not proven */
	int interrupted;
};

/* How many of a view's steps have an outcome. */
size_t prove_count(const struct prove_view *v, enum proof_outcome outcome);
/* Fails where it is refused, and where the report could not be written. */
int prove_execute(const struct prove_request *rq, const struct prove_observer *o,
		  struct prove_verdict *ret_verdict, struct error *err);

#endif
