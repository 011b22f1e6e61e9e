/* SPDX-License-Identifier: MIT */
/*
 * Engine: how a run starts jobs, learns of their end and stops them.  The local
 * engine (worker processes of this machine) is one; a run knows only this table, so
 * that its jobs can be sent elsewhere.
 */
#ifndef SUPERVISOR_RUN_ENGINE_H
#define SUPERVISOR_RUN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/base/result.h"

struct task; /* one attempt at one job, an engine's own */

struct engine_order {
	size_t job;
	unsigned attempt; /* from 0 */
	unsigned slots;	  /* GEONOSIS_SLOTS of the step */
	int hold_fd;	  /* of the slots that the job holds, borrowed; -1: none */
	/* Of them, or where it holds none of what the step around this run holds; for
	 * what runs inside; borrowed, "" for none. */
	const char *token;
};

struct engine {
	void *ctx;
	/* Start; fails when the machine has no room for another process. */
	int (*start)(void *ctx, const struct engine_order *order, struct task **ret_task,
		     struct error *err);
	/* Get ready for one more start; may do nothing. */
	void (*prepare)(void *ctx);
	/* Readable when the task has ended. */
	int (*poll_fd)(const struct task *t);
	/* Pass a signal on to all of the task's processes; SIGKILL ends them. */
	void (*signal)(struct task *t, int signo);
	/* The last line of output so far, "" where there is none. */
	void (*last_line)(const struct task *t, char *text, size_t size);
	/* It did not answer: end it by force. */
	void (*kill)(struct task *t);
	/*
	 * Take an ended task apart: fills everything of the result that the output and
	 * the exit tell.  `is_cut` when the run stopped it.
	 */
	void (*end)(void *ctx, struct task *t, bool is_cut, struct result *ret_result);
};

#endif
