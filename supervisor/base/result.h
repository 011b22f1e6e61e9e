/* SPDX-License-Identifier: MIT */
/*
 * Result: what became of one job.  Data only; made by run, read by reports.
 */
#ifndef SUPERVISOR_BASE_RESULT_H
#define SUPERVISOR_BASE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

enum result_state {
	RESULT_SKIPPED, /* never started */
	RESULT_RUNNING,
	RESULT_DONE,
};

struct result {
	enum result_state state;
	bool ok;
	int exit_code; /* -1: skipped, or our own trouble */
	int64_t ms;
	char *tail;	    /* sanitised; NULL is "" */
	uint64_t lines;	    /* lines printed in all */
	uint64_t tail_from; /* number, from 1, of the tail's first line; 0: no tail */
	uint64_t tail_lines;
	char *log;	      /* path relative to the working directory, or NULL */
	char *log_error;      /* why the log could not be written, or NULL */
	char *environment;    /* the line that tells a network failure, or NULL */
	unsigned retried;     /* how often it was re-run for the environment */
	bool timed_out;	      /* a test runner's own timeout was seen (only on a red) */
	double load_average;  /* with timed_out */
	int cores;	      /* with timed_out */
	unsigned leaked;      /* processes ended after the step's shell */
	unsigned stayed;      /* of those: that would not end */
	int signal;	      /* that killed the step's shell, 0: none */
	bool interrupted;     /* cut off by a signal to the run */
	int64_t slot_wait_ms; /* -1: it did not wait for a slot */
	char *ran_nothing;    /* why, or NULL */
	char *error;	      /* our own trouble (the worker was killed), or NULL */
};

#define RESULT_INIT                                                          \
	{                                                                    \
		.state = RESULT_SKIPPED, .exit_code = -1, .slot_wait_ms = -1 \
	}

void result_release(struct result *r);

#endif
