/* SPDX-License-Identifier: MIT */
/*
 * Shell: starting `/bin/sh -c` on a command in a session of its own, with
 * nothing of ours in it but one pipe.
 */
#ifndef WORKER_SHELL_H
#define WORKER_SHELL_H

#include <stdatomic.h>
#include <sys/types.h>

struct shell_start {
	const char *text;
	char *const *env;
	int output_fd; /* becomes 1 and 2; 0 is the caller's */
	/* Both above 4, else there is none: they become WORKER_JOBSERVER_READ and _WRITE.
	 */
	int jobserver[2];
	/*
	 * Written by the child before it can be the parent of anything, in memory that
	 * outlives the caller: whoever cleans up after a killed caller reads it there.
	 */
	_Atomic int *ret_session;
	/* The caller: a child that finds itself without it does not begin. */
	pid_t parent;
};

/*
 * The caller has no signal handlers: until it executes, the child shares its memory.
 *
 * Returns the shell's pid, which is also its session; -1 with errno where it could
 * not be forked or executed.
 */
pid_t shell_spawn(const struct shell_start *s);

#endif
