/* SPDX-License-Identifier: MIT */
/*
 * Process: ask a program of others a question, and take its answer.
 *
 * The program gets /dev/null as its input, a process group of its own, no descriptor of
 * ours, and so much time and room.  Its end is its own exit: what it leaves behind
 * cannot hold us up.  When we are killed meanwhile it ends by its broken pipe or by
 * itself.
 */
#ifndef IPC_PROCESS_H
#define IPC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/buf.h"
#include "ipc/error.h"

struct process_question {
	const char *const *argv; /* NULL-ended; argv[0] is looked up on PATH */
	const char *dir;	 /* NULL: the working directory */
	const char *const *env;	 /* NULL-ended `NAME=value` beside ours; NULL: none */
	size_t max;		 /* bytes of stdout */
	int timeout_ms;
};

/*
 * Run it and take its stdout.  0; -1 with *err: ERROR_SYSTEM with errnum ENOENT where
 * there is no such program; ERROR_DATA where it exits non-zero (with the first line that
 * it wrote to stderr), is killed, takes too long or says too much.  It has a process
 * group of its own, which ends with the question; a signal that ends us meanwhile (INT,
 * TERM, HUP, QUIT) waits for that.
 */
int process_ask(const struct process_question *q, struct buf *ret_answer,
		struct error *err);

/* The parent of a process; 0 where that cannot be told, or the process is dead. */
pid_t process_parent(pid_t pid);
/* Is a process that one, or does it descend from it? */
bool process_descends(pid_t pid, pid_t ancestor);
/*
 * A variable that a process was started with; freed by the caller.  NULL where it has
 * none, or that is not told to us.
 */
char *process_variable(pid_t pid, const char *name);
/* In which pids are what they are for us; 0 where that cannot be told. */
uint64_t process_pid_namespace(void);

#endif
