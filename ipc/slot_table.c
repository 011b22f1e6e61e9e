/* SPDX-License-Identifier: MIT */
#include "ipc/slot_table.h"

#include <limits.h>
#include <string.h>

#include "ipc/slot.h"

#define TABLE_MAGIC UINT64_C(0x31746c736e6f6567) /* "geonslt1" */
#define TABLE_TICKET_MAX ((uint64_t)INT64_MAX)

static uint64_t
table_checksum(const struct table_header *h)
{
	const uint64_t words[] = {
		h->magic,
		(uint64_t)h->layout << 32 | h->capacity,
		(uint64_t)h->budget << 32 | h->used,
		h->ticket,
	};
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	return sum;
}

static bool
table_is_zero(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

enum table_verdict
table_check(const struct table *t, size_t nbytes)
{
	const struct table_header *h = &t->header;

	/* No layout is as short as that: it was cut off. */
	if (nbytes < sizeof(*h) || table_is_zero(h, sizeof(*h)))
		return TABLE_EMPTY;
	if (h->magic != TABLE_MAGIC || h->layout != TABLE_LAYOUT ||
	    h->capacity != TABLE_CAPACITY || h->check != table_checksum(h) ||
	    h->budget < 1 || h->budget > SLOT_BUDGET_MAX || h->used > TABLE_CAPACITY)
		return TABLE_FOREIGN;
	/* Ours, and cut off behind the header. */
	if (nbytes < sizeof(*h) + h->used * sizeof(t->entries[0]))
		return TABLE_EMPTY;
	return TABLE_SOUND;
}

void
table_init(struct table *t, unsigned budget, uint64_t ticket)
{
	memset(t, 0, sizeof(*t));
	t->header.magic = TABLE_MAGIC;
	t->header.layout = TABLE_LAYOUT;
	t->header.capacity = TABLE_CAPACITY;
	t->header.budget = budget;
	t->header.ticket = ticket;
	table_seal(t);
}

void
table_seal(struct table *t)
{
	t->header.check = table_checksum(&t->header);
}

void
table_clean(struct table *t)
{
	for (unsigned i = 0; i < t->header.used; i++) {
		struct table_entry *e = &t->entries[i];

		if (e->ticket >= TABLE_TICKET_MAX)
			e->ticket = 0;
		if (e->state == TABLE_FREE)
			continue;
		if (e->state > TABLE_PASSED || e->want > SLOT_BUDGET_MAX ||
		    e->got > SLOT_BUDGET_MAX || e->flags > TABLE_LIGHT) {
			e->state = TABLE_HELD;
			e->flags = 0;
			e->want = e->got = 1;
		}
		if (e->want < 1)
			e->want = 1;
		if (e->least < 1 || e->least > e->want)
			e->least = 1;
		if (e->state == TABLE_HELD && e->got < 1 && e->flags != TABLE_LIGHT)
			e->got = 1;
	}
}

uint64_t
table_next_ticket(const struct table *t)
{
	uint64_t last = t->header.ticket;

	for (unsigned i = 0; i < t->header.used; i++)
		if (t->entries[i].ticket > last)
			last = t->entries[i].ticket;
	return last + 1;
}

unsigned
table_pool(const struct table *t, unsigned i)
{
	const struct table_entry *e = &t->entries[i];
	const struct table_entry *outer;

	if (e->outer_ticket == 0 || e->outer >= t->header.used)
		return TABLE_ROOT;
	outer = &t->entries[e->outer];
	/* The outer one asked first, or lent what it has. */
	if (outer->state != TABLE_HELD || outer->ticket != e->outer_ticket ||
	    (outer->ticket >= e->ticket && (e->marks & (TABLE_LENT | TABLE_UP)) == 0) ||
	    outer->flags == TABLE_LIGHT)
		return TABLE_ROOT;
	return e->outer;
}

unsigned
table_pool_size(const struct table *t, unsigned pool)
{
	return pool == TABLE_ROOT ? t->header.budget : t->entries[pool].got;
}

bool
table_is_within(const struct table *t, unsigned i, unsigned outer)
{
	/* Not for ever, whatever the bytes say. */
	for (unsigned n = 0; n < TABLE_CAPACITY && i != TABLE_ROOT && i != outer; n++)
		i = table_pool(t, i);
	return i == outer;
}

bool
table_has_room(const struct table *t, bool is_inside)
{
	unsigned places = TABLE_CAPACITY - t->header.used;

	for (unsigned i = 0; i < t->header.used; i++)
		if (t->entries[i].state == TABLE_FREE)
			places++;
	return places > (is_inside ? 0U : (unsigned)TABLE_RESERVE);
}

bool
table_is_first(const struct table *t, unsigned i)
{
	unsigned pool = table_pool(t, i);

	for (unsigned k = 0; k < t->header.used; k++)
		if (t->entries[k].state == TABLE_WAIT &&
		    t->entries[k].flags != TABLE_LIGHT &&
		    t->entries[k].ticket < t->entries[i].ticket &&
		    table_pool(t, k) == pool)
			return false;
	return true;
}

static bool
table_is_granted(const struct table_entry *e)
{
	return e->state == TABLE_HELD || e->state == TABLE_OFFER;
}

/* What is left of a run that had its pool alone. */
static bool
table_is_orphan(const struct table *t, unsigned i)
{
	unsigned pool = table_pool(t, i);

	return (t->entries[i].marks & TABLE_ALONE) != 0 &&
	       table_is_granted(&t->entries[i]) &&
	       ((t->entries[i].marks & TABLE_LEFT) != 0 || pool == TABLE_ROOT ||
		t->entries[pool].flags != TABLE_EXCLUSIVE);
}

bool
table_light_waits(const struct table *t, unsigned pool, table_alive_fn *alive,
		  void *context)
{
	for (unsigned i = 0; i < t->header.used; i++)
		if (table_pool(t, i) == pool && table_is_granted(&t->entries[i]) &&
		    (t->entries[i].flags == TABLE_EXCLUSIVE || table_is_orphan(t, i)) &&
		    alive(context, i))
			return true;
	return false;
}

static void
settling_set(struct table_settling *s, unsigned i, enum table_state state)
{
	s->table->entries[i].state = (uint8_t)state;
	if (!s->dirty[i])
		s->ndirty++;
	s->dirty[i] = true;
}

static bool
settling_is_own(const struct table_settling *s, unsigned i)
{
	return s->is_own != NULL && s->is_own[i];
}

static bool
settling_is_dead(struct table_settling *s, unsigned i)
{
	return !settling_is_own(s, i) && !s->alive(s->context, i);
}

/* Entry i is of that pool from now on. */
static void
settling_move(struct table_settling *s, unsigned i, unsigned pool)
{
	struct table_entry *e = &s->table->entries[i];

	e->outer = (uint16_t)(pool == TABLE_ROOT ? 0 : pool);
	e->outer_ticket = pool == TABLE_ROOT ? 0 : s->table->entries[pool].ticket;
	e->marks |= TABLE_UP;
	s->moved[i] = true;
	settling_set(s, i, e->state);
}

void
table_free(struct table_settling *s, unsigned i)
{
	struct table *t = s->table;
	unsigned pool = table_pool(t, i);

	for (unsigned k = 0; k < t->header.used; k++) {
		struct table_entry *e = &t->entries[k];

		if (e->state == TABLE_FREE || table_pool(t, k) != i ||
		    (!table_is_granted(e) && (e->marks & TABLE_LENT) != 0))
			continue;
		if (t->entries[i].flags == TABLE_EXCLUSIVE)
			e->marks |= TABLE_LEFT;
		settling_move(s, k, pool);
	}
	settling_set(s, i, TABLE_FREE);
}

void
table_reap(struct table_settling *s)
{
	for (unsigned i = 0; i < s->table->header.used; i++)
		if (s->table->entries[i].state != TABLE_FREE && settling_is_dead(s, i))
			table_free(s, i);
}

void
table_sweep(struct table_settling *s)
{
	if (s->has_swept)
		return;
	s->has_swept = true;
	for (unsigned i = 0; i < s->table->header.used; i++) {
		const struct table_entry *e = &s->table->entries[i];

		if (e->state == TABLE_FREE || e->state == TABLE_WAIT)
			continue;
		if (settling_is_dead(s, i))
			table_free(s, i);
		/* Modulo 2^32; an offer from the future is one of another clock. */
		else if (e->state == TABLE_OFFER && !settling_is_own(s, i) &&
			 s->now_ms - e->offered_ms > SLOT_OFFER_MS)
			settling_set(s, i, TABLE_PASSED);
	}
}

/* What is taken of each pool. */
struct pool_use {
	unsigned slots;
	unsigned holders;
	bool is_exclusive;
	bool is_closed; /* its first does not fit: nobody overtakes */
};

static void
settling_grant(struct table_settling *s, unsigned i, unsigned got)
{
	struct table_entry *e = &s->table->entries[i];

	e->got = (uint16_t)got;
	e->offered_ms = s->now_ms;
	if (settling_is_own(s, i)) {
		settling_set(s, i, TABLE_HELD);
	} else {
		settling_set(s, i, TABLE_OFFER);
		s->has_offered = true;
	}
}

static void
pool_add(struct pool_use *use, const struct table_entry *e)
{
	if (e->flags == TABLE_LIGHT)
		return;
	use->slots += e->got;
	use->holders++;
	if (e->flags == TABLE_EXCLUSIVE)
		use->is_exclusive = true;
}

/* What entry i takes of the pool that it is of. */
static void
pool_count(struct pool_use *use, const struct table *t, unsigned i)
{
	if (table_is_granted(&t->entries[i]))
		pool_add(use, &t->entries[i]);
	if (table_is_orphan(t, i))
		use->is_exclusive = true;
}

/* How many slots the entry gets now; 0: it has to wait. */
static unsigned
pool_fit(const struct pool_use *use, unsigned size, const struct table_entry *e)
{
	unsigned want = e->want < size ? e->want : size;
	unsigned least = e->least < size ? e->least : size;
	unsigned left = use->slots < size ? size - use->slots : 0;

	if (e->flags == TABLE_EXCLUSIVE)
		return use->holders == 0 ? size : 0;
	if (use->is_exclusive || left < least)
		return 0;
	return want < left ? want : left;
}

/* Does it, or one that it is in, hold its pool alone?  Of the living only. */
static bool
settling_is_alone(const struct table_settling *s, unsigned i)
{
	const struct table *t = s->table;

	for (unsigned n = 0; n < TABLE_CAPACITY && i != TABLE_ROOT; n++) {
		if (!s->alive(s->context, i))
			return false;
		if (t->entries[i].flags == TABLE_EXCLUSIVE)
			return true;
		i = table_pool(t, i);
	}
	return false;
}

/* Would entry i be served at once if it were of that pool? */
static bool
settling_would_grant(const struct table_settling *s, unsigned i, unsigned pool)
{
	const struct table *t = s->table;
	const struct table_entry *e = &t->entries[i];
	struct pool_use use = { 0 };

	if (e->state != TABLE_WAIT)
		return false;
	if (e->flags == TABLE_LIGHT)
		return !table_light_waits(t, pool, s->alive, s->context);
	for (unsigned k = 0; k < t->header.used; k++) {
		if (table_pool(t, k) != pool || t->entries[k].flags == TABLE_LIGHT)
			continue;
		if (t->entries[k].state == TABLE_WAIT && t->entries[k].ticket < e->ticket)
			return false;
		pool_count(&use, t, k);
	}
	return pool_fit(&use, table_pool_size(t, pool), e) > 0;
}

enum table_lending
table_lending(const struct table_settling *s, unsigned i, unsigned hold)
{
	const struct table *t = s->table;
	const struct table_entry *e = &t->entries[i];
	unsigned pool = table_pool(t, i);
	bool is_part = table_is_within(t, hold, pool);

	if ((e->state != TABLE_WAIT && e->state != TABLE_PASSED) || pool == hold)
		return TABLE_LEND_NOT;
	if (e->flags == TABLE_EXCLUSIVE && !settling_is_alone(s, hold))
		return is_part && s->alive(s->context, i) ? TABLE_LEND_STUCK
							  : TABLE_LEND_NOT;
	return is_part || settling_would_grant(s, i, hold) ? TABLE_LEND : TABLE_LEND_NOT;
}

void
table_lend(struct table_settling *s, unsigned i, unsigned hold)
{
	struct table_entry *e = &s->table->entries[i];

	e->marks = (uint16_t)((e->marks & ~TABLE_UP) | TABLE_LENT);
	e->outer = (uint16_t)hold;
	e->outer_ticket = s->table->entries[hold].ticket;
	settling_set(s, i, e->state);
}

static void
settling_light(struct table_settling *s)
{
	for (unsigned i = 0; i < s->table->header.used; i++) {
		const struct table_entry *e = &s->table->entries[i];

		if (e->state != TABLE_WAIT || e->flags != TABLE_LIGHT)
			continue;
		if (settling_is_dead(s, i))
			settling_set(s, i, TABLE_FREE);
		else if (!table_light_waits(s->table, table_pool(s->table, i), s->alive,
					    s->context))
			settling_grant(s, i, 0);
	}
}

/* The first that waits in a pool that is still open, or TABLE_CAPACITY. */
static unsigned
settling_first(const struct table_settling *s, const struct pool_use use[])
{
	unsigned first = TABLE_CAPACITY;

	for (unsigned i = 0; i < s->table->header.used; i++) {
		const struct table_entry *e = &s->table->entries[i];

		if (e->state != TABLE_WAIT || e->flags == TABLE_LIGHT ||
		    use[table_pool(s->table, i)].is_closed)
			continue;
		if (first == TABLE_CAPACITY ||
		    e->ticket < s->table->entries[first].ticket)
			first = i;
	}
	return first;
}

void
table_settle(struct table_settling *s)
{
	struct pool_use use[TABLE_CAPACITY + 1];
	struct table *t = s->table;
	unsigned i;

	memset(use, 0, t->header.used * sizeof(use[0]));
	memset(&use[TABLE_ROOT], 0, sizeof(use[0]));
	table_sweep(s);
	for (i = 0; i < t->header.used; i++)
		pool_count(&use[table_pool(t, i)], t, i);
	while ((i = settling_first(s, use)) != TABLE_CAPACITY) {
		unsigned pool = table_pool(t, i);
		unsigned got =
		    pool_fit(&use[pool], table_pool_size(t, pool), &t->entries[i]);

		if (settling_is_dead(s, i)) {
			settling_set(s, i, TABLE_FREE);
		} else if (got > 0) {
			settling_grant(s, i, got);
			pool_add(&use[pool], &t->entries[i]);
		} else {
			use[pool].is_closed = true;
		}
	}
	settling_light(s);
}
