/* SPDX-License-Identifier: MIT */
/*
 * Fake engine: tasks that end as a script says, over pipes; and the transcript of what
 * a run did.
 *
 * The script of a job is a letter for each attempt and, behind it, its rank:
 *   g green   r red   e red with a network failure   f cannot be started
 *   n green, but there is no room for it beside more than one other
 *   h hangs until a signal comes, exits 0    s only SIGKILL ends it   k only kill ends it
 *   w ends when a job is told to wait        t ends when a tick was told
 *   l green, and long in starting
 * Of those that could end, the ones of the lowest rank do.
 *
 * The transcript: `>a` started (`>a/1` its second attempt), `a~1/2` to be made again,
 * `a?` waits for slots (in runs with a `w`), `a#15` signalled, `a#!` ended by force, and
 * at the end `a+` ok, `a-` red, `a!` our own trouble, `a^` interrupted, `a.` skipped.
 */
#ifndef TESTS_SUPERVISOR_FAKE_ENGINE_H
#define TESTS_SUPERVISOR_FAKE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/buf.h"
#include "supervisor/run/run.h"

enum {
	FAKE_RAISES_MAX = 4,
	FAKE_JOBS_MAX = 256
};

struct fake_raise {
	const char *at; /* when this comes into the transcript … */
	int signo;	/* … this signal comes */
};

struct fake_order {
	unsigned slots;
	bool has_hold, has_token;
};

struct fake {
	const struct plan *plan;
	const char *scripts; /* "a=g b=eg1"; others are green */
	struct fake_raise raises[FAKE_RAISES_MAX];
	struct buf transcript;
	struct task *tasks; /* that run */
	size_t ntasks, most_at_once;
	bool a_wait_was_told, a_tick_was_told, raised;
	struct run_activity activity; /* the last that was told */
	struct fake_order orders[FAKE_JOBS_MAX];
};

struct engine fake_engine(struct fake *f);
struct run_observer fake_observer(struct fake *f);
/* Frees; tasks that were never ended are an error of the run: how many. */
size_t fake_release(struct fake *f);

#endif
