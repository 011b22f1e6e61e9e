/* SPDX-License-Identifier: MIT */
#include "supervisor/report/report.h"

#include <json-c/json.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ipc/clock.h"
#include "supervisor/base/json.h"

const char *
signal_to_text(int signal, char text[static 16])
{
	const char *name = sigabbrev_np(signal);

	if (name != NULL)
		(void)snprintf(text, 16, "SIG%s", name);
	else if (signal == SIGRTMIN)
		(void)snprintf(text, 16, "SIGRTMIN");
	else if (signal > SIGRTMIN && signal <= SIGRTMAX)
		(void)snprintf(text, 16, "SIGRTMIN+%d", signal - SIGRTMIN);
	else
		(void)snprintf(text, 16, "SIG%d", signal);
	return text;
}

static void
add_signal(struct json_object *o, const char *key, int signal)
{
	char text[16];

	js_add_string(o, key, signal_to_text(signal, text));
}

static void
add_time(struct json_object *o, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	js_add_string(o, key, clock_to_text(wall_ms, text));
}

static void
add_true(struct json_object *o, const char *key, bool b)
{
	if (b)
		js_add_bool(o, key, true);
}

static void
add_timed_out(struct json_object *o, const struct result *r)
{
	struct json_object *t;

	if (!r->timed_out)
		return;
	t = js_object();
	js_add_decimal(t, "loadAverage", r->load_average);
	js_add_int(t, "cores", r->cores);
	js_add(o, "timedOut", t);
}

/* Where the tail is not all of the output, and only there. */
static void
add_cut(struct json_object *o, const struct result *r)
{
	if (r->tail_lines >= r->lines)
		return;
	js_add_int(o, "lines", (int64_t)r->lines);
	js_add_int(o, "tailFrom", (int64_t)r->tail_from);
}

/* Those that stand only where they apply, in the order of the documentation. */
static void
add_rest(struct json_object *o, const struct job *job, const struct result *r)
{
	add_true(o, "skipped", r->state == RESULT_SKIPPED);
	add_true(o, "unproven", job->step->plant == NULL);
	js_add_optional(o, "log", r->log);
	js_add_optional(o, "environment", r->environment);
	if (r->retried > 0)
		js_add_int(o, "retried", r->retried);
	add_timed_out(o, r);
	if (r->leaked > 0)
		js_add_int(o, "leaked", r->leaked);
	if (r->signal > 0)
		add_signal(o, "signal", r->signal);
	add_true(o, "interrupted", r->interrupted);
	if (r->slot_wait_ms >= 0)
		js_add_int(o, "slotWaitMs", r->slot_wait_ms);
	js_add_optional(o, "ranNothing", r->ran_nothing);
	js_add_optional(o, "error", r->error);
	add_cut(o, r);
}

struct json_object *
report_step_to_json(const struct job *job, const struct result *r)
{
	struct json_object *o = js_object();

	js_add_string(o, "id", job->id);
	js_add_string(o, "command", job->command);
	js_add_bool(o, "ok", r->ok);
	js_add_int(o, "exitCode", r->exit_code);
	js_add_int(o, "ms", r->ms);
	js_add_string(o, "tail", r->tail);
	add_rest(o, job, r);
	return o;
}

static struct json_object *
steps_to_json(const struct plan *p, const struct result *results)
{
	const struct result none = RESULT_INIT;
	struct json_object *steps = js_array();
	size_t i;

	for (i = 0; i < p->njobs; i++)
		js_push(steps, report_step_to_json(
				   &p->jobs[i], results != NULL ? &results[i] : &none));
	return steps;
}

struct json_object *
report_scope_to_json(const struct scope *s)
{
	struct json_object *o = js_object();
	struct json_object *list = js_array();
	size_t i;

	js_add_optional(o, "against", s->against);
	js_add_bool(o, "verified", s->base_is_verified);
	js_add_optional(o, "reason", s->reason);
	for (i = 0; i < s->workspaces.nitems; i++) {
		struct json_object *w = js_object();

		js_add_string(w, "workspace", s->workspaces.items[i].path);
		js_add_bool(w, "selected", s->is_selected[i]);
		js_add_optional(w, "why", s->why[i]);
		js_push(list, w);
	}
	js_add(o, "workspaces", list);
	return o;
}

struct json_object *
report_to_json(const struct report *r, const struct plan *p, const struct result *results)
{
	struct json_object *o = js_object();

	js_add_string(o, "tier", r->tier);
	add_time(o, "startedAt", r->started_ms);
	add_time(o, "finishedAt", r->unfinished ? r->started_ms : r->finished_ms);
	js_add_bool(o, "ok", r->ok && !r->unfinished);
	if (r->budget_ms >= 0)
		js_add_int(o, "budgetMs", r->budget_ms);
	js_add_optional(o, "inputs", r->inputs);
	add_true(o, "unfinished", r->unfinished);
	if (r->interrupted > 0)
		add_signal(o, "interrupted", r->interrupted);
	add_true(o, "replayed", r->replayed);
	js_add_optional(o, "workMissing", r->work_missing);
	if (r->scope != NULL)
		js_add(o, "affected", report_scope_to_json(r->scope));
	js_add(o, "steps", steps_to_json(p, r->unfinished ? NULL : results));
	return o;
}

void
report_format(const struct report *r, const struct plan *p, const struct result *results,
	      struct buf *out)
{
	struct json_object *o = report_to_json(r, p, results);

	js_write(o, JS_PRETTY, out);
	json_object_put(o);
}
