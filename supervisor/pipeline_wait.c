/* SPDX-License-Identifier: MIT */
/* What a verify waits for before it runs: its place at the machine, its turn, the whole
 * machine. */
#include "supervisor/pipeline_part.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

/* --- the machine --- */

/* Where the machine's slots are, and how many steps may go at once. */
int
pipeline_sit(struct pipeline *p, struct error *err)
{
	char *warning;

	if (machine_open(&p->machine, &warning, err) < 0)
		return -1;
	if (warning != NULL)
		pipeline_warn(p, warning);
	free(warning);
	if (p->request->exclusive && machine_allows_exclusive(&p->machine, err) < 0)
		return -1;
	return jobs_decide(p->request->jobs, p->config.caps_heavy, &p->machine, &p->jobs,
			   err);
}

static void
tell_exclusive_wait(void *ctx, const char *holders)
{
	char *reason = xasprintf("for the whole machine, held by %s", holders);

	pipeline_tell_wait(ctx, SIZE_MAX, reason);
	free(reason);
}

int
pipeline_take_machine(struct pipeline *p, struct error *err)
{
	struct slot_wish wish = { .exclusive = true, .label = p->tier->name };
	struct machine_wait wait;
	struct buf holders = BUF_INIT;
	int signo = 0;
	int rc;

	if (!p->request->exclusive)
		return 0;
	if (slot_request(p->machine.slots, &wish, &p->exclusive, err) < 0)
		return -1;
	wait = (struct machine_wait){
		.slot = p->exclusive,
		.deadline_ms = clock_now_ms() + p->request->exclusive_wait_ms,
		.signals = &p->signals,
		.tell = tell_exclusive_wait,
		.ctx = p,
	};
	rc = machine_wait(&p->machine, &wait, &signo, err);
	if (rc < 0 || signo != 0)
		return rc < 0 ? -1 : signo;
	if (rc == 1)
		return 0;
	machine_holders(&p->machine, &holders);
	(void)error_set(err, ERROR_USAGE,
			"--exclusive: the machine did not become free within %lld s "
			"(--exclusive-timeout): "
			"held by %s",
			(long long)(p->request->exclusive_wait_ms / 1000),
			buf_text(&holders));
	buf_release(&holders);
	return -1;
}

/* --- the turn --- */

static void
tell_turn_wait(void *ctx, const char *tier, pid_t pid)
{
	char reason[256];

	(void)snprintf(reason, sizeof(reason),
		       "for the run of \"%s\" in this directory (pid %ld) to end", tier,
		       (long)pid);
	pipeline_tell_wait(ctx, SIZE_MAX, reason);
}

/* What the step around this run holds is lent to the run that it waits for. */
static int
help_turn(void *ctx, const char *tier, pid_t pid, uint64_t pid_namespace,
	  struct error *err)
{
	const struct pipeline *p = ctx;

	if (machine_lend(&p->machine, pid, pid_namespace, err) == 0)
		return 0;
	return error_wrap(err, "verify %s", tier);
}

int
pipeline_take_turn(struct pipeline *p, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = dir_make(GEONOSIS_DIR, &why);

	p->turn.help = help_turn;
	if (rc == 0)
		rc = turn_take(&p->turn, p->tier->name, &p->signals, tell_turn_wait, p,
			       &why);
	if (rc >= 0)
		return rc;
	if (why.kind == ERROR_USAGE) {
		*err = why;
		return -1;
	}
	/* Nothing can be kept here: only the report decides the exit, and it has its
	 * place. */
	(void)error_wrap(&why, "runs of this tier do not wait for each other");
	pipeline_warn(p, why.text);
	return 0;
}
