/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/proof_report.h"

#include <json-c/json.h>

#include "ipc/clock.h"
#include "supervisor/base/json.h"
#include "supervisor/prove/proof_lines.h"
#include "supervisor/report/events.h"
#include "supervisor/report/report.h"

enum {
	REPORT_CHANGED_MAX = 100 /* paths by name */
};

static const char *const outcomes[] = {
	[PROOF_NOT_RUN] = "not run",
	[PROOF_UNPROVEN] = "unproven",
	[PROOF_PROVEN] = "proven",
	[PROOF_NOT_PROVEN] = "not proven",
};

static const char *const reasons[] = {
	[PROOF_NO_REASON] = "",
	[PROOF_STAYED_GREEN] = "stayed-green",
	[PROOF_NO_EVIDENCE] = "no-evidence",
	[PROOF_STEP_SIGNAL] = "signal",
	[PROOF_PLANT_FAILED] = "plant-failed",
	[PROOF_NOTHING_CHANGED] = "nothing-changed",
	[PROOF_NOTHING_REACHED] = "nothing-reached",
	[PROOF_RED_BEFORE] = "red-before",
	[PROOF_TREE_TOUCHED] = "tree-written",
	[PROOF_TROUBLE] = "trouble",
};

static const char *const kinds[] = {
	[COPY_NONE] = "none",
	[COPY_OVERLAY] = "overlay",
	[COPY_PORTABLE] = "portable",
};

static void
add_time(struct json_object *o, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	js_add_string(o, key, clock_to_text(wall_ms, text));
}

static void
add_copy(struct json_object *o, const struct proof *p)
{
	struct json_object *copy;

	if (p->copy == COPY_NONE)
		return;
	copy = js_object();
	js_add_string(copy, "kind", kinds[p->copy]);
	js_add_bool(copy, "guarded", p->is_guarded);
	js_add_int(copy, "bytes", (int64_t)p->copy_bytes);
	js_add_int(copy, "ms", p->copy_ms);
	js_add(o, "copy", copy);
}

static void
add_changed(struct json_object *o, const struct proof *p)
{
	struct json_object *paths;
	size_t i;

	if (p->copy == COPY_NONE)
		return;
	paths = js_array();
	for (i = 0; i < p->nchanged_kept && i < REPORT_CHANGED_MAX; i++)
		js_push(paths, js_string(p->changed[i]));
	js_add(o, "changed", paths);
	if (i < p->nchanged)
		js_add_int(o, "changedCount", (int64_t)p->nchanged);
}

static void
add_verdict(struct json_object *o, const struct proof *p)
{
	char text[16];

	js_add_string(o, "outcome", outcomes[p->outcome]);
	if (p->outcome == PROOF_UNPROVEN || p->outcome == PROOF_NOT_RUN)
		return;
	if (p->reason != PROOF_NO_REASON)
		js_add_string(o, "reason", reasons[p->reason]);
	js_add_int(o, "exitCode", p->exit_code);
	if (p->signal != 0)
		js_add_string(o, "signal", signal_to_text(p->signal, text));
	js_add_bool(o, "evidence", p->expected);
	js_add_int(o, "ms", p->ms);
	js_add_int(o, "plantMs", p->plant_ms);
	js_add_string(o, "tail", p->tail);
	if (p->tail_lines < p->lines) {
		js_add_int(o, "lines", (int64_t)p->lines);
		js_add_int(o, "tailFrom", (int64_t)p->tail_from);
	}
	js_add_optional(o, "part", p->part);
	js_add_optional(o, "detail", p->detail);
	js_add_optional(o, "log", p->log);
	add_copy(o, p);
	add_changed(o, p);
}

static void
add_names(struct json_object *o, const struct prove_view *v, size_t step)
{
	js_add_string(o, "id", proof_step_id(v, step));
	js_add_string(o, "command", proof_step_command(v, step));
}

static void
add_step(struct json_object *o, const struct prove_view *v, size_t step)
{
	add_names(o, v, step);
	add_verdict(o, &v->proofs[step]);
}

static void
add_report(struct json_object *o, const struct prove_view *v)
{
	struct json_object *steps = js_array();
	size_t i, nred = prove_count(v, PROOF_NOT_PROVEN);
	char text[16];

	js_add_string(o, "tier", v->plan->tier->name);
	add_time(o, "startedAt", v->started_ms);
	if (!v->unfinished)
		add_time(o, "finishedAt", v->finished_ms);
	js_add_bool(o, "ok", !v->unfinished && v->interrupted == 0 && nred == 0);
	if (v->unfinished)
		js_add_bool(o, "unfinished", true);
	if (v->interrupted != 0)
		js_add_string(o, "interrupted", signal_to_text(v->interrupted, text));
	if (v->want_baseline)
		js_add_bool(o, "baseline", true);
	js_add_int(o, "proven", (int64_t)prove_count(v, PROOF_PROVEN));
	js_add_int(o, "unproven", (int64_t)prove_count(v, PROOF_UNPROVEN));
	js_add_int(o, "notProven", (int64_t)nred);
	for (i = 0; i < v->nsteps; i++) {
		struct json_object *step = js_object();

		add_step(step, v, i);
		js_push(steps, step);
	}
	js_add(o, "steps", steps);
}

void
proof_report_format(const struct prove_view *v, struct buf *out)
{
	struct json_object *o = js_object();

	add_report(o, v);
	js_write(o, JS_PRETTY, out);
	js_put(o);
}

/* --- events --- */

void
proof_event_start(const struct prove_view *v, struct buf *out)
{
	struct json_object *o = event_new("start");
	struct json_object *steps = js_array();
	size_t i;

	js_add_string(o, "tier", v->plan->tier->name);
	add_time(o, "startedAt", v->started_ms);
	js_add_int(o, "jobs", v->jobs->count);
	for (i = 0; i < v->nsteps; i++) {
		struct json_object *step = js_object();

		add_names(step, v, i);
		js_push(steps, step);
	}
	js_add(o, "steps", steps);
	event_end(o, out);
}

void
proof_event_wait(const struct prove_view *v, size_t step, const char *reason,
		 struct buf *out)
{
	struct json_object *o = event_new("wait");

	if (step != SIZE_MAX)
		js_add_string(o, "id", proof_step_id(v, step));
	js_add_string(o, "reason", reason);
	event_end(o, out);
}

void
proof_event_step_start(const struct prove_view *v, size_t step, struct buf *out)
{
	struct json_object *o = event_new("step-start");

	add_names(o, v, step);
	event_end(o, out);
}

void
proof_event_step_end(const struct prove_view *v, size_t step, struct buf *out)
{
	struct json_object *o = event_new("step-end");

	add_step(o, v, step);
	event_end(o, out);
}

void
proof_event_end(const struct prove_view *v, struct buf *out)
{
	struct json_object *o = event_new("end");

	add_report(o, v);
	js_add_string(o, "report", v->report_path);
	event_end(o, out);
}
