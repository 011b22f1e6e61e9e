/* SPDX-License-Identifier: MIT */
/*
 * A plan for the tests of what a run writes: a step, a group of a lane (two steps)
 * and a step in two shards, a last step; the tier `fast` named again.
 */
#ifndef TESTS_SUPERVISOR_SAMPLE_H
#define TESTS_SUPERVISOR_SAMPLE_H

#include "supervisor/base/result.h"
#include "supervisor/plan/plan.h"

enum sample_job {
	SAMPLE_TYPECHECK, /* fast/1, unproven */
	SAMPLE_LINT,	  /* fast/2, proven */
	SAMPLE_E2E_1,	  /* full/1@1/2, unproven */
	SAMPLE_E2E_2,	  /* full/1@2/2 of the same step */
	SAMPLE_BUILD,	  /* full/2, unproven */
	SAMPLE_JOBS
};

/* Static data: nothing to release. */
const struct plan *sample_plan(void);
/* All skipped. */
void sample_results(struct result results[static SAMPLE_JOBS]);

#endif
