/* SPDX-License-Identifier: MIT */
/*
 * Job: one command run by a worker, for tests: what it printed and what became of it.
 */
#ifndef TESTS_WORKER_JOB_H
#define TESTS_WORKER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/worker.h"

enum {
	JOB_OUTPUT_MAX = 1 << 20
};

/* What the worker saw, in memory that it shares with the test. */
struct job_seen {
	uint64_t bytes;	  /* that passed the watch */
	size_t len;	  /* of them in `output` */
	int ends;	  /* calls of watch.end */
	long max_rss_kib; /* of the worker, at the end */
	int64_t cpu_ms;	  /* of the worker, at the end */
	struct worker_order order;
	pid_t worker; /* as the worker itself says */
	char output[JOB_OUTPUT_MAX + 1];
};

struct job_options {
	char *const *env; /* NULL: PATH only */
	int log_dir_fd;
	int hold_fd; /* handed over with the order */
	bool is_unwatched;
};

struct job {
	struct worker *worker;
	struct job_seen *seen;
	const char *text;
	struct job_options options;
};

#define JOB_OPTIONS_INIT                        \
	{                                       \
		.log_dir_fd = -1, .hold_fd = -1 \
	}

/* Fork the worker; ends the test where that fails. */
void job_fork(struct job *j, const char *text, const struct job_options *o);
/* Give it its order. */
void job_start(struct job *j);
/* Wait for its end, at most so long; ends the test when it does not come. */
void job_wait(struct job *j, int ms, struct worker_outcome *ret_outcome);
void job_release(struct job *j);
/* All of it. */
void job_run(const char *text, const struct job_options *o, int ms, struct job *j,
	     struct worker_outcome *ret_outcome);

/* A pid that a command wrote to a file, once it is there: ends the test without. */
pid_t job_pid(const char *path);
/* Nothing of the session lives, within so many milliseconds. */
bool session_is_over(pid_t session, int ms);
/* The process is gone, reaped or a zombie, within so many milliseconds. */
bool process_is_over(pid_t pid, int ms);

#endif
