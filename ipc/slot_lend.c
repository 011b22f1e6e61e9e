/* SPDX-License-Identifier: MIT */
/*
 * Lending.  A process inside a hold that waits for another process leaves the hold idle,
 * and where that other one waits for slots in its turn, perhaps for these, neither would
 * ever go on.  So its requests are made such that are granted from the hold, as if it
 * were inside; they keep their tickets.  When the hold ends, what was granted is of the
 * pool that it was of itself, as all that is left in it, and what waits goes home.
 */
#include "ipc/slot.h"

#include "ipc/process.h"
#include "ipc/slot_seat.h"

struct lending {
	const struct slots *seat;
	unsigned hold; /* TABLE_ROOT: there is none to lend */
	int32_t pid;
	uint64_t pid_namespace;
	bool *is_stuck;
};

/* The borrower, or what it runs: a light step of its may wait for slots by itself. */
static bool
lending_is_to(const struct lending *l, const struct table_name *name)
{
	if (name->pid_namespace != l->pid_namespace)
		return false;
	return name->pid == l->pid || (l->pid_namespace == l->seat->pid_namespace &&
				       process_descends(name->pid, l->pid));
}

/* Is that a request of the borrower that waits for what the hold is taken from? */
static bool
lending_helps(const struct lending *l, const struct table *t, unsigned i)
{
	const struct table_entry *e = &t->entries[i];
	unsigned pool = table_pool(t, i);
	struct table_name name;
	int fd = l->seat->fd;

	if ((e->state != TABLE_WAIT && e->state != TABLE_PASSED) || pool == l->hold ||
	    !table_is_within(t, l->hold, pool) ||
	    !seat_name_read(l->seat->fd, i, e->ticket, &name) || !lending_is_to(l, &name))
		return false;
	if (e->flags == TABLE_EXCLUSIVE &&
	    !seat_inside_of(l->seat->fd, t, l->hold).is_exclusive) {
		*l->is_stuck = *l->is_stuck || seat_is_alive(&fd, i);
		return false;
	}
	return true;
}

static bool
lending_is_due(struct lending *l, const struct table *t)
{
	bool is_due = false;

	l->hold = seat_pool(l->seat, t);
	for (unsigned i = 0; l->hold != TABLE_ROOT && i < t->header.used; i++)
		is_due = lending_helps(l, t, i) || is_due;
	return is_due;
}

int
slots_lend(struct slots *s, int32_t pid, uint64_t pid_namespace, bool *ret_is_stuck,
	   struct error *err)
{
	struct lending l = { s, TABLE_ROOT, pid, pid_namespace, ret_is_stuck };
	struct seat_section x;
	struct table t;
	int rc;

	*ret_is_stuck = false;
	if (s->outer_ticket == 0 || !seat_peek(s, &t) || !lending_is_due(&l, &t))
		return 0;
	rc = seat_enter(s, &x, err);
	if (rc <= 0)
		return rc;
	l.hold = seat_pool(s, &x.table);
	for (unsigned i = 0; l.hold != TABLE_ROOT && i < x.table.header.used; i++) {
		struct table_entry e = x.table.entries[i];

		if (!lending_helps(&l, &x.table, i))
			continue;
		e.marks |= TABLE_LENT;
		e.outer = (uint16_t)l.hold;
		e.outer_ticket = x.table.entries[l.hold].ticket;
		seat_put(&x, i, &e);
	}
	table_settle(&x.settling);
	seat_exit(&x);
	return 0;
}
