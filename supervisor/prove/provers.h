/* SPDX-License-Identifier: MIT */
/*
 * Provers: the engine (run/engine.h) whose tasks are steps being watched failing.
 */
#ifndef SUPERVISOR_PROVE_PROVERS_H
#define SUPERVISOR_PROVE_PROVERS_H

#include "supervisor/plan/plan.h"
#include "supervisor/prove/proof.h"
#include "supervisor/prove/prover.h"
#include "supervisor/run/engine.h"

/*
 * Steps of a plan, each with its jobs.  The engine's plan has one job for each of those
 * that declare `proves`.
 */
struct provable {
	const struct step *step;
	size_t first; /* job of the plan */
	size_t njobs;
};

/* The steps of a plan, in its order; freed by the caller. */
struct provable *provable_list(const struct plan *p, size_t *ret_nsteps);
/*
 * The plan whose jobs are those steps: its job n is step ret_steps[n].  The caller frees
 * both, the plan by plan_release.
 */
void provable_plan(const struct plan *p, const struct provable *steps, size_t nsteps,
		   struct plan *ret_plan, size_t **ret_steps);

struct provers;

/*
 * Everything is borrowed.  `proofs` has one item a step, filled as each ends; step_of
 * says which step a job of the engine's plan is.
 */
struct provers *provers_new(const struct prover_setup *setup,
			    const struct provable *steps, const size_t *step_of,
			    struct proof *proofs);
struct engine provers_engine(struct provers *p);
void provers_free(struct provers *p);

#endif
