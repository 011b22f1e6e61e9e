/* SPDX-License-Identifier: MIT */
/* What a run tells of time going by: who waits and for whom, what is under way. */
#include <stdio.h>
#include <stdlib.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/run/run_part.h"

enum {
	/* A wait shorter than this is not worth a line. */
	RUN_TELL_WAIT_MS = 250
};

bool
deadline_is_past(int64_t deadline_ms)
{
	return deadline_ms >= 0 && clock_now_ms() >= deadline_ms;
}

int64_t
deadline_earlier(int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

void
run_tell_waits(struct run *r)
{
	size_t i;

	for (i = 0; i < r->nlives; i++) {
		struct live *l = &r->lives[i];
		struct buf holders = BUF_INIT;

		if (l->task != NULL || l->is_told ||
		    !deadline_is_past(l->since_ms + RUN_TELL_WAIT_MS))
			continue;
		l->is_told = true;
		machine_holders(r->options->machine, &holders);
		if (r->observer->job_wait != NULL)
			r->observer->job_wait(r->observer->ctx, l->job,
					      buf_text(&holders));
		buf_release(&holders);
	}
}

static void
run_describe(const struct run *r, const struct live *l, char *text, size_t size)
{
	struct buf holders = BUF_INIT;

	if (l->task != NULL) {
		r->engine->last_line(l->task, text, size);
		return;
	}
	machine_holders(r->options->machine, &holders);
	(void)snprintf(text, size, "%s", buf_text(&holders));
	buf_release(&holders);
}

void
run_tick(struct run *r)
{
	struct run_activity *a;
	size_t i;

	if (!deadline_is_past(r->tick_at_ms))
		return;
	r->tick_at_ms = clock_now_ms() + r->observer->tick_ms;
	a = xcalloc(r->nlives, sizeof(*a));
	for (i = 0; i < r->nlives; i++) {
		const struct live *l = &r->lives[i];

		a[i].job = l->job;
		a[i].since_ms = l->since_ms;
		a[i].is_waiting = l->task == NULL;
		run_describe(r, l, a[i].last_line, sizeof(a[i].last_line));
	}
	r->observer->tick(r->observer->ctx, a, r->nlives);
	free(a);
}
