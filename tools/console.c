/* SPDX-License-Identifier: MIT */
#include "tools/console.h"

#include <stdint.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "supervisor/report/events.h"
#include "supervisor/report/lines.h"

void
console_write(struct console *c, const char *text, size_t n)
{
	if (!c->is_gone && fd_write(STDOUT_FILENO, text, n) < 0)
		c->is_gone = true;
}

static void
console_flush(struct console *c)
{
	console_write(c, buf_text(&c->line), c->line.len);
	buf_clear(&c->line);
}

/* Warnings are chatter: on stderr, so that events stay alone on stdout. */
static void
console_warn(void *ctx, const char *text)
{
	struct console *c = ctx;

	lines_warn(&c->line, text);
	(void)fd_write(STDERR_FILENO, buf_text(&c->line), c->line.len);
	buf_clear(&c->line);
}

static void
console_wait(void *ctx, const struct pipeline_view *v, size_t job, const char *reason)
{
	const struct job *j = job != SIZE_MAX ? &v->plan->jobs[job] : NULL;
	struct console *c = ctx;

	if (c->is_json)
		events_wait(&c->line, j, reason);
	else
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

	lines_plan(&c->line, v->plan);
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

	if (c->is_json)
		events_step_end(&c->line, &v->plan->jobs[job], r);
	else
		lines_step(&c->line, &v->plan->jobs[job], r);
	console_flush(c);
}

static void
console_end(void *ctx, const struct pipeline_view *v)
{
	const struct report *r = v->report;
	struct console *c = ctx;

	if (c->is_json) {
		events_end(&c->line, r, v->plan, v->results, v->report_path);
		console_flush(c);
		return;
	}
	if (r->interrupted != 0)
		lines_interrupted(&c->line, r->interrupted);
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
		.end = console_end,
	};
}

void
console_release(struct console *c)
{
	buf_release(&c->line);
}
