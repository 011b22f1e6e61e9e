/* SPDX-License-Identifier: MIT */
/*
 * The table alone, walked at random: requests at the machine and inside holds, light and
 * exclusive ones, deaths, lending.  After each step it is asked what must hold at any
 * time; and now and then nobody comes any more, and all who are there must get through.
 *
 * What stands behind an entry is modelled as a run.  It ends when all has ended that was
 * asked for inside of it, and the run that it waits for, if any, as for its turn; while
 * it waits it lends.  Such waiting makes no circle by itself.
 *
 * GN_SLOT_TABLE_SEED=<n> walks that one alone.
 */
#include "ipc/slot_table.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/slot.h"

enum {
	SEEDS = 800,
	ROUNDS = 12,	   /* of a walk; each ends with nobody there */
	ROUND_STEPS = 120, /* at most */
	CROWD_MAX = 20,
	NOBODY = TABLE_CAPACITY,
};

/* A request that may be gone by now. */
struct who {
	unsigned place;
	uint64_t ticket; /* 0: nobody */
};

struct world {
	struct table table;
	bool is_alive[TABLE_CAPACITY];
	struct table_entry wish[TABLE_CAPACITY]; /* as its owner knows it */
	struct who born[TABLE_CAPACITY];	 /* inside of whom it was asked for */
	struct who awaited[TABLE_CAPACITY];	 /* whom it waits for */
	uint64_t seed;
	uint64_t random;
	unsigned step;
	uint32_t now_ms;
};

static unsigned
roll(struct world *w, unsigned n)
{
	uint64_t x = w->random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

/* --- who is who --- */

static bool
is_granted(const struct table_entry *e)
{
	return e->state == TABLE_HELD || e->state == TABLE_OFFER;
}

static bool
is_live(const struct world *w, unsigned i)
{
	return w->is_alive[i] && w->table.entries[i].state != TABLE_FREE;
}

static struct who
who_at(const struct world *w, unsigned i)
{
	return (struct who){ i, w->table.entries[i].ticket };
}

static bool
is_here(const struct world *w, struct who who)
{
	return who.ticket != 0 && is_live(w, who.place) &&
	       w->table.entries[who.place].ticket == who.ticket;
}

static bool
is_at(const struct world *w, struct who who, unsigned i)
{
	return who.place == i && is_here(w, who);
}

static unsigned
place_of(const struct world *w, struct who who)
{
	return is_here(w, who) ? who.place : (unsigned)NOBODY;
}

/* A hold that lives. */
static bool
is_hold(const struct world *w, unsigned i)
{
	return is_live(w, i) && w->table.entries[i].state == TABLE_HELD;
}

/* Can run `a` not end before `b` has? */
static bool
needs(const struct world *w, unsigned a, unsigned b)
{
	return is_live(w, a) && is_live(w, b) &&
	       (is_at(w, w->born[b], a) || is_at(w, w->awaited[a], b));
}

static bool
needs_in_the_end(const struct world *w, unsigned a, unsigned b)
{
	bool is_needed[TABLE_CAPACITY] = { false };
	bool is_more = true;

	is_needed[a] = true;
	while (is_more && !is_needed[b]) {
		is_more = false;
		for (unsigned i = 0; i < w->table.header.used; i++)
			for (unsigned k = 0; k < w->table.header.used; k++)
				if (is_needed[i] && !is_needed[k] && needs(w, i, k))
					is_needed[k] = is_more = true;
	}
	return is_needed[b];
}

/* Run `to`, or one that is inside of it, as its processes are. */
static bool
is_of(const struct world *w, unsigned i, unsigned to)
{
	while (i != to && is_here(w, w->born[i]))
		i = w->born[i].place;
	return i == to;
}

/* That, or in a hold of that, as it has slots. */
static bool
is_inside(const struct world *w, unsigned i, unsigned of)
{
	for (; i != TABLE_ROOT; i = table_pool(&w->table, i))
		if (is_of(w, i, of))
			return true;
	return false;
}

typedef bool is_such(const struct world *w, unsigned i);

/* One of those, or NOBODY. */
static unsigned
pick(struct world *w, is_such *such)
{
	unsigned n = 0, picked = NOBODY;

	for (unsigned i = 0; i < w->table.header.used; i++)
		if (such(w, i) && roll(w, ++n) == 0)
			picked = i;
	return picked;
}

/* --- what must hold --- */

static void
tell(const struct world *w)
{
	for (unsigned i = 0; i < w->table.header.used; i++) {
		const struct table_entry *e = &w->table.entries[i];

		if (e->state != TABLE_FREE)
			(void)fprintf(stderr,
				      "%u: ticket %" PRIu64 ", %s, state %u, flags %u, "
				      "marks %u, wants %u, has %u, in %u, born in %u, "
				      "waits for %u (256: none)\n",
				      i, e->ticket, w->is_alive[i] ? "lives" : "dead",
				      e->state, e->flags, e->marks, e->want, e->got,
				      table_pool(&w->table, i), place_of(w, w->born[i]),
				      place_of(w, w->awaited[i]));
	}
}

static void
must(const struct world *w, bool holds, const char *what, unsigned i)
{
	if (!holds)
		tell(w);
	cr_assert(holds, "seed %" PRIu64 ", step %u, entry %u: not %s", w->seed, w->step,
		  i, what);
}

static bool
alive(void *world, unsigned i)
{
	return ((const struct world *)world)->is_alive[i];
}

static struct table_settling
settling(struct world *w, const bool *is_own)
{
	return (struct table_settling){ .table = &w->table,
					.alive = alive,
					.context = w,
					.is_own = is_own,
					.now_ms = w->now_ms };
}

static void
check_pools(const struct world *w)
{
	const struct table *t = &w->table;
	unsigned taken[TABLE_CAPACITY + 1] = { 0 };

	for (unsigned i = 0; i < t->header.used; i++) {
		unsigned depth = 0;

		for (unsigned k = i; k != TABLE_ROOT; k = table_pool(t, k))
			must(w, depth++ < TABLE_CAPACITY, "a chain of pools that ends",
			     i);
		if (is_granted(&t->entries[i]))
			taken[table_pool(t, i)] += t->entries[i].got;
	}
	for (unsigned i = 0; i <= t->header.used; i++) {
		unsigned pool = i < t->header.used ? i : (unsigned)TABLE_ROOT;

		must(w, taken[pool] == 0 || taken[pool] <= table_pool_size(t, pool),
		     "within what the pool has", pool);
	}
}

/* Nobody loses what it has; what a hold leaves is of the pool that the hold was of. */
static void
check_survivor(const struct world *w, const struct table *before, unsigned i)
{
	const struct table_entry *was = &before->entries[i];
	const struct table_entry *is = &w->table.entries[i];
	bool is_lent = (was->marks & TABLE_LENT) != 0 && !is_granted(was);
	unsigned pool = table_pool(before, i);

	must(w, is->ticket == was->ticket && is->state != TABLE_FREE, "still there", i);
	must(w, was->state != TABLE_HELD || is->state == TABLE_HELD, "still held", i);
	must(w, was->state != TABLE_HELD || is->got == was->got, "as many slots", i);
	while (pool != TABLE_ROOT &&
	       (w->table.entries[pool].state != TABLE_HELD ||
		w->table.entries[pool].ticket != before->entries[pool].ticket))
		pool = is_lent ? (unsigned)TABLE_ROOT : table_pool(before, pool);
	/* One that was passed over goes home from either, when its owner looks. */
	must(w, table_pool(&w->table, i) == pool || is->state == TABLE_PASSED,
	     "in the pool that it is of", i);
}

/* Of an exclusive run that has ended.  Who lends to it bears it beside its own. */
static bool
is_left_alone(const struct world *w, unsigned i)
{
	const struct table_entry *born = &w->table.entries[w->born[i].place];

	return (w->table.entries[i].marks & (TABLE_ALONE | TABLE_LENT)) == TABLE_ALONE &&
	       (born->state != TABLE_HELD || born->ticket != w->born[i].ticket);
}

/* Entry i was granted just now; k is another one. */
static void
check_grant(const struct world *w, const struct table *before, unsigned i, unsigned k)
{
	const struct table *t = &w->table;
	const struct table_entry *e = &t->entries[i];
	const struct table_entry *other = &t->entries[k];
	unsigned pool = table_pool(t, i);

	if (table_pool(t, k) != pool || other->flags == TABLE_LIGHT)
		return;
	must(w,
	     e->flags == TABLE_LIGHT || other->state != TABLE_WAIT || !w->is_alive[k] ||
		 other->ticket > e->ticket,
	     "in its turn", i);
	if (!is_granted(other))
		return;
	must(w, e->flags != TABLE_EXCLUSIVE, "alone from the start", i);
	must(w, other->flags != TABLE_EXCLUSIVE, "outside of what is exclusive", i);
	must(w, !is_left_alone(w, k) || !is_granted(&before->entries[k]),
	     "away from what is left of an exclusive run", i);
}

static void
check(struct world *w, const struct table *before)
{
	struct table_settling again = settling(w, NULL);
	unsigned used = w->table.header.used;

	table_settle(&again);
	must(w, again.ndirty == 0, "settled at once", NOBODY);
	check_pools(w);
	for (unsigned i = 0; i < used; i++) {
		const struct table_entry *was = &before->entries[i];
		bool is_new;

		if (was->state != TABLE_FREE && w->is_alive[i])
			check_survivor(w, before, i);
		must(w,
		     w->table.entries[i].state != TABLE_OFFER ||
			 w->now_ms - w->table.entries[i].offered_ms <= SLOT_OFFER_MS,
		     "taken back when its time is over", i);
		is_new = !is_granted(was) && is_granted(&w->table.entries[i]);
		for (unsigned k = 0; is_new && k < used; k++)
			if (k != i)
				check_grant(w, before, i, k);
	}
}

/* --- what happens --- */

/* Settle, and see what came of it; the request of `ended` is over. */
static void
settle(struct world *w, unsigned ended, const bool *is_own)
{
	struct table_settling s = settling(w, is_own);
	struct table before = w->table;

	if (ended != NOBODY) {
		table_free(&s, ended);
		w->is_alive[ended] = false;
	}
	table_settle(&s);
	check(w, &before);
}

/* Where it asked. */
static unsigned
home(const struct world *w, unsigned i)
{
	const struct table_entry *wish = &w->wish[i];
	const struct table_entry *outer = &w->table.entries[wish->outer];

	return wish->outer_ticket != 0 && outer->state == TABLE_HELD &&
		       outer->ticket == wish->outer_ticket
		   ? wish->outer
		   : (unsigned)TABLE_ROOT;
}

/* Its owner looks at the table, and takes what is its own. */
static void
look(struct world *w, unsigned i)
{
	struct table_entry *e = &w->table.entries[i];
	struct table_entry *wish = &w->wish[i];
	bool is_lent = (e->marks & TABLE_LENT) != 0 && e->state != TABLE_HELD &&
		       e->state != TABLE_OFFER;

	if (is_lent &&
	    ((e->marks & TABLE_UP) != 0 ||
	     !table_is_within(&w->table, table_pool(&w->table, i), home(w, i))))
		*e = *wish;
	else if (!is_lent) {
		wish->outer = e->outer;
		wish->outer_ticket = e->outer_ticket;
		wish->marks = e->marks;
	}
	if (e->state == TABLE_OFFER)
		e->state = TABLE_HELD;
	if (e->state == TABLE_PASSED)
		e->state = TABLE_WAIT;
	if (e->state == TABLE_HELD && e->flags == TABLE_LIGHT) {
		e->state = TABLE_FREE;
		w->is_alive[i] = false;
	}
}

static bool
is_alone(const struct world *w, unsigned i)
{
	for (; i != TABLE_ROOT; i = table_pool(&w->table, i))
		if (w->table.entries[i].flags == TABLE_EXCLUSIVE)
			return true;
	return false;
}

static struct table_entry
wish_new(struct world *w, unsigned outer)
{
	struct table_entry e = { .ticket = table_next_ticket(&w->table),
				 .state = TABLE_WAIT };
	unsigned kind = roll(w, 8);

	e.want = (uint16_t)(1 + roll(w, 4));
	e.least = (uint16_t)(roll(w, 2) == 0 ? e.want : 1);
	if (kind == 0)
		e.flags = TABLE_LIGHT;
	/* Inside of what is not, it is refused. */
	else if (kind <= 2 && (outer == NOBODY || is_alone(w, outer)))
		e.flags = TABLE_EXCLUSIVE;
	if (outer != NOBODY) {
		e.outer = (uint16_t)outer;
		e.outer_ticket = w->table.entries[outer].ticket;
		if (w->table.entries[outer].flags == TABLE_EXCLUSIVE && roll(w, 2) == 0)
			e.marks = TABLE_ALONE;
	}
	return e;
}

static void
join(struct world *w)
{
	unsigned outer = roll(w, 3) == 0 ? NOBODY : pick(w, is_hold);
	bool is_own[TABLE_CAPACITY] = { false };
	unsigned i = 0;

	while (w->is_alive[i] || w->table.entries[i].state != TABLE_FREE)
		i++;
	if (i >= CROWD_MAX)
		return;
	w->wish[i] = wish_new(w, outer);
	if (i >= w->table.header.used) {
		w->table.header.used = i + 1;
		table_seal(&w->table);
	}
	w->table.entries[i] = w->wish[i];
	w->is_alive[i] = is_own[i] = true;
	w->born[i] = outer == NOBODY ? (struct who){ 0 } : who_at(w, outer);
	w->awaited[i] = (struct who){ 0 };
	settle(w, NOBODY, roll(w, 2) == 0 ? is_own : NULL);
}

/* What runs inside of hold i waits for another run. */
static void
await(struct world *w)
{
	unsigned i = pick(w, is_hold);
	unsigned to = pick(w, is_live);

	if (i != NOBODY && !is_here(w, w->awaited[i]) && !needs_in_the_end(w, to, i))
		w->awaited[i] = who_at(w, to);
}

/* As slots_lend does. */
static void
lend(struct world *w, unsigned hold)
{
	struct who to = w->awaited[hold];

	if (!is_hold(w, hold))
		return;
	for (unsigned i = 0; is_here(w, to) && i < w->table.header.used; i++) {
		struct table_settling s = settling(w, NULL);
		enum table_lending lending = table_lending(&s, i, hold);

		if (lending == TABLE_LEND_NOT || !is_inside(w, i, to.place))
			continue;
		if (lending == TABLE_LEND_STUCK) {
			/* It is told, and waits no longer. */
			w->awaited[hold] = to = (struct who){ 0 };
			continue;
		}
		must(w, w->table.entries[i].flags != TABLE_EXCLUSIVE || is_alone(w, hold),
		     "inside of what is exclusive itself", i);
		table_lend(&s, i, hold);
		settle(w, NOBODY, NULL);
	}
}

static void
look_all(struct world *w)
{
	for (unsigned i = 0; i < w->table.header.used; i++)
		if (is_live(w, i))
			look(w, i);
	settle(w, NOBODY, NULL);
}

static void
happen(struct world *w)
{
	unsigned i = pick(w, is_live);

	switch (i == NOBODY ? 0 : roll(w, 16)) {
	case 6:
		settle(w, i, NULL);
		break;
	case 7:
		w->is_alive[i] = false;
		if (roll(w, 2) == 0)
			settle(w, NOBODY, NULL);
		break;
	case 8:
		w->now_ms += roll(w, 2 * SLOT_OFFER_MS);
		settle(w, NOBODY, NULL);
		break;
	case 9:
	case 10:
		await(w);
		break;
	case 11:
	case 12:
		lend(w, i);
		break;
	case 13:
		look(w, i);
		settle(w, NOBODY, NULL);
		break;
	case 14:
	case 15:
		look_all(w);
		break;
	default:
		join(w);
	}
}

/* --- nobody comes any more --- */

static bool
can_end(const struct world *w, unsigned i)
{
	if (!is_hold(w, i))
		return false;
	for (unsigned k = 0; k < w->table.header.used; k++)
		if (needs(w, i, k))
			return false;
	return true;
}

static bool
is_offered(const struct world *w, unsigned i)
{
	return is_live(w, i) && w->table.entries[i].state == TABLE_OFFER;
}

/*
 * An exclusive request that is inside of a hold, where that, or one that waits for it, is
 * no longer inside of an exclusive one: so neither asks nor lends who comes now.  It
 * gives up in its time.
 */
static bool
is_late(const struct world *w, unsigned i)
{
	const struct table_entry *e = &w->table.entries[i];
	unsigned pool = table_pool(&w->table, i);

	if (!is_live(w, i) || e->state != TABLE_WAIT || e->flags != TABLE_EXCLUSIVE ||
	    pool == TABLE_ROOT)
		return false;
	for (unsigned k = 0; k < w->table.header.used; k++)
		if (is_hold(w, k) && !is_alone(w, k) &&
		    (k == pool || is_at(w, w->awaited[k], i)))
			return true;
	return false;
}

/*
 * It waits for a run that has slots and waits itself, and cannot lend them, since they
 * are used by what a dead run left.  Nobody lends on behalf of another, so that is the
 * one circle that is not broken; it ends here as by a signal.
 */
static bool
is_lost(const struct world *w, unsigned i)
{
	unsigned awaited = place_of(w, w->awaited[i]);

	if (!is_hold(w, i) || awaited == NOBODY || !is_hold(w, awaited))
		return false;
	for (unsigned k = 0; k < w->table.header.used; k++)
		if (is_hold(w, k) && k != awaited &&
		    table_is_within(&w->table, k, awaited) &&
		    (w->table.entries[k].marks & TABLE_UP) != 0)
			return true;
	return false;
}

/* The next one that ends, or NOBODY. */
static unsigned
pick_end(struct world *w, unsigned patience)
{
	unsigned i = pick(w, patience > 1 ? can_end : is_late);

	return patience > 1 || i != NOBODY ? i : pick(w, is_lost);
}

/* Who can end does, one after the other: that must lead on until nobody is left. */
static void
drain(struct world *w)
{
	unsigned patience = CROWD_MAX;

	while (patience > 0 && pick(w, is_live) != NOBODY) {
		unsigned i;

		w->step++;
		look_all(w);
		for (i = 0; i < w->table.header.used; i++)
			lend(w, i);
		i = pick_end(w, patience);
		if (i != NOBODY)
			settle(w, i, NULL);
		if (i != NOBODY || pick(w, is_offered) != NOBODY)
			patience = CROWD_MAX;
		else
			patience--;
	}
	must(w, patience > 0, "all of them served", NOBODY);
	settle(w, NOBODY, NULL);
	for (unsigned i = 0; i < w->table.header.used; i++)
		must(w, w->table.entries[i].state == TABLE_FREE, "free in the end", i);
}

static void
walk(uint64_t seed)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	w.seed = w.random = seed;
	/* Its low bits run over on the way. */
	w.now_ms = UINT32_MAX - 1000;
	for (unsigned round = 0; round < ROUNDS; round++) {
		table_init(&w.table, 1 + roll(&w, 6), table_next_ticket(&w.table));
		for (unsigned n = roll(&w, ROUND_STEPS); n > 0; n--, w.step++)
			happen(&w);
		drain(&w);
	}
}

Test(slot_table, holds_what_it_promises_whatever_happens, .timeout = 60)
{
	const char *seed = getenv("GN_SLOT_TABLE_SEED");

	if (seed != NULL) {
		walk(strtoull(seed, NULL, 10));
		return;
	}
	for (uint64_t i = 1; i <= SEEDS; i++)
		walk(i);
}
