/* SPDX-License-Identifier: MIT */
#include "ipc/slot_seat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/process.h"
#include "ipc/shm.h"

enum {
	SEAT_FIRST_BYTES = 1024, /* enough for a queue of thirty */
	SEAT_STEP = 8,		 /* entries by which the used part grows */
	SEAT_BYTES = TABLE_NAMES_AT + TABLE_CAPACITY * (int)sizeof(struct table_name),
};

const char *
seat_title(const struct slots *s)
{
	return s->name == NULL ? "without a name" : s->name;
}

bool
seat_is_alive(void *fd, unsigned i)
{
	return shm_is_locked(*(const int *)fd, TABLE_ENTRY + (int64_t)i, 1);
}

int
seat_refuse_layout(const char *title, struct error *err)
{
	return error_set(err, ERROR_DATA,
			 "segment %s: its layout is none that this version knows, "
			 "and a live process uses it",
			 title);
}

size_t
seat_read(int fd, struct table *ret_table)
{
	struct table *t = ret_table;
	ssize_t got = pread(
	    fd, t, SEAT_FIRST_BYTES < sizeof(*t) ? SEAT_FIRST_BYTES : sizeof(*t), 0);
	size_t want;
	ssize_t more;

	if (got < SEAT_FIRST_BYTES)
		return got < 0 ? 0 : (size_t)got;
	if (t->header.used > TABLE_CAPACITY)
		return (size_t)got;
	want = sizeof(t->header) + t->header.used * sizeof(t->entries[0]);
	if (want <= (size_t)got)
		return (size_t)got;
	more = pread(fd, (char *)t + got, want - (size_t)got, got);
	return (size_t)got + (more < 0 ? 0 : (size_t)more);
}

bool
seat_peek(struct slots *s, struct table *ret_table)
{
	if (table_check(ret_table, seat_read(s->fd, ret_table)) != TABLE_SOUND)
		return false;
	table_clean(ret_table);
	s->budget = ret_table->header.budget;
	return true;
}

struct table_settling
seat_settling(struct slots *s, struct table *t, const bool *is_own)
{
	return (struct table_settling){
		.table = t,
		.alive = seat_is_alive,
		.context = &s->fd,
		.is_own = is_own,
		.now_ms = (uint32_t)clock_now_ms(),
	};
}

static void
seat_grow(struct table *t, unsigned used)
{
	unsigned want = (used + SEAT_STEP - 1) / SEAT_STEP * SEAT_STEP;

	if (used <= t->header.used)
		return;
	if (want > TABLE_CAPACITY)
		want = TABLE_CAPACITY;
	/* In the segment these are FREE as well. */
	memset(&t->entries[t->header.used], 0,
	       (want - t->header.used) * sizeof(t->entries[0]));
	t->header.used = want;
	table_seal(t);
}

void
seat_put(struct seat_section *x, unsigned i, const struct table_entry *e)
{
	seat_grow(&x->table, i + 1);
	x->table.entries[i] = *e;
	x->settling.dirty[i] = true;
}

static bool
seat_write(int fd, const void *bytes, size_t n, size_t at)
{
	return pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n;
}

static uint64_t
seat_new_ticket(void)
{
	struct timespec ts = { 0, 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Make the table anew, header last: killed before, the next one does it again.
 * What is still held of the old one, as its bytes tell, counts as one slot each,
 * until its owner says what it is.
 */
static int
seat_build(struct slots *s, struct table *t, struct error *err)
{
	table_init(t, s->budget, seat_new_ticket());
	if (ftruncate(s->fd, 0) < 0 || ftruncate(s->fd, SEAT_BYTES) < 0)
		return error_system(err, "segment %s", seat_title(s));
	/* What is written later must not fail for want of memory. */
	errno = posix_fallocate(s->fd, 0, TABLE_NAMES_AT);
	if (errno != 0)
		return error_system(err, "segment %s", seat_title(s));
	if (shm_is_locked(s->fd, TABLE_ENTRY, TABLE_CAPACITY))
		for (unsigned i = 0; i < TABLE_CAPACITY; i++) {
			if (!seat_is_alive(&s->fd, i))
				continue;
			seat_grow(t, i + 1);
			t->entries[i].state = TABLE_HELD;
			t->entries[i].want = t->entries[i].got = 1;
			t->entries[i].ticket = t->header.ticket;
		}
	if (!seat_write(s->fd, t->entries, t->header.used * sizeof(t->entries[0]),
			sizeof(t->header)) ||
	    !seat_write(s->fd, &t->header, sizeof(t->header), 0))
		return error_system(err, "segment %s", seat_title(s));
	return 0;
}

/* Read it under the lock, and see that it is sound. */
static int
seat_load(struct slots *s, struct table *t, struct error *err)
{
	enum table_verdict verdict = table_check(t, seat_read(s->fd, t));

	if (verdict == TABLE_FOREIGN && !s->has_seen &&
	    shm_is_locked(s->fd, TABLE_ENTRY, TABLE_LOCKS - TABLE_ENTRY))
		return seat_refuse_layout(seat_title(s), err);
	if (verdict != TABLE_SOUND && seat_build(s, t, err) < 0)
		return -1;
	table_clean(t);
	s->budget = t->header.budget;
	s->has_seen = true;
	return 0;
}

unsigned
slot_home(const struct slot *r, const struct table *t)
{
	const struct table_entry *outer;

	if (r->wish.outer_ticket == 0 || r->wish.outer >= t->header.used)
		return TABLE_ROOT;
	outer = &t->entries[r->wish.outer];
	return outer->state == TABLE_HELD && outer->ticket == r->wish.outer_ticket
		   ? r->wish.outer
		   : TABLE_ROOT;
}

bool
seat_is_stranded(const struct slot *r, const struct table *t)
{
	const struct table_entry *e = &t->entries[r->entry];

	if ((e->state != TABLE_WAIT && e->state != TABLE_PASSED) ||
	    (e->marks & TABLE_LENT) == 0)
		return false;
	/* What was lent elsewhere was free then; who did not take it waits at home. */
	return (e->marks & TABLE_UP) != 0 ||
	       !table_is_within(t, table_pool(t, (unsigned)r->entry), slot_home(r, t));
}

/* Put right what the table says of one of our own requests, and learn where it is. */
static void
seat_restate_one(struct seat_section *x, struct slot *r)
{
	const struct table_entry *e = &x->table.entries[r->entry];

	if ((unsigned)r->entry >= x->table.header.used || e->ticket != r->wish.ticket ||
	    e->state == TABLE_FREE ||
	    (e->state == TABLE_HELD) != (r->state == SLOT_HELD) ||
	    seat_is_stranded(r, &x->table)) {
		seat_put(x, (unsigned)r->entry, &r->wish);
	} else if (r->state == SLOT_HELD || (e->marks & TABLE_LENT) == 0) {
		r->wish.outer = e->outer;
		r->wish.outer_ticket = e->outer_ticket;
		r->wish.marks = e->marks;
	}
	x->is_own[r->entry] = true;
}

static void
seat_restate(struct seat_section *x)
{
	for (struct slot *r = x->seat->first; r != NULL; r = r->next)
		if (r->entry >= 0 && !r->is_stray)
			seat_restate_one(x, r);
}

int
seat_enter(struct slots *s, struct seat_section *ret_section, struct error *err)
{
	struct seat_section *x = ret_section;

	x->seat = s;
	if (shm_lock_patient(s->fd, TABLE_LOCK, SLOT_PATIENCE_MS) < 0)
		return errno == EAGAIN ? 0
				       : error_system(err, "segment %s", seat_title(s));
	if (seat_load(s, &x->table, err) < 0) {
		shm_unlock(s->fd, TABLE_LOCK);
		return -1;
	}
	x->before = x->table.header;
	memset(x->is_own, 0, sizeof(x->is_own));
	x->settling = seat_settling(s, &x->table, x->is_own);
	seat_restate(x);
	return 1;
}

/* The order in which entries are written. */
enum seat_order {
	SEAT_TAKES,
	SEAT_MOVES,
	SEAT_ENDS,
	SEAT_GIVES,
	SEAT_ORDERS,
};

static enum seat_order
seat_order(const struct seat_section *x, unsigned i)
{
	switch (x->table.entries[i].state) {
	case TABLE_FREE:
		return SEAT_ENDS;
	case TABLE_OFFER:
	case TABLE_HELD:
		return x->settling.moved[i] ? SEAT_MOVES : SEAT_GIVES;
	default:
		return SEAT_TAKES;
	}
}

static void
seat_write_entries(const struct seat_section *x, enum seat_order order)
{
	for (unsigned i = 0; i < x->table.header.used; i++) {
		const struct table_entry *e = &x->table.entries[i];

		if (x->settling.dirty[i] && seat_order(x, i) == order)
			(void)seat_write(x->seat->fd, e, sizeof(*e),
					 sizeof(x->table.header) + i * sizeof(*e));
	}
}

/* Let go of a long tail of free entries, which everybody would have to read. */
static void
seat_shrink(struct table *t)
{
	unsigned used = t->header.used;

	while (used > 0 && t->entries[used - 1].state == TABLE_FREE)
		used--;
	used = (used + SEAT_STEP - 1) / SEAT_STEP * SEAT_STEP;
	if (used + 2 * SEAT_STEP > t->header.used)
		return;
	t->header.ticket = table_next_ticket(t) - 1;
	t->header.used = used;
	table_seal(t);
}

static void
seat_write_header(struct seat_section *x)
{
	if (memcmp(&x->before, &x->table.header, sizeof(x->before)) != 0)
		(void)seat_write(x->seat->fd, &x->table.header, sizeof(x->table.header),
				 0);
	x->before = x->table.header;
}

static void
seat_ring(struct slots *s)
{
	int fd = shm_reopen(s->name, s->fd, s->inode);

	fd_close(&fd);
}

void
seat_exit(struct seat_section *x)
{
	/* A header that grew, or has another budget, before the entries that need it. */
	seat_write_header(x);
	for (enum seat_order order = SEAT_TAKES; order < SEAT_ORDERS; order++)
		seat_write_entries(x, order);
	seat_shrink(&x->table);
	seat_write_header(x);
	shm_unlock(x->seat->fd, TABLE_LOCK);
	if (x->settling.has_offered)
		seat_ring(x->seat);
}

/* Take the seat; where nobody else has one, the budget is ours to say. */
static int
seat_sit(struct slots *s, unsigned budget, struct error *err)
{
	struct seat_section x;
	int rc;

	rc = seat_enter(s, &x, err);
	if (rc == 1) {
		if (!shm_is_locked(s->fd, TABLE_ENTRY, TABLE_LOCKS - TABLE_ENTRY)) {
			x.table.header.budget = s->budget = budget;
			table_seal(&x.table);
		}
		(void)shm_lock_shared(s->fd, TABLE_SEAT);
		seat_exit(&x);
		return 0;
	}
	if (rc < 0)
		return -1;
	/* Somebody is stopped with the lock in hand: wait for slots, not here. */
	if (!seat_peek(s, &x.table))
		return error_set(err, ERROR_DATA,
				 "segment %s: is being made by pid %" PRId32
				 ", which does not get on with it",
				 seat_title(s), shm_lock_owner(s->fd, TABLE_LOCK));
	s->has_seen = true;
	(void)shm_lock_shared(s->fd, TABLE_SEAT);
	return 0;
}

static unsigned
seat_budget(const struct slots_config *config)
{
	unsigned budget = config->heavy > 0 ? config->heavy : config->budget;

	if (budget < 1)
		return 1;
	return budget > SLOT_BUDGET_MAX ? SLOT_BUDGET_MAX : budget;
}

static void
seat_find_outer(struct slots *s, const char *token)
{
	struct table t;
	int i;

	if (token == NULL || token[0] == '\0' || !seat_peek(s, &t))
		return;
	i = seat_token_find(s->fd, &t, token);
	if (i < 0)
		return;
	s->outer = (uint16_t)i;
	s->outer_ticket = t.entries[i].ticket;
}

int
seat_open(const struct slots_config *config, bool is_private, struct slots **ret_seat,
	  struct error *err)
{
	char name[SHM_NAME_SIZE];
	struct slots *s = xcalloc(1, sizeof(*s));
	int rc;

	s->fd = s->bell = -1;
	s->next_ms = -1;
	s->budget = seat_budget(config);
	s->heavy = config->heavy;
	s->pid_namespace = process_pid_namespace();
	s->pid = getpid();
	s->start_ticks = seat_start_ticks(s->pid, NULL);
	s->directory =
	    config->directory == NULL ? getcwd(NULL, 0) : xstrdup(config->directory);
	if (is_private) {
		rc = shm_private(&s->fd, err);
	} else {
		s->name = xstrdup(config->segment == NULL ? shm_name_default(name)
							  : config->segment);
		rc = shm_attach(s->name, true, &s->fd, err);
	}
	s->inode = shm_inode(s->fd);
	if (rc < 0 || seat_sit(s, s->budget, err) < 0) {
		seat_free(s);
		return -1;
	}
	seat_find_outer(s, config->inside);
	*ret_seat = s;
	return 0;
}

void
seat_free(struct slots *s)
{
	fd_close(&s->bell);
	fd_close(&s->fd);
	free(s->directory);
	free(s->name);
	free(s);
}

int
seat_move(struct slots *s, struct error *err)
{
	int fd;

	if (shm_attach(s->name, true, &fd, err) < 0)
		return -1;
	fd_close(&s->bell);
	fd_close(&s->fd);
	s->fd = fd;
	s->inode = shm_inode(fd);
	s->has_seen = false;
	s->outer_ticket = 0;
	for (struct slot *r = s->first; r != NULL; r = r->next) {
		r->is_stray = r->is_stray || r->state == SLOT_HELD;
		if (r->is_stray)
			continue;
		/* A place in a queue that no longer moves: queue again, in order. */
		fd_close(&r->fd);
		r->entry = -1;
	}
	return seat_sit(s, s->budget, err);
}

int
slots_budget_set(const char *segment, unsigned budget, struct error *err)
{
	char name[SHM_NAME_SIZE];
	struct slots s = { .fd = -1, .bell = -1, .budget = budget };
	struct seat_section x;
	int rc;

	s.name = xstrdup(segment == NULL ? shm_name_default(name) : segment);
	rc = shm_attach(s.name, false, &s.fd, err);
	if (rc == 1)
		rc = seat_enter(&s, &x, err);
	else
		goto out;
	if (rc == 0)
		rc = error_set(err, ERROR_DATA,
			       "segment %s: pid %" PRId32
			       " has its lock and does not get on",
			       s.name, shm_lock_owner(s.fd, TABLE_LOCK));
	if (rc < 0)
		goto out;
	x.table.header.budget = seat_budget(&(struct slots_config){ .budget = budget });
	table_seal(&x.table);
	table_settle(&x.settling);
	seat_exit(&x);
out:
	fd_close(&s.fd);
	free(s.name);
	return rc;
}
