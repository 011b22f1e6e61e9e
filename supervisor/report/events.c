/* SPDX-License-Identifier: MIT */
#include "supervisor/report/events.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/clock.h"
#include "supervisor/base/json.h"

struct json_object *
event_new(const char *name)
{
	struct json_object *o = js_object();

	js_add_string(o, "event", name);
	return o;
}

void
event_end(struct json_object *event, struct buf *out)
{
	js_write(event, JS_LINE, out);
	json_object_put(event);
}

/* Move all members of `from`, which is taken, to the end of the event's. */
static void
event_merge(struct json_object *event, struct json_object *from)
{
	json_object_object_foreach(from, key, value)
	{
		json_object_get(value);
		(void)json_object_object_add(event, key, value);
	}
	json_object_put(from);
}

static void
add_job(struct json_object *o, const struct job *job)
{
	js_add_string(o, "id", job->id);
	js_add_string(o, "command", job->command);
}

static struct json_object *
jobs_to_json(const struct plan *p)
{
	struct json_object *steps = js_array();
	size_t i;

	for (i = 0; i < p->njobs; i++) {
		struct json_object *o = js_object();

		add_job(o, &p->jobs[i]);
		js_add_optional(o, "workspace", p->jobs[i].workspace);
		js_add_optional(o, "why", p->jobs[i].why);
		js_add_optional(o, "nothing", p->jobs[i].nothing);
		js_push(steps, o);
	}
	return steps;
}

static void
add_plan(struct json_object *o, const struct report *r, const struct plan *p)
{
	if (r->scope != NULL)
		js_add(o, "affected", report_scope_to_json(r->scope));
	js_add(o, "steps", jobs_to_json(p));
}

void
events_plan(struct buf *out, const struct report *r, const struct plan *p)
{
	struct json_object *o = event_new("plan");
	struct json_object *repeats = js_array();
	size_t i;

	js_add_string(o, "tier", r->tier);
	add_plan(o, r, p);
	for (i = 0; i < p->nrepeats; i++) {
		struct json_object *repeat = js_object();

		js_add_string(repeat, "tier", p->repeats[i].tier->name);
		js_add_string(repeat, "in", p->repeats[i].in->name);
		js_push(repeats, repeat);
	}
	js_add(o, "repeats", repeats);
	event_end(o, out);
}

void
events_start(struct buf *out, const struct report *r, const struct plan *p, unsigned jobs)
{
	struct json_object *o = event_new("start");
	char text[CLOCK_TEXT_SIZE];

	js_add_string(o, "tier", r->tier);
	js_add_string(o, "startedAt", clock_to_text(r->started_ms, text));
	if (r->budget_ms >= 0)
		js_add_int(o, "budgetMs", r->budget_ms);
	if (r->inputs != NULL)
		js_add_string(o, "inputs", r->inputs);
	js_add_int(o, "jobs", jobs);
	add_plan(o, r, p);
	event_end(o, out);
}

void
events_wait(struct buf *out, const struct job *job, const char *reason)
{
	struct json_object *o = event_new("wait");

	if (job != NULL)
		js_add_string(o, "id", job->id);
	js_add_string(o, "reason", reason);
	event_end(o, out);
}

void
events_step_start(struct buf *out, const struct job *job, unsigned retried)
{
	struct json_object *o = event_new("step-start");

	add_job(o, job);
	if (retried > 0)
		js_add_int(o, "retried", retried);
	event_end(o, out);
}

void
events_step_end(struct buf *out, const struct job *job, const struct result *r)
{
	struct json_object *o = event_new("step-end");

	event_merge(o, report_step_to_json(job, r));
	event_end(o, out);
}

void
events_end(struct buf *out, const struct report *r, const struct plan *p,
	   const struct result *results, const char *report_path)
{
	struct json_object *o = event_new("end");

	event_merge(o, report_to_json(r, p, results));
	js_add_string(o, "report", report_path);
	event_end(o, out);
}

void
events_green(struct buf *out, struct json_object *report, const char *report_path)
{
	struct json_object *o = event_new("end");

	event_merge(o, json_object_get(report));
	js_add_string(o, "report", report_path);
	event_end(o, out);
}
