/* SPDX-License-Identifier: MIT */
/*
 * Actors: processes with a seat at a segment that do what they are told.  Each
 * ends when its pipe is closed, and is killed at the latest when the test's
 * process ends.
 */
#ifndef TESTS_IPC_ACTOR_H
#define TESTS_IPC_ACTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "ipc/slot.h"

enum actor_order_kind {
	ACTOR_REQUEST, /* wish; `slot` is where to keep it */
	ACTOR_WAIT,    /* until held, at most ms */
	ACTOR_POLL,
	ACTOR_RELEASE,
	ACTOR_WORKER, /* fork one that keeps this hold; answers its pid */
	ACTOR_LOCK,   /* take the table lock, and keep it */
};

enum {
	ACTOR_SLOTS = 8
};

struct actor_order {
	enum actor_order_kind kind;
	unsigned slot;
	unsigned want, least;
	bool exclusive;
	int inside; /* a slot of the actor, or -1 */
	int ms;
};

struct actor_answer {
	int rc;
	enum slot_state state; /* of the slot in question */
	unsigned count;
	unsigned share;
	pid_t pid;
	int took_ms;
	char token[SLOT_TOKEN_SIZE];
	char text[256]; /* of an error */
};

struct actor {
	pid_t pid;
	int orders; /* ends of pipes */
	int answers;
};

/* A segment of this test's own, that does not exist; a static string. */
const char *actor_segment(void);
struct slots_config actor_config(unsigned budget);
struct slots *actor_seat(unsigned budget);
/* A seat of this process inside a hold. */
struct slots *seat_inside(unsigned budget, const struct slot *hold);
/* Requests of a seat of this process, and a look at them. */
struct slot *ask(struct slots *s, unsigned want, unsigned least);
struct slot *ask_exclusive(struct slots *s, const struct slot *inside);
void look(struct slots *s);
/* Starts it, and waits until it has its seat. */
struct actor actor_new(const struct slots_config *config);
struct actor_answer actor_do(struct actor *a, struct actor_order order);
struct actor_answer actor_request(struct actor *a, unsigned slot, unsigned want);
struct actor_answer actor_exclusive(struct actor *a, unsigned slot);
struct actor_answer actor_wait(struct actor *a, unsigned slot, int ms);
struct actor_answer actor_poll(struct actor *a, unsigned slot);
struct actor_answer actor_release(struct actor *a, unsigned slot);
/* SIGKILL, and reap. */
void actor_kill(struct actor *a);
/* Let it end by itself. */
void actor_end(struct actor *a);
/* How many slots can be had at this moment, by asking for all of them. */
unsigned actor_free_slots(const char *segment);

#endif
