/* SPDX-License-Identifier: MIT */
/* Who is behind an entry: names for people, and tokens. */
#include "ipc/slot_seat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/process.h"
#include "ipc/shm.h"

static off_t
name_offset(unsigned i)
{
	return TABLE_NAMES_AT + (off_t)i * (off_t)sizeof(struct table_name);
}

uint64_t
seat_start_ticks(int32_t pid, char *ret_state)
{
	char path[64], text[1024];
	const char *p;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	/* The second field is a name with anything in it; behind its ) is the third. */
	p = strrchr(text, ')');
	if (p == NULL || p[1] != ' ')
		return 0;
	if (ret_state != NULL)
		*ret_state = p[2];
	for (int field = 2; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	return p == NULL ? 0 : strtoull(p, NULL, 10);
}

/* At most `room` - 1 bytes of a string; with its NUL. */
static size_t
name_add(char *to, const char *from, size_t room)
{
	size_t n = strlen(from);

	if (n >= room)
		n = room - 1;
	memcpy(to, from, n);
	to[n] = '\0';
	return n + 1;
}

void
seat_name_write(const struct slot *r)
{
	const struct slots *s = r->seat;
	struct table_name name = {
		.ticket = r->wish.ticket,
		.since_ms = r->since_ms,
		.start_ticks = s->start_ticks,
		.pid_namespace = s->pid_namespace,
		.pid = s->pid,
	};
	size_t n = name_add(name.text, s->directory == NULL ? "" : s->directory,
			    sizeof(name.text) * 2 / 3);

	n += name_add(name.text + n, r->label, sizeof(name.text) - n);
	name.text_bytes = (uint32_t)n;
	/* Only people miss it where it cannot be written. */
	if (pwrite(s->fd, &name, offsetof(struct table_name, text) + n,
		   name_offset((unsigned)r->entry)) < 0)
		return;
}

bool
seat_name_read(int fd, unsigned i, uint64_t ticket, struct table_name *ret_name)
{
	struct table_name *name = ret_name;

	memset(name, 0, sizeof(*name));
	if (pread(fd, name, sizeof(*name), name_offset(i)) <
		(ssize_t)offsetof(struct table_name, text) ||
	    name->ticket != ticket || name->text_bytes > sizeof(name->text)) {
		memset(name, 0, sizeof(*name));
		return false;
	}
	/* Two strings, whatever is in there. */
	if (name->text_bytes < 2)
		name->text_bytes = 2;
	name->text[name->text_bytes - 1] = '\0';
	if (memchr(name->text, '\0', name->text_bytes - 1) == NULL)
		name->text[name->text_bytes - 2] = '\0';
	return true;
}

/* Digits up to `end`; false for anything else. */
static bool
token_number(const char **text, char end, uint64_t max, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *p = *text;

	if (*p == '0' && p[1] != end)
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (p == *text || *p != end)
		return false;
	*text = p + 1;
	*ret_number = number;
	return true;
}

int
seat_token_find(int fd, const struct table *t, const char *text)
{
	const struct table_entry *e;
	uint64_t inode, i, ticket;

	if (!token_number(&text, ':', UINT64_MAX, &inode) ||
	    !token_number(&text, ':', UINT64_MAX, &i) ||
	    !token_number(&text, '\0', UINT64_MAX, &ticket) || i >= t->header.used ||
	    inode != shm_inode(fd))
		return -1;
	e = &t->entries[i];
	if (e->state != TABLE_HELD || e->ticket != ticket || ticket == 0 ||
	    e->flags == TABLE_LIGHT || !seat_is_alive(&fd, (unsigned)i))
		return -1;
	return (int)i;
}

unsigned
seat_pool(const struct slots *s, const struct table *t)
{
	const struct table_entry *e = &t->entries[s->outer];

	if (s->outer_ticket == 0 || s->outer >= t->header.used ||
	    e->state != TABLE_HELD || e->ticket != s->outer_ticket ||
	    !shm_is_locked(s->fd, TABLE_ENTRY + (int64_t)s->outer, 1))
		return TABLE_ROOT;
	return s->outer;
}

unsigned
slots_share(struct slots *s)
{
	struct table t;
	unsigned share = s->budget;

	if (seat_peek(s, &t))
		share = table_pool_size(&t, seat_pool(s, &t));
	return s->heavy > 0 && s->heavy < share ? s->heavy : share;
}

struct slot_inside
seat_inside_of(int fd, const struct table *t, unsigned i)
{
	struct slot_inside in = { .is_live = true, .held = t->entries[i].got };
	struct table_name name;

	if (seat_name_read(fd, i, t->entries[i].ticket, &name))
		in.pid = name.pid;
	/* One that ended may still stand in the table. */
	for (unsigned n = 0;
	     n < TABLE_CAPACITY && i != TABLE_ROOT && seat_is_alive(&fd, i);
	     n++, i = table_pool(t, i))
		if (t->entries[i].flags == TABLE_EXCLUSIVE)
			in.is_exclusive = true;
	return in;
}

struct slot_inside
slots_inside(struct slots *s)
{
	struct table t;
	unsigned pool;

	if (!seat_peek(s, &t))
		return (struct slot_inside){ 0 };
	pool = seat_pool(s, &t);
	if (pool == TABLE_ROOT)
		return (struct slot_inside){ 0 };
	return seat_inside_of(s->fd, &t, pool);
}

struct slot_inside
slot_token_check(const char *segment, const char *token)
{
	struct slot_inside in = { 0 };
	struct error err = ERROR_INIT;
	char name[SHM_NAME_SIZE];
	struct table t;
	int fd = -1;
	int i;

	if (token == NULL ||
	    shm_attach(segment == NULL ? shm_name_default(name) : segment, false, &fd,
		       &err) != 1)
		return in;
	if (table_check(&t, seat_read(fd, &t)) == TABLE_SOUND) {
		table_clean(&t);
		i = seat_token_find(fd, &t, token);
		if (i >= 0)
			in = seat_inside_of(fd, &t, (unsigned)i);
	}
	fd_close(&fd);
	return in;
}

/* Did that process, as we know it, ask for the hold? */
static bool
hold_is_of(int fd, const struct table *t, unsigned i, int32_t pid)
{
	struct table_name name;

	return seat_name_read(fd, i, t->entries[i].ticket, &name) && name.pid == pid &&
	       name.pid_namespace == process_pid_namespace();
}

static int
hold_of_process(int fd, const struct table *t, int32_t pid)
{
	bool has[TABLE_CAPACITY] = { false };
	int found = -1;

	shm_process_locks(fd, pid, TABLE_ENTRY, t->header.used, has);
	for (unsigned i = 0; i < t->header.used; i++) {
		const struct table_entry *e = &t->entries[i];

		if (!has[i] || e->state != TABLE_HELD || e->flags == TABLE_LIGHT ||
		    (e->flags != TABLE_EXCLUSIVE && hold_is_of(fd, t, i, pid)))
			continue;
		/* What is further inside was asked for later. */
		if (found < 0 || e->ticket > t->entries[found].ticket)
			found = (int)i;
	}
	return found;
}

bool
slot_token_of_process(const char *segment, int32_t pid, char text[SLOT_TOKEN_SIZE])
{
	struct error ignored = ERROR_INIT;
	char name[SHM_NAME_SIZE];
	struct table t;
	int fd = -1;
	int i = -1;

	if (shm_attach(segment == NULL ? shm_name_default(name) : segment, false, &fd,
		       &ignored) != 1)
		return false;
	if (table_check(&t, seat_read(fd, &t)) == TABLE_SOUND) {
		table_clean(&t);
		i = hold_of_process(fd, &t, pid);
	}
	if (i >= 0)
		(void)snprintf(text, SLOT_TOKEN_SIZE, "%" PRIu64 ":%d:%" PRIu64,
			       shm_inode(fd), i, t.entries[i].ticket);
	fd_close(&fd);
	return i >= 0;
}
