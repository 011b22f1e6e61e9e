/* SPDX-License-Identifier: MIT */
/* What the files of a run share.  Private to them. */
#ifndef SUPERVISOR_RUN_RUN_PART_H
#define SUPERVISOR_RUN_RUN_PART_H

#include "supervisor/run/run.h"

/* A job that was let go: it waits for its slots, then it is a task. */
struct live {
	size_t job;
	struct slot *slot;
	struct task *task; /* NULL while it waits */
	int64_t since_ms;
	bool waits;   /* its slots were not free when it asked for them */
	bool is_told; /* that it waits */
	bool is_cut;
};

struct run {
	const struct plan *plan;
	const struct run_options *options;
	const struct engine *engine;
	const struct run_observer *observer;
	struct signals *signals;
	struct result *results;
	struct schedule *schedule;
	struct live *lives;
	size_t nlives;
	size_t room;	/* how many may be let go at once; falls where it is not there */
	size_t *parked; /* jobs that were to start when there was no room, in order */
	size_t nparked;
	bool stopped;	    /* nothing new starts */
	int interrupted;    /* the first signal */
	int64_t kill_at_ms; /* -1: none */
	int64_t tick_at_ms; /* -1: none */
};

/* Deadlines are of clock_now_ms; negative: none. */
bool deadline_is_past(int64_t deadline_ms);
int64_t deadline_earlier(int64_t a, int64_t b);
/* Who has waited for a moment, once each. */
void run_tell_waits(struct run *r);
/* What is under way, where it is time to. */
void run_tick(struct run *r);

#endif
