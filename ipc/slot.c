/* SPDX-License-Identifier: MIT */
/* Requests: asking, giving back, leaving. */
#include "ipc/slot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/doorbell.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/shm.h"
#include "ipc/slot_seat.h"

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
	static const int absent[] = { ENOENT, ENOTDIR,	  ENOSYS, EROFS, ENODEV, ENOSPC,
				      EINVAL, EOPNOTSUPP, EACCES, EPERM, EDQUOT, EFBIG };

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
	uint64_t inode = r->seat->inode;
	uint64_t ticket = r->wish.outer_ticket;
	unsigned entry = r->wish.outer;

	text[0] = '\0';
	if (slot_hold_fd(r) >= 0) {
		inode = shm_inode(r->fd);
		ticket = r->wish.ticket;
		entry = (unsigned)r->entry;
	} else if (r->state != SLOT_HELD) {
		ticket = 0;
	}
	if (ticket != 0)
		(void)snprintf(text, SLOT_TOKEN_SIZE, "%" PRIu64 ":%u:%" PRIu64, inode,
			       entry, ticket);
	return text;
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
		if (outer->wish.flags == TABLE_EXCLUSIVE)
			r->wish.marks = TABLE_ALONE;
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

	if (seat_enter(r->seat, &x, &err) != 1)
		return;
	if ((unsigned)r->entry >= x.table.header.used)
		seat_put(&x, (unsigned)r->entry, &r->wish);
	table_free(&x.settling, (unsigned)r->entry);
	/* Others of ours hear of it in slots_poll, as everybody does. */
	x.settling.is_own = NULL;
	table_settle(&x.settling);
	if (x.settling.has_offered && r->seat->next_ms >= 0)
		r->seat->next_ms = clock_now_ms();
	/* The close that follows rings, so once is enough. */
	x.settling.has_offered = false;
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

void
slots_leave(struct slots *s, const struct slot *keep)
{
	for (struct slot *r = s->first; r != NULL; r = r->next)
		if (r != keep)
			fd_close(&r->fd);
	fd_close(&s->bell);
	fd_close(&s->fd);
}
