/* SPDX-License-Identifier: MIT */
#include "supervisor/run/machine.h"

#include <bsd/stdlib.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/budget.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/shm.h"
#include "ipc/slot_list.h"
#include "supervisor/base/json.h"
#include "supervisor/base/text.h"
#include "supervisor/run/enclosing.h"

#define MACHINE_SYSTEM_FILE "/etc/geonosis/gate.json"

enum {
	MACHINE_FILE_MAX = 65536,
	MACHINE_HOLDERS_SHOWN = 3,
	MACHINE_RETELL_MS = 1000, /* between looks at who is in the way */
};

/* --- settings --- */

/* Of the user's config directory; NULL where there is none. */
static char *
machine_user_file(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (config != NULL && config[0] == '/')
		return xasprintf("%s/geonosis/gate.json", config);
	if (home != NULL && home[0] == '/')
		return xasprintf("%s/.config/geonosis/gate.json", home);
	return NULL;
}

/*
 * The budget that a file keeps, 0 where it keeps none.  A file that is there and keeps
 * none stops no command, which might be the one that mends it; *is_unusable says so.
 */
static unsigned
machine_file_budget(const char *path, bool *is_unusable)
{
	struct error ignored = ERROR_INIT;
	struct json_object *file = NULL;
	int64_t n = 0;

	if (path == NULL || faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (js_read(path, MACHINE_FILE_MAX, &file, &ignored) < 0 ||
	    !js_get_int(file, "budget", &n) || n < 1 || n > SLOT_BUDGET_MAX) {
		*is_unusable = true;
		n = 0;
	}
	(void)json_object_put(file);
	return (unsigned)n;
}

unsigned
machine_budget(char bound[64])
{
	char *user = machine_user_file();
	bool is_unusable = false;
	unsigned n = machine_file_budget(user, &is_unusable);

	free(user);
	if (n == 0)
		n = machine_file_budget(MACHINE_SYSTEM_FILE, &is_unusable);
	if (n > 0) {
		(void)snprintf(bound, 64, "geonosis gate budget");
		return n;
	}
	n = budget_machine();
	(void)snprintf(bound, 64, "the machine's budget%s",
		       is_unusable ? "; gate.json keeps none" : "");
	return n;
}

/* Of the user's file; a link is followed, as to where such files are kept together. */
static int
machine_budget_save(unsigned budget, struct error *err)
{
	char *path = machine_user_file();
	char *dir, *target;
	char text[64];
	int rc;

	if (path == NULL)
		return error_set(err, ERROR_USAGE,
				 "gate budget: neither XDG_CONFIG_HOME nor HOME names a "
				 "directory to keep it in");
	target = realpath(path, NULL);
	dir = xstrdup(path);
	*strrchr(dir, '/') = '\0';
	(void)snprintf(text, sizeof(text), "{ \"budget\": %u }\n", budget);
	rc = dir_make(dir, err);
	if (rc == 0)
		rc = file_save(target != NULL ? target : path, text, strlen(text), err);
	free(target);
	free(dir);
	free(path);
	return rc;
}

int
machine_budget_set(unsigned budget, struct error *err)
{
	struct slot_list list = { 0 };
	const char *segment;
	int rc;

	if (machine_segment(&segment, err) < 0)
		return -1;
	/* One that may not be used is told before anything is kept. */
	rc = slots_look(segment, &list, err);
	slot_list_release(&list);
	if (rc < 0 || machine_budget_save(budget, err) < 0)
		return -1;
	if (slots_budget_set(segment, budget, err) >= 0)
		return 0;
	/* Where there are no slots to share it is kept for when there are. */
	if (!slots_error_is_absence(err))
		return -1;
	*err = (struct error)ERROR_INIT;
	return 0;
}

int
machine_segment(const char **ret_segment, struct error *err)
{
	const char *name = getenv("GEONOSIS_SEGMENT");

	if (name == NULL || *name == '\0') {
		*ret_segment = NULL;
		return 0;
	}
	if (shm_name_check(name, err) < 0)
		return error_wrap(err, "GEONOSIS_SEGMENT");
	*ret_segment = name;
	return 0;
}

/* GEONOSIS_HEAVY_SLOTS; 0 where it is not set. */
static int
machine_heavy(unsigned *ret_heavy, struct error *err)
{
	const char *text = getenv("GEONOSIS_HEAVY_SLOTS");
	const char *why = NULL;
	long long n = 0;

	if (text != NULL && *text != '\0')
		n = strtonum(text, 1, SLOT_BUDGET_MAX, &why);
	if (why != NULL)
		return error_set(err, ERROR_USAGE,
				 "GEONOSIS_HEAVY_SLOTS: \"%.100s\" is %s; it must be a "
				 "whole number from 1 to %d",
				 text, why, SLOT_BUDGET_MAX);
	*ret_heavy = (unsigned)n;
	return 0;
}

int
machine_budget_unused(unsigned *ret_budget, struct error *err)
{
	unsigned heavy = 0;
	char bound[64];

	if (machine_heavy(&heavy, err) < 0)
		return -1;
	*ret_budget = heavy > 0 ? heavy : machine_budget(bound);
	return 0;
}

/* --- the place --- */

int
machine_open(struct machine *s, char **ret_warning, struct error *err)
{
	struct slots_config config = { 0 };
	char *token = NULL, *warning = NULL;
	int rc = -1;

	if (machine_segment(&s->segment, err) < 0 ||
	    machine_heavy(&config.heavy, err) < 0)
		return -1;
	config.segment = s->segment;
	config.budget = machine_budget(s->bound);
	config.inside = token = enclosing_token(s->segment);
	if (slots_open(&config, &s->slots, err) < 0) {
		if (!slots_error_is_absence(err))
			goto out;
		warning =
		    xasprintf("%s: steps are not coordinated with other runs", err->text);
		*err = (struct error)ERROR_INIT;
		s->is_private = true;
		if (slots_open_private(&config, &s->slots, err) < 0)
			goto out;
	}
	s->share = slots_share(s->slots);
	if (slots_inside(s->slots).is_live)
		(void)snprintf(s->bound, sizeof(s->bound),
			       "the slots of the step around it");
	else if (config.heavy == s->share)
		(void)snprintf(s->bound, sizeof(s->bound), "GEONOSIS_HEAVY_SLOTS");
	*ret_warning = warning;
	warning = NULL;
	rc = 0;
out:
	free(warning);
	free(token);
	return rc;
}

void
machine_close(struct machine *s)
{
	slots_free(s->slots);
	s->slots = NULL;
}

int
machine_lend(const struct machine *s, pid_t pid, uint64_t pid_namespace,
	     struct error *err)
{
	struct error ignored = ERROR_INIT;
	bool is_stuck = false;

	(void)slots_lend(s->slots, pid, pid_namespace, &is_stuck, &ignored);
	if (!is_stuck)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "the run of the same tier in the same directory (pid %ld) waits "
			 "for the whole machine (--exclusive), of which the step around "
			 "this run holds a part; they would wait for each other; run "
			 "another tier in that step",
			 (long)pid);
}

int
machine_allows_exclusive(const struct machine *s, struct error *err)
{
	struct slot_inside in = slots_inside(s->slots);

	if (s->is_private)
		return error_set(
		    err, ERROR_USAGE,
		    "--exclusive: there is no shared memory here to take the machine in");
	if (in.is_live && !in.is_exclusive)
		return error_set(
		    err, ERROR_USAGE,
		    "--exclusive: this runs inside a step that holds %u slot%s (pid %d) "
		    "and would wait "
		    "for itself; leave it out, or make the outer run exclusive",
		    in.held, in.held == 1 ? "" : "s", in.pid);
	return 0;
}

/* --- waiting --- */

void
machine_holders(const struct machine *s, struct buf *b)
{
	struct slot_list list = { 0 };
	struct buf raw = BUF_INIT;
	unsigned shown = 0, more = 0, own = 0;
	char *clean;
	size_t i;

	slots_list_holders(s->slots, &list);
	for (i = 0; i < list.nitems; i++) {
		const struct slot_info *info = &list.items[i];

		if (!info->is_held)
			continue;
		if (info->pid == getpid() && !info->is_foreign) {
			own += info->held;
		} else if (shown < MACHINE_HOLDERS_SHOWN) {
			buf_puts(&raw, shown++ > 0 ? "; " : "");
			slot_info_to_text(info, &raw);
		} else {
			more++;
		}
	}
	if (more > 0)
		buf_printf(&raw, "; and %u more", more);
	if (own > 0)
		buf_printf(&raw, "%s%u slot%s of this run", shown > 0 ? "; " : "", own,
			   own == 1 ? "" : "s");
	if (raw.len == 0)
		buf_puts(&raw, "those that asked before");
	/* Names are what directories and commands are called: anything at all. */
	clean = text_clean(buf_text(&raw), raw.len);
	buf_puts(b, clean);
	free(clean);
	buf_release(&raw);
	slot_list_release(&list);
}

/* Tell, where it is another answer than the last one. */
static void
machine_tell(const struct machine *s, const struct machine_wait *w, char **last)
{
	struct buf holders = BUF_INIT;

	machine_holders(s, &holders);
	if (*last == NULL || strcmp(*last, buf_text(&holders)) != 0) {
		w->tell(w->ctx, buf_text(&holders));
		free(*last);
		*last = buf_steal(&holders);
	}
	buf_release(&holders);
}

int
machine_wait(const struct machine *s, const struct machine_wait *w, int *ret_signal,
	     struct error *err)
{
	char *last = NULL;
	int rc = slot_state(w->slot) == SLOT_HELD ? 1 : 0;

	*ret_signal = 0;
	while (rc == 0 && *ret_signal == 0) {
		int64_t until = clock_now_ms() + MACHINE_RETELL_MS;

		machine_tell(s, w, &last);
		if (w->deadline_ms >= 0 && w->deadline_ms < until)
			until = w->deadline_ms;
		rc = slot_wait(w->slot, until, w->signals->fd, err);
		if (rc != 0)
			break;
		*ret_signal = signals_read(w->signals);
		if (w->deadline_ms >= 0 && clock_now_ms() >= w->deadline_ms)
			break;
	}
	free(last);
	/* One that came with the slots, or before, is not to be lost on what follows. */
	if (rc == 1 && (*ret_signal = signals_read(w->signals)) != 0)
		rc = 0;
	return rc;
}
