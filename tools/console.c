/* SPDX-License-Identifier: MIT */
#include "tools/console.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "supervisor/report/events.h"
#include "supervisor/report/lines.h"
#include "tools/outlet.h"

void
console_open(struct console *c, bool is_json)
{
	*c = (struct console){ .is_json = is_json };
	if (!is_json)
		live_open(&c->live);
}

/* Print the line, if any, above the live region.  A reader that left is left in peace,
 * and one that stood still when the run was to end. */
static void
console_flush(struct console *c)
{
	struct buf out = BUF_INIT;

	live_print(&c->live, buf_text(&c->line), c->line.len, &out);
	if (!c->is_gone && outlet_write(STDOUT_FILENO, buf_text(&out), out.len) < 0) {
		c->is_gone = true;
		c->lost = errno != EPIPE ? errno : 0;
	}
	buf_release(&out);
	buf_clear(&c->line);
}

/* Warnings are chatter: on stderr, so that events stay alone on stdout. */
static void
console_warn_line(const struct buf *line)
{
	(void)outlet_write(STDERR_FILENO, buf_text(line), line->len);
}

static void
console_warn(void *ctx, const char *text)
{
	struct console *c = ctx;
	struct buf line = BUF_INIT;

	/* On one terminal both streams share the cursor. */
	live_clear(&c->live);
	if (c->live.is_on)
		console_flush(c);
	lines_warn(&line, text);
	console_warn_line(&line);
	buf_release(&line);
}

static void
console_wait(void *ctx, const struct pipeline_view *v, size_t job, const char *reason)
{
	const struct job *j = job != SIZE_MAX ? &v->plan->jobs[job] : NULL;
	struct console *c = ctx;

	if (c->is_json)
		events_wait(&c->line, j, reason);
	else if (j == NULL || !c->live.is_on) /* a job's wait is in the region */
		lines_wait(&c->line, j, reason);
	console_flush(c);
}

static void
console_green(void *ctx, const struct pipeline_view *v, const struct record *r)
{
	struct console *c = ctx;

	if (c->is_json)
		events_green(&c->line, r->report, v->report_path);
	else
		lines_green(&c->line, v->report->tier, r->inputs, r->finished_at,
			    r->flags);
	console_flush(c);
}

static void
console_plan(void *ctx, const struct pipeline_view *v)
{
	struct console *c = ctx;

	if (c->is_json) {
		events_plan(&c->line, v->report, v->plan);
		console_flush(c);
		return;
	}
	if (v->report->scope != NULL)
		lines_scope(&c->line, v->report->scope);
	lines_plan(&c->line, v->plan);
	if (v->key->tree.asked != NULL)
		lines_asked(&c->line, v->key->tree.asked);
	console_flush(c);
}

static void
console_start(void *ctx, const struct pipeline_view *v)
{
	struct console *c = ctx;

	if (c->is_json)
		events_start(&c->line, v->report, v->plan, v->jobs->count);
	else
		lines_budget(&c->line, v->jobs->count, v->jobs->bound);
	if (!c->is_json && v->report->scope != NULL)
		lines_scope(&c->line, v->report->scope);
	console_flush(c);
}

static void
console_tick(void *ctx, const struct pipeline_view *v, const struct run_activity *a,
	     size_t n)
{
	struct console *c = ctx;

	live_fill(&c->live, v->plan, a, n);
	console_flush(c);
}

static void
console_job_start(void *ctx, const struct pipeline_view *v, size_t job, unsigned attempt)
{
	struct console *c = ctx;

	if (!c->is_json)
		return;
	events_step_start(&c->line, &v->plan->jobs[job], attempt);
	console_flush(c);
}

static void
console_job_retry(void *ctx, const struct pipeline_view *v, size_t job,
		  const struct result *r, unsigned retry, unsigned limit)
{
	struct console *c = ctx;

	if (c->is_json)
		return;
	lines_retry(&c->line, &v->plan->jobs[job], retry, limit, r->environment);
	console_flush(c);
}

static void
console_job_end(void *ctx, const struct pipeline_view *v, size_t job,
		const struct result *r)
{
	struct console *c = ctx;
	struct buf warning = BUF_INIT;

	if (c->is_json) {
		lines_log_error(&warning, &v->plan->jobs[job], r);
		console_warn_line(&warning);
		buf_release(&warning);
		events_step_end(&c->line, &v->plan->jobs[job], r);
	} else {
		lines_step(&c->line, &v->plan->jobs[job], r);
	}
	console_flush(c);
}

static void
console_end(void *ctx, const struct pipeline_view *v)
{
	const struct report *r = v->report;
	struct console *c = ctx;
	struct buf warning = BUF_INIT;

	live_clear(&c->live);
	if (c->is_json) {
		lines_over_budget(&warning, r->tier, r->budget_ms, v->ms);
		console_warn_line(&warning);
		buf_release(&warning);
		events_end(&c->line, r, v->plan, v->results, v->report_path);
		console_flush(c);
		return;
	}
	if (r->interrupted != 0)
		lines_interrupted(&c->line, r->interrupted);
	if (r->work_missing != NULL)
		lines_work_missing(&c->line, r->work_missing);
	lines_over_budget(&c->line, r->tier, r->budget_ms, v->ms);
	lines_legend(&c->line, v->plan, v->results);
	lines_verdict(&c->line, r->tier, r->ok, v->report_path, NULL);
	console_flush(c);
}

struct pipeline_observer
console_observer(struct console *c)
{
	return (struct pipeline_observer){
		.ctx = c,
		.warn = console_warn,
		.wait = console_wait,
		.green = console_green,
		.plan = console_plan,
		.start = console_start,
		.job_start = console_job_start,
		.job_retry = console_job_retry,
		.job_end = console_job_end,
		.tick_ms = c->live.is_on ? LIVE_TICK_MS : 0,
		.tick = console_tick,
		.end = console_end,
	};
}

void
console_release(struct console *c)
{
	live_release(&c->live);
	buf_release(&c->line);
}
