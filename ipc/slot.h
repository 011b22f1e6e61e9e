/* SPDX-License-Identifier: MIT */
/*
 * Slots: one budget of heavy work for all of a user's processes on the machine.
 *
 * The kernel's lock table is the truth, shared memory is only the queue and the
 * names.  Each request opens the segment for itself (its own open file
 * description) and holds an OFD lock on the byte of its entry for as long as
 * that description lives; the kernel drops it at any death, so nothing has to be
 * repaired after a crash, and no pid, start time or namespace decides anything.
 * The table beside it (slot_table.h) is granted in the order of tickets by one
 * idempotent function that everybody calls who changes or watches it.
 *
 * Nothing here blocks beyond SLOT_PATIENCE_MS, slot_wait apart: waiting is an
 * event of the caller's poll loop.  Poll slots_doorbell_fd for input until
 * slots_deadline, then call slots_poll and look at the requests.  The doorbell
 * only makes it quick; the deadline (a tick of SLOT_TICK_MS) makes it certain.
 *
 * Requests are served first come, first served: nobody overtakes, so a wide or
 * exclusive request starves never, and idles slots while it waits.  A grant is
 * an offer that its owner confirms in slots_poll; who does not within
 * SLOT_OFFER_MS (stopped, frozen) is passed over and keeps its place.
 *
 * Descriptors.  A hold is one descriptor (slot_hold_fd): the slots stay taken
 * until the last copy of it is closed, whoever has it.  So a supervisor and the
 * worker of a job, a fork, hold together: the slots are free when both are gone.
 * The worker calls slots_leave, which closes every other descriptor of the room.
 * It must not run anything that keeps the copy (all are close-on-exec).
 *
 * Nesting.  A hold is a pool of its own.  A process that finds the token of a
 * live hold in its environment (slots_config.inside) does not queue at the
 * machine: its requests are entries under that hold, granted by the same rules
 * from the slots that the hold has.  Several nested processes, of one step or of
 * several, share them in ticket order, and a hold inside a hold is a pool again.
 * No deadlock: a request waits only for entries of its own pool, each of which
 * is work that goes on, or is itself waited for only from further inside; who
 * holds never asks outside of its own hold.  When the outer hold ends before the
 * inner ones (killed, or a process left over), these count from then on in the pool
 * that it was of itself, and those who wait queue there: no slot is held twice.
 * Where it was exclusive, and asked for them itself, nobody starts beside them.
 *
 * Deaths are noticed when the kernel closes what the dead had open, and it tears the
 * address space down first: 0.2 ms for a small process, 150 ms for one of a GiB.
 * Holders are to be small; a supervisor and its workers are, the steps hold nothing.
 *
 * A segment whose name is removed drains: who waits in it queues at the one that has
 * the name now.  There nobody sees what the old one still holds, so until that ends
 * more may be held than the budget.
 *
 * Not for threads; one process may open several.
 */
#ifndef IPC_SLOT_H
#define IPC_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"

enum {
	SLOT_BUDGET_MAX = 4096,
	SLOT_TICK_MS = 20,
	SLOT_OFFER_MS = 100,
	SLOT_PATIENCE_MS = 10, /* for the table's lock; then it is tried again later */
	SLOT_TOKEN_SIZE = 64,
};

struct slots; /* a process's seat at one segment */
struct slot;  /* a request, later a hold */

struct slots_config {
	const char *segment; /* "/name"; NULL: /geonosis-<uid> */
	/*
	 * The budget for a segment that no live process uses; 1 to SLOT_BUDGET_MAX,
	 * values outside are clamped.  A segment in use keeps the one it has.
	 */
	unsigned budget;
	/*
	 * GEONOSIS_HEAVY_SLOTS, 0: not set.  Stands for the budget where no live
	 * process uses the segment; else lowers slots_share, and never raises it.
	 */
	unsigned heavy;
	const char *inside;    /* GEONOSIS_HEAVY_SLOT_HELD or NULL; untrusted */
	const char *directory; /* for people; NULL: the working directory */
};

/*
 * Take a seat, making the segment if there is none or if it is unsound and
 * unused.  Never waits for slots.  Fails with
 *  - ERROR_USAGE: no possible name;
 *  - ERROR_DATA: the name is taken by something that is not ours to use (a link, a
 *    directory, another owner, other permissions), or the segment has a layout
 *    that this version does not know and a live process uses it: a refusal;
 *  - ERROR_SYSTEM: the kernel refused.  slots_error_is_absence tells whether that
 *    means that this machine has no such memory, so that one may go on with
 *    slots_open_private and a warning.
 */
int slots_open(const struct slots_config *config, struct slots **ret_slots,
	       struct error *err);
bool slots_error_is_absence(const struct error *err);
/* The same for this process alone, on memory without a name. */
int slots_open_private(const struct slots_config *config, struct slots **ret_slots,
		       struct error *err);
/* Give everything back, requests included. NULL is fine. */
void slots_free(struct slots *s);
/*
 * The slots that this process may count on: the machine's budget, or those of the
 * hold that it runs in; lowered by `heavy`.  At least 1.
 */
unsigned slots_share(struct slots *s);

struct slot_wish {
	unsigned want;	/* slots; 0: light.  More than the pool has: all of them */
	unsigned least; /* enough to start, 1 to want: takes `want` or what is free */
	bool exclusive; /* the whole pool, alone; want and least do not count */
	/*
	 * A hold of the same seat inside of which it is to be granted, as the steps of
	 * an exclusive run are.  NULL: where the process is.
	 */
	const struct slot *inside;
	const char *label; /* tier or command, for people */
};

enum slot_state {
	SLOT_WAITING,
	SLOT_HELD,
};

/*
 * Ask for slots; may be held at once.  A light request holds nothing: it waits
 * only while somebody has exclusively what it asks in, the machine or the hold
 * that it is inside of; is in no one's way, and has no descriptor.
 * A table with no room left is no error: the request waits outside of it.
 */
int slot_request(struct slots *s, const struct slot_wish *wish, struct slot **ret_slot,
		 struct error *err);
enum slot_state slot_state(const struct slot *r);
/* How many slots it holds; 0 while it waits, and for a light one. */
unsigned slot_count(const struct slot *r);
/* The descriptor that is the hold; -1 where there is none.  Stays ours. */
int slot_hold_fd(const struct slot *r);
/*
 * The hold as text for GEONOSIS_HEAVY_SLOT_HELD.  A light one has none of its own: it is
 * that of the hold in which it was granted, so that what runs inside does not wait for
 * that one, which waits for it; "" where there is none.
 */
const char *slot_token(const struct slot *r, char text[SLOT_TOKEN_SIZE]);
/*
 * The work is over, or the wait given up: the slots are free from now on, even if
 * a copy of the descriptor is still open somewhere.  NULL is fine.
 */
void slot_release(struct slot *r);
/* Close only our descriptor: held on as long as another process has a copy. */
void slot_drop(struct slot *r);

/*
 * Readable when it is worth looking; -1 where the kernel gave none, or none was
 * needed yet: ask anew each time one polls.
 */
int slots_doorbell_fd(const struct slots *s);
/* When to call slots_poll at the latest (clock_now_ms), -1: nothing waits. */
int64_t slots_deadline(const struct slots *s);
/*
 * Look, and take what is ours to have: only here and in slot_request do requests
 * become held.  Also does what a killed neighbour left undone.
 */
int slots_poll(struct slots *s, struct error *err);
/*
 * Block until the request is held (1), or until the deadline (negative: none) or
 * until `wake_fd` (-1: none), a signalfd or the like, is readable (0).
 */
int slot_wait(struct slot *r, int64_t deadline_ms, int wake_fd, struct error *err);
/*
 * In a child of fork: close every descriptor of the room but the hold of `keep`
 * (NULL: all). The seat is not to be used afterwards, nor freed.
 */
void slots_leave(struct slots *s, const struct slot *keep);

/* What a token says; all zero for one that is malformed or stale. */
struct slot_inside {
	bool is_live;
	/* It, or a hold that it is in, holds the machine exclusively. */
	bool is_exclusive;
	unsigned held;
	int32_t pid; /* who holds it, as that process knows itself */
};

/* The hold that this process runs in. */
struct slot_inside slots_inside(struct slots *s);
/* The same of any token, without taking a seat; no segment: stale. */
struct slot_inside slot_token_check(const char *segment, const char *token);

/*
 * Where this process runs inside a hold and is about to wait for another process: what
 * that one, or a process that it runs, waits for is granted from the hold from now on,
 * since it would be idle, and might be what the other one waits for.  So is what waits
 * inside of a hold of these.  What asks in another hold, of which ours is no part, is
 * lent only what is free of ours.  To be called now and then, as long as it is waited
 * for.  *ret_is_stuck: it waits for the whole machine, of which the hold is a part, so
 * neither would ever go on.  0, or -1 with *err.
 */
int slots_lend(struct slots *s, int32_t pid, uint64_t pid_namespace, bool *ret_is_stuck,
	       struct error *err);
/*
 * The hold inside of which a process runs, as its descriptors have it: the innermost that
 * it has a copy of and did not ask for itself, or one of its own that is exclusive.  A
 * worker has that of its job, a command of `gate run` that of its caller.  False where
 * there is none, or none that can be seen.
 */
bool slot_token_of_process(const char *segment, int32_t pid, char text[SLOT_TOKEN_SIZE]);

/*
 * Change the budget of a segment that exists: 1; 0 where there is none.  Raising
 * grants at once, lowering drains.
 */
int slots_budget_set(const char *segment, unsigned budget, struct error *err);

#endif
