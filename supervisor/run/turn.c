/* SPDX-License-Identifier: MIT */
#include "supervisor/run/turn.h"

#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/lock.h"
#include "ipc/mem.h"
#include "ipc/process.h"

enum {
	TURN_TICK_MS = 20,
	TURN_CHAIN_MAX = 64 * TURN_ID_SIZE, /* runs within runs within runs */
	TURN_HELP_MS = 100,		    /* it looks at other processes */
};

void
turn_init(struct turn *t)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = (uint64_t)getpid();
	*t = (struct turn){ .fd = -1 };
	(void)snprintf(t->id, sizeof(t->id), "%016" PRIx64, n);
}

static const char *
turn_outer_chain(void)
{
	const char *chain = getenv(TURN_CHAIN_VARIABLE);

	return chain != NULL && strlen(chain) < TURN_CHAIN_MAX ? chain : "";
}

char *
turn_chain(const struct turn *t)
{
	const char *outer = turn_outer_chain();

	return xasprintf("%s%s%s", outer, *outer != '\0' ? ":" : "", t->id);
}

/* Who has the turn, as its note says. */
struct holder {
	pid_t pid;
	char id[TURN_ID_SIZE];
	uint64_t pid_namespace; /* 0: not said */
};

/* Is the holder one of the runs that we are inside of? */
static bool
holder_encloses_us(const struct holder *h)
{
	if (strlen(h->id) == TURN_ID_SIZE - 1 &&
	    strstr(turn_outer_chain(), h->id) != NULL)
		return true;
	/* Elsewhere, as in a container that shares the directory, its number is not that
	 * of a process around us. */
	return h->pid > 0 && h->pid_namespace != 0 &&
	       h->pid_namespace == process_pid_namespace() &&
	       process_descends(getpid(), h->pid);
}

static struct holder
turn_read_holder(int fd)
{
	char note[LOCK_NOTE_MAX];
	struct holder h = { 0 };
	int pid = 0;

	lock_read_note(fd, note);
	(void)sscanf(note, "%d %16[0-9a-f] %" SCNu64, &pid, h.id, &h.pid_namespace);
	h.pid = pid > 0 ? pid : 0;
	return h;
}

static int
turn_wait(struct turn *t, const char *tier, struct signals *signals, turn_wait_fn *tell,
	  void *ctx, struct error *err)
{
	int64_t help_ms = clock_now_ms();
	bool told = false;
	int rc;

	while ((rc = lock_try(t->fd, err)) == 0) {
		struct pollfd fd = { .fd = signals->fd, .events = POLLIN };
		struct holder h = turn_read_holder(t->fd);
		int signo;

		if (holder_encloses_us(&h))
			return error_set(err, ERROR_USAGE,
					 "verify %s: this run was started by a step of "
					 "the run of the same tier in the same "
					 "directory (pid %ld), and would wait for "
					 "itself; run another tier in that step",
					 tier, (long)h.pid);
		if (!told)
			tell(ctx, tier, h.pid);
		if (t->help != NULL && h.pid > 0 && clock_now_ms() >= help_ms) {
			help_ms = clock_now_ms() + TURN_HELP_MS;
			if (t->help(ctx, tier, h.pid, h.pid_namespace, err) < 0)
				return -1;
		}
		told = t->waited = true;
		(void)poll(&fd, 1, TURN_TICK_MS);
		signo = signals_read(signals);
		if (signo != 0)
			return signo;
	}
	return rc < 0 ? -1 : 0;
}

int
turn_take(struct turn *t, const char *tier, struct signals *signals, turn_wait_fn *tell,
	  void *ctx, struct error *err)
{
	char *path = xasprintf(".geonosis/%s.lock", tier);
	char note[LOCK_NOTE_MAX];
	int rc = lock_open(path, &t->fd, err);

	free(path);
	if (rc == 0)
		rc = turn_wait(t, tier, signals, tell, ctx, err);
	if (rc != 0) {
		turn_release(t);
		return rc;
	}
	(void)snprintf(note, sizeof(note), "%ld %s %" PRIu64, (long)getpid(), t->id,
		       process_pid_namespace());
	lock_write_note(t->fd, note);
	return 0;
}

void
turn_release(struct turn *t)
{
	fd_close(&t->fd);
}
