/* SPDX-License-Identifier: MIT */
/*
 * Attend: the worker's own side: what the forked process does from its birth to
 * its end.  Private to this folder.
 */
#ifndef WORKER_ATTEND_H
#define WORKER_ATTEND_H

#include <stdatomic.h>
#include <stdint.h>

#include "worker/worker.h"

enum worker_message_kind {
	WORKER_MESSAGE_ORDER = 1,
	WORKER_MESSAGE_SIGNAL,
};

struct worker_message {
	int32_t kind;
	int32_t signo;
	struct worker_order order;
};

/* The mapping that worker and supervisor share. */
struct worker_share {
	_Atomic int session;  /* of the command's shell; written by the shell itself */
	_Atomic int finished; /* 1: the outcome is whole; written last */
	struct worker_outcome outcome;
};

/* Runs one order and exits. */
_Noreturn void attend_main(int sock, struct worker_share *share,
			   const struct worker_setup *setup);

#endif
