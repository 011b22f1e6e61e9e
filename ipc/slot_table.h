/* SPDX-License-Identifier: MIT */
/*
 * Slot table: what lies in the segment, and the one rule by which it is granted.
 * Internal to the slots; no descriptors and no waiting here.
 *
 * Layout: a header, the entries, and far behind them a name for each entry.  The
 * table lock guards all of it.  Bytes that are locked, from SHM_LOCK_BASE on:
 * TABLE_LOCK is the table lock, TABLE_ENTRY + i says that the owner of entry i
 * lives, TABLE_SEAT (shared) that a process has a seat.  These bytes are the only
 * promise between versions of the layout: any of them locked is "in use".
 *
 * States of an entry, and who moves it:
 *
 *            join             settle            owner confirms
 *    FREE ---------> WAIT -----------> OFFER -----------------> HELD
 *     ^               ^                  | settle: too late       |
 *     |               |  owner is back   v                        |
 *     |               +--------------- PASSED                     |
 *     +-- release, or settle when the owner's byte is free -------+
 *
 * Nothing is counted in the table: whoever looks computes everything anew, so a
 * change left half done by a killed process is finished by the next one.
 */
#ifndef IPC_SLOT_TABLE_H
#define IPC_SLOT_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SLOT_TABLE_CAPACITY
#define SLOT_TABLE_CAPACITY 256 /* tests build it smaller */
#endif

enum {
	TABLE_CAPACITY = SLOT_TABLE_CAPACITY,
	TABLE_ROOT = TABLE_CAPACITY, /* the pool that is the machine */
	/* Places that are kept for what runs inside holds: those who wait for the machine
	 * wait for these to end. */
	TABLE_RESERVE = TABLE_CAPACITY / 8,
	TABLE_LAYOUT = 1,
	TABLE_NAMES_AT = 16384,

	TABLE_LOCK = 0,
	TABLE_ENTRY = 1,
	TABLE_SEAT = 1 << 16,
	TABLE_LOCKS = 1 << 20, /* bytes promised to be ours */
};

enum table_state {
	TABLE_FREE,
	TABLE_WAIT,
	TABLE_OFFER,
	TABLE_HELD,
	TABLE_PASSED,
};

enum {
	TABLE_EXCLUSIVE = 1,
	TABLE_LIGHT = 2,
};

enum {
	TABLE_LENT = 1, /* `outer` was given while it waited, and may be younger */
	/* Of a run that has the machine alone: where that run is dead and this lives yet,
	 * nobody starts beside it. */
	TABLE_ALONE = 2,
	TABLE_UP = 4,	/* as TABLE_LENT, since the hold that it was in has ended */
	TABLE_LEFT = 8, /* an exclusive hold that it was in has ended */
};

struct table_header {
	uint64_t magic;
	uint32_t layout;
	uint32_t capacity;
	uint32_t budget;
	uint32_t used;	 /* no entry from here on is other than FREE */
	uint64_t ticket; /* all tickets of entries from `used` on are smaller */
	uint64_t check;	 /* over all of the above */
	uint64_t spare[3];
};

struct table_entry {
	uint64_t ticket;       /* kept when FREE, so that no ticket comes twice */
	uint64_t outer_ticket; /* with `outer`: the hold that it is granted from; or 0 */
	uint16_t outer;
	uint8_t state;
	uint8_t flags;
	uint16_t want;
	uint16_t least;
	uint16_t got;
	uint16_t marks;
	uint32_t offered_ms; /* low bits of clock_now_ms */
};

struct table {
	struct table_header header;
	struct table_entry entries[TABLE_CAPACITY];
};

/* For people.  `text` is the directory and the label, each with its NUL. */
struct table_name {
	uint64_t ticket; /* belongs to this one, or to nobody */
	int64_t since_ms;
	uint64_t start_ticks; /* of the process, /proc/<pid>/stat */
	uint64_t pid_namespace;
	int32_t pid;
	uint32_t text_bytes;
	char text[984];
};

static_assert(sizeof(struct table_header) == 64, "layout");
static_assert(sizeof(struct table_entry) == 32, "layout");
static_assert(sizeof(struct table_name) == 1024, "layout");
static_assert(sizeof(struct table) <= TABLE_NAMES_AT, "layout");

enum table_verdict {
	TABLE_SOUND,
	TABLE_EMPTY, /* nothing but zeros, or too short: new, truncated, or half made */
	TABLE_FOREIGN,
};

/* What `nbytes` read from the segment are. */
enum table_verdict table_check(const struct table *t, size_t nbytes);
/* An empty table; `ticket` is larger than any given before. */
void table_init(struct table *t, unsigned budget, uint64_t ticket);
/* To be called after each change of the header. */
void table_seal(struct table *t);
/*
 * Make every entry one that can be reckoned with.  What makes no sense counts as
 * held, until its owner's byte shows that there is none.
 */
void table_clean(struct table *t);
uint64_t table_next_ticket(const struct table *t);
/* The hold from which entry i is granted, or TABLE_ROOT. */
unsigned table_pool(const struct table *t, unsigned i);
/* How many slots a pool has. */
unsigned table_pool_size(const struct table *t, unsigned pool);
/* Is `outer` the entry itself or a hold that it is in? */
bool table_is_within(const struct table *t, unsigned i, unsigned outer);

/* Is there a place for one more request, at the machine or inside a hold? */
bool table_has_room(const struct table *t, bool is_inside);
/* No older request waits for the same pool. */
bool table_is_first(const struct table *t, unsigned i);

/* Does the owner of entry i live? */
typedef bool table_alive_fn(void *context, unsigned i);

struct table_settling {
	struct table *table;
	table_alive_fn *alive;
	void *context;
	const bool
	    *is_own; /* per entry: known alive, granted without an offer; or NULL */
	uint32_t now_ms;
	/* Out: */
	bool dirty[TABLE_CAPACITY]; /* entries that changed */
	bool moved[TABLE_CAPACITY]; /* of these: to another pool */
	unsigned ndirty;
	bool has_offered; /* somebody else is to be told */
	bool has_swept;
};

/*
 * The request at place i is over.  What is left inside of it counts from now on in the
 * pool that it was of itself.  What waits and was lent to it goes back by itself to where
 * it asked, since nobody is known to wait for it any more.
 */
void table_free(struct table_settling *s, unsigned i);
enum table_lending {
	TABLE_LEND_NOT,
	TABLE_LEND,
	TABLE_LEND_STUCK, /* it waits for all of what the hold is a part of, for ever */
};

/*
 * Is entry i to be granted from `hold` by the one who is in that and waits for it?  Yes,
 * where it waits for what the hold is a part of.  Where it waits elsewhere, for holders
 * who may wait for that hold in their turn, only if it is served at once: so it never
 * waits for anybody for whom it did not wait before.
 */
enum table_lending table_lending(const struct table_settling *s, unsigned i,
				 unsigned hold);
/* What waits at place i is granted from that hold from now on. */
void table_lend(struct table_settling *s, unsigned i, unsigned hold);
/* Free what the dead had, and take back offers that nobody took.  Once a settling. */
void table_sweep(struct table_settling *s);
/*
 * Free what the dead had, take back offers that nobody took, and grant in the order
 * of tickets, pool by pool, until the first of a pool does not fit.  Calling it
 * again changes nothing.
 */
void table_settle(struct table_settling *s);
/* Free every entry whose owner is dead, wherever it stands in the queue. */
void table_reap(struct table_settling *s);
/*
 * A light request, granted from `pool`, has to wait for an exclusive holder there.  One
 * that is elsewhere is alone there, as what is beside it goes on as well, and might wait
 * for us.
 */
bool table_light_waits(const struct table *t, unsigned pool, table_alive_fn *alive,
		       void *context);

#endif
