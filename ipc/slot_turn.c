/* SPDX-License-Identifier: MIT */
/*
 * Turns: joining the table, waiting, taking what is offered.
 *
 * Lost wake-ups cannot wedge anybody.  Whoever waits looks at each tick at a copy
 * of the table, settles the copy, and if that changes anything enters the table
 * and does the same in earnest.  One function answers both "is there room for me?"
 * and "has a neighbour died half way?", so they cannot disagree.
 */
#include <errno.h>
#include <poll.h>

#include "ipc/clock.h"
#include "ipc/doorbell.h"
#include "ipc/fd.h"
#include "ipc/shm.h"
#include "ipc/slot.h"
#include "ipc/slot_seat.h"

enum {
	SLOT_RECHECK_MS = 1, /* a bell rings just before the locks go */
};

static bool
slots_are_waiting(const struct slots *s)
{
	for (const struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_WAITING)
			return true;
	return false;
}

static bool
slot_has_room(const struct slot *r, const struct table *t)
{
	return table_has_room(t, slot_home(r, t) != TABLE_ROOT);
}

/* A free place whose byte is ours by now; -1 when there is none. */
static int
slot_claim(const struct slot *r, const struct table *t)
{
	if (!slot_has_room(r, t))
		return -1;
	for (unsigned i = 0; i < TABLE_CAPACITY; i++)
		if ((i >= t->header.used || t->entries[i].state == TABLE_FREE) &&
		    shm_lock(r->fd, TABLE_ENTRY + (int64_t)i) == 0)
			return (int)i;
	return -1;
}

int
slot_open_hold(struct slot *r, struct error *err)
{
	struct slots *s = r->seat;

	while (r->fd < 0) {
		r->fd = shm_reopen(s->name, s->fd, s->inode);
		if (r->fd >= 0)
			break;
		if (errno != ESTALE)
			return error_system(err, "segment %s", seat_title(s));
		if (seat_move(s, err) < 0)
			return -1;
	}
	return 0;
}

/* Queue.  False: the table is full, and one waits outside of it. */
static bool
slot_join(struct slot *r, struct seat_section *x)
{
	int i = slot_claim(r, &x->table);

	if (i < 0) {
		table_reap(&x->settling);
		i = slot_claim(r, &x->table);
	}
	if (i < 0)
		return false;
	r->entry = i;
	r->wish.ticket = table_next_ticket(&x->table);
	r->wish.state = TABLE_WAIT;
	seat_name_write(r);
	seat_put(x, (unsigned)i, &r->wish);
	x->is_own[i] = true;
	return true;
}

/* The owner is here: what was offered is taken, and a place passed over queues. */
static void
slot_answer(struct slot *r, struct seat_section *x)
{
	struct table_entry e = x->table.entries[r->entry];

	if (e.state != TABLE_OFFER && e.state != TABLE_PASSED)
		return;
	e.state = e.state == TABLE_OFFER ? TABLE_HELD : TABLE_WAIT;
	seat_put(x, (unsigned)r->entry, &e);
}

/* Held in the table: held. */
static void
slot_adopt(struct slot *r, struct seat_section *x)
{
	struct table_entry e = x->table.entries[r->entry];

	if (e.state != TABLE_HELD)
		return;
	r->state = SLOT_HELD;
	/* It may have been lent to us. */
	r->wish.outer = e.outer;
	r->wish.outer_ticket = e.outer_ticket;
	if (e.flags == TABLE_LIGHT) {
		/* There was nothing to have but leave. */
		e.state = TABLE_FREE;
		seat_put(x, (unsigned)r->entry, &e);
		r->entry = -1;
		return;
	}
	if (e.got > r->wish.want && e.flags != TABLE_EXCLUSIVE)
		e.got = r->wish.want;
	r->wish = e;
	if (r->has_waited) {
		r->since_ms = clock_wall_ms();
		seat_name_write(r);
	}
}

int
slots_take(struct slots *s, struct error *err)
{
	struct seat_section x;
	bool has_room = true;
	int rc = seat_enter(s, &x, err);

	if (rc <= 0)
		return rc;
	table_sweep(&x.settling);
	for (struct slot *r = s->first; r != NULL; r = r->next) {
		if (r->state == SLOT_HELD || r->fd < 0)
			continue;
		if (r->entry >= 0)
			slot_answer(r, &x);
		else if (has_room)
			has_room = slot_join(r, &x);
	}
	table_settle(&x.settling);
	for (struct slot *r = s->first; r != NULL; r = r->next) {
		if (r->state == SLOT_WAITING && r->entry >= 0)
			slot_adopt(r, &x);
		r->has_waited = true;
	}
	seat_exit(&x);
	for (struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_HELD && r->entry < 0)
			fd_close(&r->fd);
	return 1;
}

bool
slot_is_free_to_go(const struct slot *r)
{
	struct slots *s = r->seat;
	struct table t;

	if (!seat_peek(s, &t))
		return false;
	return !table_light_waits(&t, slot_home(r, &t), seat_is_alive, &s->fd);
}

int64_t
slots_deadline(const struct slots *s)
{
	return slots_are_waiting(s) ? s->next_ms : -1;
}

/* What our requests are to be found as in a table that needs nothing from us. */
enum slots_place {
	PLACE_QUEUED,
	PLACE_FIRST,   /* one of them is the next in line */
	PLACE_OUTSIDE, /* one of them has no place in the table */
	PLACE_CALLED,  /* something in the table is for us to change */
};

static enum slots_place
slots_place(const struct slots *s, const struct table *t, bool is_own[])
{
	enum slots_place place = PLACE_QUEUED;

	for (const struct slot *r = s->first; r != NULL; r = r->next) {
		const struct table_entry *e;

		if (r->is_stray || (r->entry < 0 && r->state == SLOT_HELD))
			continue;
		if (r->entry < 0) {
			/* Those behind one that has no place wait for it. */
			if (place != PLACE_OUTSIDE && slot_has_room(r, t))
				return PLACE_CALLED;
			place = PLACE_OUTSIDE;
			continue;
		}
		e = &t->entries[r->entry];
		if ((unsigned)r->entry >= t->header.used || e->ticket != r->wish.ticket ||
		    e->state != (r->state == SLOT_HELD ? TABLE_HELD : TABLE_WAIT) ||
		    seat_is_stranded(r, t))
			return PLACE_CALLED;
		is_own[r->entry] = true;
		if (place == PLACE_QUEUED && r->state == SLOT_WAITING &&
		    table_is_first(t, (unsigned)r->entry))
			place = PLACE_FIRST;
	}
	return place;
}

/*
 * Is there anything to do in the table for us, or left undone by others?  At a bell
 * only the next in line looks for that, at a tick everybody.
 */
static bool
slots_have_cause(struct slots *s, bool is_tick, enum slots_place *ret_place)
{
	bool is_own[TABLE_CAPACITY] = { false };
	struct table_settling settling;
	struct table t;

	*ret_place = PLACE_CALLED;
	if (!seat_peek(s, &t))
		return true;
	*ret_place = slots_place(s, &t, is_own);
	if (*ret_place == PLACE_CALLED)
		return true;
	if (*ret_place != PLACE_FIRST && !is_tick)
		return false;
	settling = seat_settling(s, &t, is_own);
	table_settle(&settling);
	if (*ret_place == PLACE_OUTSIDE)
		table_reap(&settling);
	return settling.ndirty > 0;
}

/* Light ones that found no place in the table. */
static void
slots_free_to_go(struct slots *s)
{
	for (struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_WAITING && r->entry < 0 &&
		    r->wish.flags == TABLE_LIGHT && slot_is_free_to_go(r)) {
			r->state = SLOT_HELD;
			fd_close(&r->fd);
		}
}

/* At each tick: what does not ring. */
static int
slots_tick(struct slots *s, struct error *err)
{
	if (s->name != NULL && shm_is_unlinked(s->fd) && seat_move(s, err) < 0)
		return -1;
	for (struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_WAITING && slot_open_hold(r, err) < 0)
			return -1;
	if (s->bell < 0)
		s->bell = doorbell_open(s->fd);
	slots_free_to_go(s);
	return 0;
}

int
slots_poll(struct slots *s, struct error *err)
{
	bool rang = doorbell_drain(s->bell);
	int64_t now = clock_now_ms();
	bool is_tick = now >= s->next_ms;
	enum slots_place place;
	int64_t next = SLOT_TICK_MS;

	if (!slots_are_waiting(s)) {
		s->next_ms = -1;
		return 0;
	}
	if (is_tick && slots_tick(s, err) < 0)
		return -1;
	if (slots_have_cause(s, is_tick, &place)) {
		int rc = slots_take(s, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			next = SLOT_RECHECK_MS;
	} else if (rang && place == PLACE_FIRST) {
		next = SLOT_RECHECK_MS;
	}
	/* A bell does not put off the tick, or many of them would for ever. */
	if (is_tick || now + next < s->next_ms)
		s->next_ms = now + next;
	return 0;
}

int
slot_wait(struct slot *r, int64_t deadline_ms, int wake_fd, struct error *err)
{
	struct slots *s = r->seat;

	for (;;) {
		struct pollfd fds[] = { { s->bell, POLLIN, 0 }, { wake_fd, POLLIN, 0 } };
		int64_t until = slots_deadline(s);

		if (r->state == SLOT_HELD)
			return 1;
		if (deadline_ms >= 0 && clock_now_ms() >= deadline_ms)
			return 0;
		if (deadline_ms >= 0 && deadline_ms < until)
			until = deadline_ms;
		if (poll(fds, 2, clock_timeout_ms(until)) < 0 && errno != EINTR)
			return error_system(err, "waiting for slots");
		if (slots_poll(s, err) < 0)
			return -1;
		if (r->state == SLOT_WAITING && fds[1].revents != 0)
			return 0;
	}
}
