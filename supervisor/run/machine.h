/* SPDX-License-Identifier: MIT */
/*
 * Machine: a command's place at the machine's slots, as its environment and its user's
 * settings have it.
 *
 * The budget is what `geonosis gate budget` kept (geonosis/gate.json of the user's config
 * directory, else /etc/geonosis/gate.json), else what the machine can carry.
 */
#ifndef SUPERVISOR_RUN_MACHINE_H
#define SUPERVISOR_RUN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/buf.h"
#include "ipc/error.h"
#include "ipc/signals.h"
#include "ipc/slot.h"

struct machine {
	struct slots *slots;
	const char *segment; /* GEONOSIS_SEGMENT or NULL; borrowed from the environment */
	unsigned share;	     /* slots that this command may count on */
	char bound[64];	     /* what made it that number, for people */
	bool is_private;     /* no shared memory here: it is coordinated with nobody */
};

#define MACHINE_INIT \
	{            \
		0    \
	}

/*
 * Take the place.  A segment that may not be used, or a variable that says nothing sound,
 * is refused. Where there is no shared memory *ret_warning says so (freed by the caller,
 * else NULL) and the place is private.
 */
int machine_open(struct machine *s, char **ret_warning, struct error *err);
void machine_close(struct machine *s);

/* The segment's name as the environment has it, checked; NULL for the user's own. */
int machine_segment(const char **ret_segment, struct error *err);
/*
 * The budget of this machine: kept, else what it can carry. `bound` for people; it also
 * says where a file that should keep one does not.
 */
unsigned machine_budget(char bound[64]);
/* What a segment gets that nobody uses: GEONOSIS_HEAVY_SLOTS, else that budget. */
int machine_budget_unused(unsigned *ret_budget, struct error *err);
/* Keep a budget for this user, and give it to the segment where there is one. */
int machine_budget_set(unsigned budget, struct error *err);

/*
 * Who is in the way of a request, in words: `pid 12 in /dir (fast), 1 slot since …; …`.
 * Holds of this process itself are summed up.
 */
void machine_holders(const struct machine *s, struct buf *b);

struct machine_wait {
	struct slot *slot;	 /* the request that is waited for */
	int64_t deadline_ms;	 /* clock_now_ms; negative: none */
	struct signals *signals; /* that end the wait */
	/* Told when the wait begins and when those in the way have changed. */
	void (*tell)(void *ctx, const char *holders);
	void *ctx;
};

/*
 * Wait until a request is held: 1; 0 past the deadline; -1 with *err.  A signal ends the
 * wait: *ret_signal, and 0.
 */
int machine_wait(const struct machine *s, const struct machine_wait *w, int *ret_signal,
		 struct error *err);

/*
 * What the step around this command holds is lent to the run of process `pid`, which this
 * one waits for.  -1 where that would not help: it waits for the whole machine.
 */
int machine_lend(const struct machine *s, pid_t pid, uint64_t pid_namespace,
		 struct error *err);

/*
 * May something exclusive be asked for here?  Refused inside a hold that is not exclusive
 * (it would wait for itself), and where there is no shared memory.
 */
int machine_allows_exclusive(const struct machine *s, struct error *err);

#endif
