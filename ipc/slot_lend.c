/* SPDX-License-Identifier: MIT */
/*
 * Lending.  A process inside a hold that waits for another process leaves the hold idle,
 * and where that other one waits for slots in its turn, perhaps for these, neither would
 * ever go on.  So its requests are made such that are granted from the hold, as if it
 * were inside; they keep their tickets.  When the hold ends, what was granted is of the
 * pool that it was of itself, as all that is left in it, and what waits goes home.
 *
 * Whom the other process waits for is not known, unless that one waits inside of a hold.
 * So a circle stays that leads through a step without slots in which a run waits for
 * another one.
 */
#include "ipc/slot.h"

#include "ipc/process.h"
#include "ipc/slot_seat.h"

struct lending {
	struct slots *seat;
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

/*
 * Is that a request of the borrower, or one inside of a hold of its?  There wait those
 * for whom it waits in its turn, having lent to them what it has.
 */
static bool
lending_reaches(const struct lending *l, const struct table *t, unsigned i)
{
	struct table_name name;

	for (unsigned n = 0; n < TABLE_CAPACITY && i != TABLE_ROOT;
	     n++, i = table_pool(t, i))
		if (seat_name_read(l->seat->fd, i, t->entries[i].ticket, &name) &&
		    lending_is_to(l, &name))
			return true;
	return false;
}

/* Is that a request of the borrower that is to be granted from the hold? */
static bool
lending_helps(const struct lending *l, const struct table_settling *settling, unsigned i)
{
	const struct table *t = settling->table;
	enum table_lending lending = table_lending(settling, i, l->hold);

	if (lending == TABLE_LEND_NOT || !lending_reaches(l, t, i))
		return false;
	if (lending == TABLE_LEND_STUCK)
		*l->is_stuck = true;
	return lending == TABLE_LEND;
}

static bool
lending_is_due(struct lending *l, struct table *t)
{
	const struct table_settling settling = seat_settling(l->seat, t, NULL);
	bool is_due = false;

	l->hold = seat_pool(l->seat, t);
	for (unsigned i = 0; l->hold != TABLE_ROOT && i < t->header.used; i++)
		is_due = lending_helps(l, &settling, i) || is_due;
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
	for (unsigned i = 0; l.hold != TABLE_ROOT && i < x.table.header.used; i++)
		if (lending_helps(&l, &x.settling, i)) {
			table_lend(&x.settling, i, l.hold);
			/* Each counts where the next one is looked at. */
			table_settle(&x.settling);
		}
	seat_exit(&x);
	return 0;
}
