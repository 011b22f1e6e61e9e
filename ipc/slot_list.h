/* SPDX-License-Identifier: MIT */
/*
 * Slot list: who holds and who waits, for people.  Decides nothing.
 */
#ifndef IPC_SLOT_LIST_H
#define IPC_SLOT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "ipc/error.h"
#include "ipc/slot.h"

struct slot_info {
	uint64_t ticket; /* order of asking */
	uint64_t outer;	 /* ticket of the hold that it is granted from; 0: the machine */
	bool is_held;	 /* else it waits */
	bool is_exclusive;
	bool is_light;
	unsigned want;
	unsigned held;	  /* slots; 0 while it waits */
	int32_t pid;	  /* 0: not known */
	bool is_foreign;  /* a pid of another pid namespace: means nothing here */
	bool is_stopped;  /* as far as can be seen */
	int64_t since_ms; /* of asking, then of the grant; clock_wall_ms; 0: not known */
	char *directory;  /* may be cut; "" where not known */
	char *label;
};

struct slot_list {
	unsigned budget;	 /* 0: there is no segment */
	bool is_idle;		 /* nobody uses it: who comes next says the budget */
	struct slot_info *items; /* holders first, then the queue, by ticket */
	size_t nitems;
};

/* Of a seat's segment.  Nobody in it where it is not sound. */
void slots_list(struct slots *s, struct slot_list *ret_list);
/* The holders alone: the same effort however many wait. */
void slots_list_holders(struct slots *s, struct slot_list *ret_list);
/*
 * Of a segment by name (NULL: the user's), leaving no trace in it; where there is no
 * shared memory there is no segment.  Fails as slots_open
 * does where the name is not ours to use, and where a live process uses a layout that
 * this version does not know.
 */
int slots_look(const char *segment, struct slot_list *ret_list, struct error *err);
void slot_list_release(struct slot_list *list);
/* `pid 12 in /dir (label), 2 slots since 2026-10-14T10:12:03.000Z` */
void slot_info_to_text(const struct slot_info *info, struct buf *b);
/*
 * Why nobody gets any further: the pid that has had the table's lock for long,
 * since it is stopped within; 0 where it cannot be seen.
 */
int32_t slots_lock_owner(struct slots *s);

#endif
