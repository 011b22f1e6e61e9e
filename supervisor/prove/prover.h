/* SPDX-License-Identifier: MIT */
/*
 * Prover: the process that watches one step fail.
 *
 *   run --fork--> prover: witness, copy, [the step], plant, the step, witness, remove
 *                    |fork                |fork        |fork
 *                    worker               worker       worker
 *
 * It is in a session of its own, so that what ends the run does not end it: when the run
 * has gone it kills what runs and removes the copy.  It is the subreaper of all that the
 * step starts, and ends with the copy what the step left: a process that lived on there
 * would go on seeing the plant.
 */
#ifndef SUPERVISOR_PROVE_PROVER_H
#define SUPERVISOR_PROVE_PROVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/plan/plan.h"
#include "supervisor/prove/ground.h"
#include "supervisor/prove/proof.h"
#include "supervisor/prove/storage.h"

/* What is the same for every step of a run; borrowed. */
struct prover_setup {
	const struct ground *ground;
	const struct storage *storage;
	const struct plan *plan;
	const struct scope *scope; /* the workspaces that the plan was made for */
	char *const *env;	   /* what steps inherit from */
	const char *run_id;	   /* GEONOSIS_GATE_RUN */
	const char *log_dir;	   /* path, for reports */
	int log_dir_fd;		   /* -1: no logs */
	const char *only;	   /* --only, or NULL */
	bool want_baseline;
};

/* A step: its jobs stand together in the plan. */
struct prover_order {
	const struct prover_setup *setup;
	size_t first;
	size_t njobs;
	unsigned slots;	   /* GEONOSIS_SLOTS */
	const char *token; /* of the slots held */
	int hold_fd;	   /* of them, -1: none */
};

struct prover;

/* Fork it; the caller has one thread.  The order may go after that. */
int prover_start(const struct prover_order *order, struct prover **ret_prover,
		 struct error *err);
/* Readable when it has ended. */
int prover_pidfd(const struct prover *p);
/* Pass a signal on to what runs; nothing else is begun. */
void prover_signal(struct prover *p, int signo);
/* The last line of output so far. */
void prover_last_line(const struct prover *p, char *text, size_t size);
void prover_kill(struct prover *p);
/* Reap it: what it found.  One that was killed leaves its copy to the storage. */
void prover_end(struct prover *p, struct proof *ret_proof);
/* NULL is fine. */
void prover_free(struct prover *p);

#endif
