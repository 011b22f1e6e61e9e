/* SPDX-License-Identifier: MIT */
/*
 * Events: a run as JSON lines, one object an event, under the names of the
 * report.  Each function appends one line.
 *
 *   {"event":"start","tier":…,"startedAt":…,"budgetMs"?,"inputs"?,"jobs":2,"affected"?,
 *    "steps":[{"id":…,"command":…,"workspace"?,"why"?,"nothing"?},…]}
 *   {"event":"wait","id"?,"reason":…}        without id the run itself waits
 *   {"event":"step-start","id":…,"command":…,"retried"?}
 *   {"event":"step-end", <the step as in the report>}     skipped steps too
 *   {"event":"end", <the whole report>,"report":<its path>}
 *
 * A dry run is one event, a run that was answered from a record only its `end`:
 *
 *   {"event":"plan","tier":…,"affected"?,"steps":[…],"repeats":[{"tier":…,"in":…},…]}
 */
#ifndef SUPERVISOR_REPORT_EVENTS_H
#define SUPERVISOR_REPORT_EVENTS_H

#include "ipc/buf.h"
#include "supervisor/base/result.h"
#include "supervisor/plan/plan.h"
#include "supervisor/report/report.h"

struct json_object;

/* What every event begins with; its line, which takes it. */
struct json_object *event_new(const char *name);
void event_end(struct json_object *event, struct buf *out);

/* Of a dry run. */
void events_plan(struct buf *out, const struct report *r, const struct plan *p);
void events_start(struct buf *out, const struct report *r, const struct plan *p,
		  unsigned jobs);
/* `job` NULL: the run itself. */
void events_wait(struct buf *out, const struct job *job, const char *reason);
/* `retried` counts the re-runs so far, this one included; 0 on the first attempt. */
void events_step_start(struct buf *out, const struct job *job, unsigned retried);
void events_step_end(struct buf *out, const struct job *job, const struct result *r);
/* `report_path` as the verdict line has it. */
void events_end(struct buf *out, const struct report *r, const struct plan *p,
		const struct result *results, const char *report_path);
/* The `end` of a run that was answered from a record: its report, as it was written. */
void events_green(struct buf *out, struct json_object *report, const char *report_path);

#endif
