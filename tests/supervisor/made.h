/* SPDX-License-Identifier: MIT */
/*
 * Made: one run of a shape over the fake engine, and all that is left of it.
 */
#ifndef TESTS_SUPERVISOR_MADE_H
#define TESTS_SUPERVISOR_MADE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/run/run.h"
#include "tests/supervisor/fake_engine.h"

struct made {
	struct plan plan;
	struct fake fake;
	struct result *results;
	struct run_outcome outcome;
};

struct run_case {
	const char *shape;
	const char *scripts;
	unsigned jobs;	 /* 0: 1 */
	unsigned budget; /* slots of the machine; 0: more than enough */
	unsigned retries;
	bool keep_going;
	struct fake_raise raises[FAKE_RAISES_MAX];
	int raise_first; /* a signal that is there before the run */
	const char *transcript;
	bool ok;
	int interrupted;
};

/* For the fixtures of a suite: signals are listened to. */
void made_enter(void);
void made_leave(void);

/* Run it. */
void made_run(const struct run_case *k, struct made *m);
/* The same with a plan of one's own, which is taken; ticks every so often (0: none). */
void made_run_plan(const struct run_case *k, struct plan plan, int tick_ms,
		   bool is_observed, struct made *m);
/* Frees, and fails the test where the run forgot a task. */
void made_release(struct made *m);
/* Run each and compare its transcript and outcome. */
void made_expect(const struct run_case *k);
void made_expect_all(const struct run_case *cases, size_t n);

#endif
