/* SPDX-License-Identifier: MIT */
/*
 * Proving: the prover's own side: what the forked process does from its birth to its end.
 * Private to this folder.
 */
#ifndef SUPERVISOR_PROVE_PROVING_H
#define SUPERVISOR_PROVE_PROVING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "supervisor/base/board.h"
#include "supervisor/base/watcher.h"
#include "supervisor/prove/copy.h"
#include "supervisor/prove/prover.h"
#include "supervisor/prove/witness.h"
#include "worker/worker.h"

/* The mapping that prover and run share; a text that is too long is cut. */
struct prover_share {
	_Atomic int finished; /* 1: the rest is whole; written last */
	struct proof proof;   /* its pointers mean nothing: the texts are below */
	char part[1024];
	char detail[2048];
	char log[4096];
	char tail[BOARD_LINES * (BOARD_LINE_BYTES + 256)];
	char changed[65536]; /* one path after the other, each with its NUL */
};

/* A command that runs in the copy. */
struct phase {
	const char *command;
	const char *log_id; /* its log's name is made of it; NULL: it keeps none */
	const char *expect; /* NULL: nobody looks for anything */
	bool is_step;	    /* not the plant */
};

struct proving {
	const struct prover_order *order;
	const struct prover_setup *setup;
	const struct step *step;
	struct prover_share *share;
	struct proof *proof; /* in the share */
	struct watcher *watcher;
	int sock; /* -1: the run is gone */
	int hold_fd;
	int stopped; /* the first signal that the run passed on */
	struct copy copy;
	const struct phase *phase;
	struct worker_outcome outcome; /* of the last phase */
	struct findings findings;      /* likewise */
	struct witness before;
	char *changed_file; /* what the plant changed, for steps; NULL before the plant */
	/* What the step runs as once it is planted; before that none. */
	struct job *targets;
	size_t ntargets;
};

/* --- proving_phase.c --- */

/*
 * Wait until the descriptor is readable, and listen to the run meanwhile: its signals go
 * to the worker; without one (NULL) the wait is over when it says one.
 */
void proving_wait(struct proving *p, int fd, struct worker *w);
/* Has the run said a signal, or gone? */
bool proving_is_stopped(struct proving *p);

/* Each settles the verdict, and returns -1. */
int proving_settle(struct proving *p, enum proof_reason reason);
int proving_trouble(struct proving *p, const struct error *err);
int proving_stop(struct proving *p);

/* A text of the share, cut where it is too long; NULL is "". */
void text_put(char *to, size_t size, const char *text);

/*
 * Run a command in the copy.  0: it has ended, one way or another: outcome, findings, and
 * what the proof shows are its own; -1: the verdict is settled.
 */
int phase_run(struct proving *p, const struct phase *phase);
/* Remove a log that nobody needs. */
void phase_drop_log(const struct proving *p, const char *log_id);

/* --- proving_targets.c --- */

/* Job `i` of the step, as it was planned. */
const struct job *proving_job(const struct proving *p, size_t i);
/*
 * The plant made these changes: find the targets.  0; -1: the verdict is settled.
 */
int proving_find_targets(struct proving *p, const struct changes *changes);

/* --- proving.c --- */

_Noreturn void proving_main(const struct prover_order *order, int sock,
			    struct prover_share *share, struct watcher *watcher);

#endif
