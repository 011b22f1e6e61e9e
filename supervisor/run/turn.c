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

#include "ipc/fd.h"
#include "ipc/lock.h"
#include "ipc/mem.h"
#include "ipc/process.h"

enum {
	TURN_TICK_MS = 20,
	TURN_CHAIN_MAX = 64 * TURN_ID_SIZE, /* runs within runs within runs */
	TURN_ANCESTORS_MAX = 4096, /* /proc is read without a lock: no endless walk */
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

static bool
process_is_ancestor(pid_t ancestor)
{
	pid_t pid = getpid();
	int i;

	for (i = 0; i < TURN_ANCESTORS_MAX && pid > 1; i++) {
		if (pid == ancestor)
			return true;
		pid = process_parent(pid);
	}
	return false;
}

/* Is the holder one of the runs that we are inside of? */
static bool
holder_encloses_us(const char *id, pid_t pid)
{
	if (strlen(id) == TURN_ID_SIZE - 1 && strstr(turn_outer_chain(), id) != NULL)
		return true;
	return pid > 1 && process_is_ancestor(pid);
}

static void
turn_read_holder(int fd, char id[TURN_ID_SIZE], pid_t *ret_pid)
{
	char note[LOCK_NOTE_MAX];
	int pid = 0;

	lock_read_note(fd, note);
	id[0] = '\0';
	if (sscanf(note, "%d %16[0-9a-f]", &pid, id) < 1 || pid < 0)
		pid = 0;
	*ret_pid = pid;
}

static int
turn_wait(struct turn *t, const char *tier, struct signals *signals, turn_wait_fn *tell,
	  void *ctx, struct error *err)
{
	char id[TURN_ID_SIZE];
	bool told = false;
	pid_t pid;
	int rc;

	while ((rc = lock_try(t->fd, err)) == 0) {
		struct pollfd fd = { .fd = signals->fd, .events = POLLIN };
		int signo;

		turn_read_holder(t->fd, id, &pid);
		if (holder_encloses_us(id, pid))
			return error_set(err, ERROR_USAGE,
					 "verify %s: this run was started by a step of "
					 "the run of the same tier in the same "
					 "directory (pid %ld), and would wait for "
					 "itself; run another tier in that step",
					 tier, (long)pid);
		if (!told)
			tell(ctx, tier, pid);
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
	(void)snprintf(note, sizeof(note), "%ld %s", (long)getpid(), t->id);
	lock_write_note(t->fd, note);
	return 0;
}

void
turn_release(struct turn *t)
{
	fd_close(&t->fd);
}
