/* SPDX-License-Identifier: MIT */
/*
 * Requests: joining the table, taking what is offered, giving back.
 *
 * Lost wake-ups cannot wedge anybody.  Whoever waits looks at each tick at a copy
 * of the table, settles the copy, and if that changes anything enters the table
 * and does the same in earnest.  One function answers both "is there room for me?"
 * and "has a neighbour died half way?", so they cannot disagree.
 */
#include "ipc/slot.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/doorbell.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/shm.h"
#include "ipc/slot_seat.h"

enum {
	SLOT_RECHECK_MS = 1, /* a bell rings just before the locks go */
};

int
slots_open(const struct slots_config *config, struct slots **ret_slots, struct error *err)
{
	return seat_open(config, false, ret_slots, err);
}

int
slots_open_private(const struct slots_config *config, struct slots **ret_slots,
		   struct error *err)
{
	return seat_open(config, true, ret_slots, err);
}

bool
slots_error_is_absence(const struct error *err)
{
	/* No /dev/shm, none that can be written, or no OFD locks on it. */
	static const int absent[] = { ENOENT, ENOTDIR, ENOSYS, EROFS,
				      ENODEV, ENOSPC,  EINVAL, EOPNOTSUPP };

	if (err->kind != ERROR_SYSTEM)
		return false;
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		if (err->errnum == absent[i])
			return true;
	return false;
}

void
slots_free(struct slots *s)
{
	if (s == NULL)
		return;
	while (s->first != NULL)
		slot_release(s->first);
	seat_free(s);
}

enum slot_state
slot_state(const struct slot *r)
{
	return r->state;
}

unsigned
slot_count(const struct slot *r)
{
	return r->state == SLOT_HELD ? r->wish.got : 0;
}

int
slot_hold_fd(const struct slot *r)
{
	return r->state == SLOT_HELD ? r->fd : -1;
}

const char *
slot_token(const struct slot *r, char text[SLOT_TOKEN_SIZE])
{
	text[0] = '\0';
	if (slot_hold_fd(r) >= 0)
		(void)snprintf(text, SLOT_TOKEN_SIZE, "%" PRIu64 ":%d:%" PRIu64,
			       shm_inode(r->fd), r->entry, r->wish.ticket);
	return text;
}

static bool
slots_wait(const struct slots *s)
{
	for (const struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_WAITING)
			return true;
	return false;
}

/* A free place whose byte is ours by now; -1 when there is none. */
static int
slot_claim(const struct slot *r, const struct table *t)
{
	for (unsigned i = 0; i < TABLE_CAPACITY; i++)
		if ((i >= t->header.used || t->entries[i].state == TABLE_FREE) &&
		    shm_lock(r->fd, TABLE_ENTRY + (int64_t)i) == 0)
			return (int)i;
	return -1;
}

/* A description of its own, on the segment as it is called now. */
static int
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

/*
 * One section for all that we want.  Those outside of the table join in the order
 * of asking: one that finds no room keeps the later ones out.
 */
static int
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

/* A light one that need not wait takes no place in the table. */
static bool
slot_is_free_to_go(const struct slot *r)
{
	struct slots *s = r->seat;
	unsigned pool = TABLE_ROOT;
	struct table t;

	if (!seat_peek(s, &t))
		return false;
	if (r->wish.outer_ticket != 0 && r->wish.outer < t.header.used &&
	    t.entries[r->wish.outer].ticket == r->wish.outer_ticket)
		pool = r->wish.outer;
	return !table_light_waits(&t, pool, seat_is_alive, &s->fd);
}

static unsigned
slot_bound(unsigned n, unsigned min, unsigned max)
{
	if (n < min)
		return min;
	return n > max ? max : n;
}

static struct slot *
slot_new(struct slots *s, const struct slot_wish *wish)
{
	struct slot *r = xcalloc(1, sizeof(*r));
	struct slot **at = &s->first;
	const struct slot *outer = wish->inside;

	r->seat = s;
	r->fd = r->entry = -1;
	r->since_ms = clock_wall_ms();
	r->label = xstrdup(wish->label == NULL ? "" : wish->label);
	if (wish->exclusive)
		r->wish.flags = TABLE_EXCLUSIVE;
	else if (wish->want == 0)
		r->wish.flags = TABLE_LIGHT;
	r->wish.want = (uint16_t)slot_bound(wish->want, 1, SLOT_BUDGET_MAX);
	r->wish.least = (uint16_t)slot_bound(wish->least, 1, r->wish.want);
	r->wish.outer = s->outer;
	r->wish.outer_ticket = s->outer_ticket;
	if (outer != NULL && slot_hold_fd(outer) >= 0 && !outer->is_stray) {
		r->wish.outer = (uint16_t)outer->entry;
		r->wish.outer_ticket = outer->wish.ticket;
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = r;
	return r;
}

static void
slot_unlink(struct slot *r)
{
	struct slot **at = &r->seat->first;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->next = NULL;
}

static void
slot_free(struct slot *r)
{
	fd_close(&r->fd);
	free(r->label);
	free(r);
}

int
slot_request(struct slots *s, const struct slot_wish *wish, struct slot **ret_slot,
	     struct error *err)
{
	struct slot *r = slot_new(s, wish);

	if (r->wish.flags == TABLE_LIGHT && slot_is_free_to_go(r)) {
		r->state = SLOT_HELD;
	} else if (slot_open_hold(r, err) < 0 || slots_take(s, err) < 0) {
		slot_release(r);
		return -1;
	}
	if (r->state == SLOT_WAITING) {
		if (s->next_ms < 0)
			s->next_ms = clock_now_ms();
		if (s->bell < 0)
			s->bell = doorbell_open(s->fd);
	}
	*ret_slot = r;
	return 0;
}

/*
 * Free in the table as well, and offered to the next in line at once.  Where that
 * cannot be done the next in line finds it out, as when we die.
 */
static void
slot_give(struct slot *r)
{
	struct error err = ERROR_INIT;
	struct seat_section x;
	struct table_entry e = r->wish;

	if (seat_enter(r->seat, &x, &err) != 1)
		return;
	if ((unsigned)r->entry < x.table.header.used)
		e = x.table.entries[r->entry];
	e.state = TABLE_FREE;
	seat_put(&x, (unsigned)r->entry, &e);
	/* Others of ours hear of it in slots_poll, as everybody does. */
	x.settling.is_own = NULL;
	table_settle(&x.settling);
	if (x.settling.has_offered && r->seat->next_ms >= 0)
		r->seat->next_ms = clock_now_ms();
	seat_exit(&x);
}

/* Does anybody wait for what the entry has? */
static bool
slot_is_awaited(const struct slot *r)
{
	struct table t;

	if (!seat_peek(r->seat, &t))
		return true;
	for (unsigned i = 0; i < t.header.used; i++)
		if (t.entries[i].state != TABLE_FREE && t.entries[i].state != TABLE_HELD)
			return true;
	return false;
}

void
slot_release(struct slot *r)
{
	if (r == NULL)
		return;
	slot_unlink(r);
	if (r->entry >= 0 && r->fd >= 0) {
		/*
		 * With nobody there to be served it is enough to go as the dead do.
		 * Who comes to wait just now hears the bell of the close below.
		 */
		if (!r->is_stray && slot_is_awaited(r))
			slot_give(r);
		shm_unlock(r->fd, TABLE_ENTRY + (int64_t)r->entry);
	}
	slot_free(r);
}

void
slot_drop(struct slot *r)
{
	if (r == NULL)
		return;
	slot_unlink(r);
	slot_free(r);
}

int
slots_doorbell_fd(const struct slots *s)
{
	return s->bell;
}

int64_t
slots_deadline(const struct slots *s)
{
	return slots_wait(s) ? s->next_ms : -1;
}

/* Is there anything to do in the table for us, or left undone by others? */
static bool
slots_have_cause(struct slots *s, bool *ret_is_first)
{
	bool is_own[TABLE_CAPACITY] = { false };
	struct table_settling settling;
	bool is_outside = false;
	struct table t;

	*ret_is_first = false;
	if (!seat_peek(s, &t))
		return true;
	for (const struct slot *r = s->first; r != NULL; r = r->next) {
		const struct table_entry *e;

		if (r->is_stray || (r->entry < 0 && r->state == SLOT_HELD))
			continue;
		if (r->entry < 0) {
			is_outside = true;
			continue;
		}
		if ((unsigned)r->entry >= t.header.used)
			return true;
		e = &t.entries[r->entry];
		if (e->ticket != r->wish.ticket ||
		    e->state != (r->state == SLOT_HELD ? TABLE_HELD : TABLE_WAIT))
			return true;
		is_own[r->entry] = true;
	}
	settling = seat_settling(s, &t, is_own);
	table_settle(&settling);
	if (is_outside && !table_is_full(&t))
		return true;
	if (is_outside)
		table_reap(&settling);
	for (const struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_WAITING && r->entry >= 0 &&
		    table_is_first(&t, (unsigned)r->entry))
			*ret_is_first = true;
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

int
slots_poll(struct slots *s, struct error *err)
{
	bool rang = doorbell_drain(s->bell);
	bool is_first = false;
	int rc = 1;

	if (!slots_wait(s)) {
		s->next_ms = -1;
		return 0;
	}
	if (s->name != NULL && shm_is_unlinked(s->fd) && seat_move(s, err) < 0)
		return -1;
	for (struct slot *r = s->first; r != NULL; r = r->next)
		if (r->state == SLOT_WAITING && slot_open_hold(r, err) < 0)
			return -1;
	if (s->bell < 0)
		s->bell = doorbell_open(s->fd);
	slots_free_to_go(s);
	if (slots_have_cause(s, &is_first))
		rc = slots_take(s, err);
	s->next_ms = clock_now_ms() +
		     (rc == 0 || (rang && is_first) ? SLOT_RECHECK_MS : SLOT_TICK_MS);
	return rc < 0 ? -1 : 0;
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

void
slots_leave(struct slots *s, const struct slot *keep)
{
	for (struct slot *r = s->first; r != NULL; r = r->next)
		if (r != keep)
			fd_close(&r->fd);
	fd_close(&s->bell);
	fd_close(&s->fd);
}
