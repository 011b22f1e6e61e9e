/* SPDX-License-Identifier: MIT */
/*
 * Turn: one run of a tier in a directory at a time.
 *
 * The second waits for the first.  A run that is started by a step of the very run that
 * it would wait for would wait for ever: it is refused.  It is known by its ancestors'
 * run ids in the environment, and where that was cleaned, by its ancestors in /proc.
 */
#ifndef SUPERVISOR_RUN_TURN_H
#define SUPERVISOR_RUN_TURN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/error.h"
#include "ipc/signals.h"

enum {
	TURN_ID_SIZE = 17
};

/* Ids of the runs that enclose this one, and its own, in the environment of its steps. */
#define TURN_CHAIN_VARIABLE "GEONOSIS_GATE_RUNS"

/* Told once when the wait begins; `pid` is the holder's, 0 where it did not say. */
typedef void turn_wait_fn(void *ctx, const char *tier, pid_t pid);
/*
 * Told now and then of a run that is waited for and says who it is, to help it on.  -1
 * with *err refuses this run: it would wait for ever.
 */
typedef int turn_help_fn(void *ctx, const char *tier, pid_t pid, uint64_t pid_namespace,
			 struct error *err);

struct turn {
	int fd;		       /* holds the lock; -1: none */
	char id[TURN_ID_SIZE]; /* of this run, hexadecimal */
	bool waited;	       /* another run held it meanwhile */
	turn_help_fn *help;    /* NULL, or what is called while one waits */
};

/* A new run, with an id of its own and no turn yet. */
void turn_init(struct turn *t);
/*
 * Take the turn of a tier in the working directory (`.geonosis` exists).  Returns 0; the
 * signal that ended the wait; or -1: ERROR_USAGE refuses the run, any other kind means
 * that turns cannot be taken here.  `ctx` is for `tell` and for what helps.
 */
int turn_take(struct turn *t, const char *tier, struct signals *signals,
	      turn_wait_fn *tell, void *ctx, struct error *err);
/* The chain for the environment of this run's steps; freed by the caller. */
char *turn_chain(const struct turn *t);
void turn_release(struct turn *t);

#endif
