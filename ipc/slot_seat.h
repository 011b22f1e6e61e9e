/* SPDX-License-Identifier: MIT */
/*
 * A seat from inside: what slot.c, slot_seat.c and slot_list.c share.  Internal.
 *
 * The seat's own descriptor takes the table lock and reads and writes; it holds
 * the seat byte, shared, and never the byte of an entry.  So asking through it
 * whether an entry's owner lives is right for our own requests as well.
 *
 * A section of the table: seat_enter, change the copy, seat_exit.  Killed in
 * between, whole entries are written or they are not, and those that take come
 * before those that give: at no instant do they say that more may be held than
 * there is.  What is left inside of a hold is moved out before that one is free.
 */
#ifndef IPC_SLOT_SEAT_H
#define IPC_SLOT_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/error.h"
#include "ipc/slot.h"
#include "ipc/slot_table.h"

struct slot {
	struct slots *seat;
	struct slot *next;
	int fd;	   /* a description of its own; -1 for a light one */
	int entry; /* whose byte it has locked; -1: outside of the table */
	enum slot_state state;
	struct table_entry wish; /* as it stands, or is to stand, in the table */
	int64_t since_ms;
	char *label;
	bool has_waited; /* was not served at once */
	bool is_stray;	 /* its segment lost its name: the lock is all there is */
};

struct slots {
	char *name; /* NULL: private */
	int fd;
	uint64_t inode;
	int bell; /* -1 until something has to wait */
	char *directory;
	unsigned budget;       /* for a segment that is unused; then what was last seen */
	unsigned heavy;	       /* cap of the share; 0: none */
	bool has_seen;	       /* it was sound once: what is not sound now is damage */
	uint16_t outer;	       /* the hold that we run in */
	uint64_t outer_ticket; /* 0: none */
	int32_t pid;
	uint64_t start_ticks;
	uint64_t pid_namespace;
	struct slot *first; /* in the order of asking */
	int64_t next_ms;    /* look again, clock_now_ms */
};

struct seat_section {
	struct slots *seat;
	struct table table;	    /* change the copy, then exit */
	struct table_header before; /* as it was read */
	bool is_own[TABLE_CAPACITY];
	struct table_settling settling;
};

int seat_open(const struct slots_config *config, bool is_private, struct slots **ret_seat,
	      struct error *err);
void seat_free(struct slots *s);
/* What to call the segment in messages. */
const char *seat_title(const struct slots *s);
/* Forget our place in a segment without a name, and join the one that has it. */
int seat_move(struct slots *s, struct error *err);
/*
 * Lock the table and read it: 1, or 0 when somebody else has it for longer than we
 * wait.  Unsound: made anew, if that is allowed.  Our own requests are as we know
 * them afterwards, whatever the table said.
 */
int seat_enter(struct slots *s, struct seat_section *ret_section, struct error *err);
/* The hold that it asked in, or that one is of since, or TABLE_ROOT. */
unsigned slot_home(const struct slot *r, const struct table *t);
/*
 * It was lent to us while we waited, and either that hold has ended or it is elsewhere
 * than what we ask for, and no longer free: we are to wait at home.
 */
bool seat_is_stranded(const struct slot *r, const struct table *t);
/* Put `e` at place i; there are entries up to TABLE_CAPACITY. */
void seat_put(struct seat_section *x, unsigned i, const struct table_entry *e);
/* Write what changed, unlock, and ring if somebody else was offered slots. */
void seat_exit(struct seat_section *x);
/* Read without the lock: a hint, maybe torn.  False when it is not sound. */
bool seat_peek(struct slots *s, struct table *ret_table);
/* A settling of that table by this seat. */
struct table_settling seat_settling(struct slots *s, struct table *t, const bool *is_own);
/* Does the owner of entry i live?  `fd` points to a descriptor that owns none. */
bool seat_is_alive(void *fd, unsigned i);
/* It has a layout that is none of ours, and a live process uses it: -1. */
int seat_refuse_layout(const char *title, struct error *err);
/* What is in the segment, sound or not; 0 bytes where it cannot be read. */
size_t seat_read(int fd, struct table *ret_table);

/* Requests, in slot_turn.c. */

/* A description of its own, on the segment as it is called now. */
int slot_open_hold(struct slot *r, struct error *err);
/* A light one that need not wait takes no place in the table. */
bool slot_is_free_to_go(const struct slot *r);
/*
 * One section for all that we want.  Those outside of the table join in the order
 * of asking: one that finds no room keeps the later ones out.  1; 0 when somebody
 * has the lock.
 */
int slots_take(struct slots *s, struct error *err);

/* Names, in slot_name.c. */

bool seat_name_read(int fd, unsigned i, uint64_t ticket, struct table_name *ret_name);
void seat_name_write(const struct slot *r);
/* Field 22 of /proc/<pid>/stat and its state letter; 0: not to be seen. */
uint64_t seat_start_ticks(int32_t pid, char *ret_state);

/* The hold that this process runs in, in that table, or TABLE_ROOT. */
unsigned seat_pool(const struct slots *s, const struct table *t);
/* What is to be said of the hold at place i. */
struct slot_inside seat_inside_of(int fd, const struct table *t, unsigned i);
/* The live hold that a token means, or -1. */
int seat_token_find(int fd, const struct table *t, const char *text);

#endif
