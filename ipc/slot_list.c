/* SPDX-License-Identifier: MIT */
#include "ipc/slot_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/process.h"
#include "ipc/shm.h"
#include "ipc/slot_seat.h"

/* What can be seen of the process behind a name. */
static void
slot_info_name(struct slot_info *info, const struct table_name *name)
{
	char state = '?';

	info->pid = name->pid;
	info->since_ms = name->since_ms;
	info->directory = xstrdup(name->text);
	info->label = xstrdup(name->text + strlen(name->text) + 1);
	info->is_foreign = name->pid_namespace != process_pid_namespace();
	if (!info->is_foreign && name->pid > 0 &&
	    seat_start_ticks(name->pid, &state) == name->start_ticks)
		info->is_stopped = state == 'T' || state == 't';
}

static void
slot_info_fill(struct slot_info *info, int fd, const struct table *t, unsigned i)
{
	const struct table_entry *e = &t->entries[i];
	unsigned pool = table_pool(t, i);
	struct table_name name;

	info->ticket = e->ticket;
	info->outer = pool == TABLE_ROOT ? 0 : t->entries[pool].ticket;
	info->is_held = e->state == TABLE_HELD || e->state == TABLE_OFFER;
	info->is_exclusive = e->flags == TABLE_EXCLUSIVE;
	info->is_light = e->flags == TABLE_LIGHT;
	info->want = e->want;
	info->held = info->is_held ? e->got : 0;
	if (seat_name_read(fd, i, e->ticket, &name)) {
		slot_info_name(info, &name);
	} else {
		info->directory = xstrdup("");
		info->label = xstrdup("");
	}
}

static int
slot_info_compare(const void *one, const void *other)
{
	const struct slot_info *a = one;
	const struct slot_info *b = other;

	if (a->is_held != b->is_held)
		return a->is_held ? -1 : 1;
	if (a->ticket != b->ticket)
		return a->ticket < b->ticket ? -1 : 1;
	return 0;
}

static void
slot_list_fill(struct slot_list *list, int fd, const struct table *t, bool only_held)
{
	list->budget = t->header.budget;
	list->items = xcalloc(t->header.used + 1, sizeof(list->items[0]));
	for (unsigned i = 0; i < t->header.used; i++)
		if (t->entries[i].state != TABLE_FREE &&
		    (!only_held || t->entries[i].state == TABLE_HELD ||
		     t->entries[i].state == TABLE_OFFER) &&
		    seat_is_alive(&fd, i))
			slot_info_fill(&list->items[list->nitems++], fd, t, i);
	qsort(list->items, list->nitems, sizeof(list->items[0]), slot_info_compare);
}

/* The table without its lock: who is listed may be gone when it is read. */
static void
slot_list_read(int fd, bool only_held, struct slot_list *ret_list)
{
	struct table t;

	memset(ret_list, 0, sizeof(*ret_list));
	/* It may be read while it is written. */
	for (int i = 0; i < 5; i++)
		if (table_check(&t, seat_read(fd, &t)) == TABLE_SOUND) {
			table_clean(&t);
			slot_list_fill(ret_list, fd, &t, only_held);
			break;
		}
	ret_list->is_idle = !shm_is_locked(fd, TABLE_ENTRY, TABLE_LOCKS - TABLE_ENTRY);
}

/* What is there is none of ours, and not because it is being written just now. */
static bool
slot_list_is_foreign(int fd)
{
	enum table_verdict verdict;
	struct table t;

	if (shm_lock_patient(fd, TABLE_LOCK, SLOT_PATIENCE_MS) < 0)
		return false;
	verdict = table_check(&t, seat_read(fd, &t));
	shm_unlock(fd, TABLE_LOCK);
	return verdict == TABLE_FOREIGN;
}

void
slots_list(struct slots *s, struct slot_list *ret_list)
{
	slot_list_read(s->fd, false, ret_list);
}

void
slots_list_holders(struct slots *s, struct slot_list *ret_list)
{
	slot_list_read(s->fd, true, ret_list);
}

int
slots_look(const char *segment, struct slot_list *ret_list, struct error *err)
{
	struct slot_list list = { 0 };
	char name[SHM_NAME_SIZE];
	int fd = -1;
	int rc;

	if (segment == NULL)
		segment = shm_name_default(name);
	rc = shm_attach(segment, false, &fd, err);
	if (rc < 0 && slots_error_is_absence(err)) {
		*err = (struct error)ERROR_INIT;
		rc = 0;
	}
	if (rc < 0)
		return -1;
	if (rc == 1)
		slot_list_read(fd, false, &list);
	if (rc == 1 && list.budget == 0 && !list.is_idle && slot_list_is_foreign(fd))
		rc = seat_refuse_layout(segment, err);
	else
		*ret_list = list;
	fd_close(&fd);
	return rc < 0 ? -1 : 0;
}

void
slot_list_release(struct slot_list *list)
{
	for (size_t i = 0; i < list->nitems; i++) {
		free(list->items[i].directory);
		free(list->items[i].label);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void
slot_info_to_text(const struct slot_info *info, struct buf *b)
{
	char since[CLOCK_TEXT_SIZE];

	if (info->pid > 0)
		buf_printf(b, "pid %" PRId32, info->pid);
	else
		buf_puts(b, "a process that gave no name");
	if (info->is_foreign)
		buf_puts(b, " of another pid namespace");
	if (info->is_stopped)
		buf_puts(b, " (stopped)");
	if (info->directory[0] != '\0')
		buf_printf(b, " in %s", info->directory);
	if (info->label[0] != '\0')
		buf_printf(b, " (%s)", info->label);
	if (info->is_exclusive)
		buf_puts(b, ", exclusive");
	else if (info->is_light)
		buf_puts(b, ", light");
	else
		buf_printf(b, ", %u slot%s", info->is_held ? info->held : info->want,
			   (info->is_held ? info->held : info->want) == 1 ? "" : "s");
	if (info->since_ms > 0)
		buf_printf(b, " since %s", clock_to_text(info->since_ms, since));
}

int32_t
slots_lock_owner(struct slots *s)
{
	return shm_lock_owner(s->fd, TABLE_LOCK);
}
