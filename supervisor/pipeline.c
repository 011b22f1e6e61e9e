/* SPDX-License-Identifier: MIT */
/* The story of a verify, top to bottom; pipeline_execute at the end has it on one screen.
 */
#include "supervisor/pipeline.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/pipeline_part.h"
#include "supervisor/plan/work.h"
#include "supervisor/run/changed_file.h"
#include "supervisor/run/local.h"
#include "supervisor/run/logs.h"

void
pipeline_warn(const struct pipeline *p, const char *text)
{
	if (p->observer->warn != NULL)
		p->observer->warn(p->observer->ctx, text);
}

void
pipeline_tell_wait(const struct pipeline *p, size_t job, const char *reason)
{
	if (p->observer->wait != NULL)
		p->observer->wait(p->observer->ctx, &p->view, job, reason);
}

/* --- load, scope, plan --- */

static int
pipeline_load(struct pipeline *p, struct error *err)
{
	if (config_load(".", &p->config, err) < 0)
		return -1;
	p->tier = config_tier(&p->config, p->request->tier, err);
	if (p->tier == NULL)
		return -1;
	p->report.tier = p->tier->name;
	p->report.budget_ms = p->tier->budget_ms;
	return 0;
}

/* Of the tree that the key is of. */
static int
pipeline_plan(struct pipeline *p, struct error *err)
{
	struct mark_parts parts = MARK_PARTS_INIT;
	struct scope_request rq = {
		.config = &p->config,
		.tier = p->tier->name,
		.affected = p->request->affected,
		.since = p->request->since,
		.needs_workspaces = p->request->require_work ||
				    plan_has_workspace_steps(&p->config, p->tier),
		.tree = &p->key.tree,
		.unreadable = p->key.is_unreadable ? p->key.why : NULL,
		.parts = &parts,
	};
	int rc;

	plan_release(&p->plan);
	scope_release(&p->scope);
	key_to_parts(&p->key, &parts);
	rc = scope_find(&rq, &p->scope, err);
	if (rc == 0)
		rc = plan_build(&p->config, p->tier, &p->scope, p->request->only,
				&p->plan, err);
	mark_parts_release(&parts);
	p->report.scope = p->request->affected && rq.needs_workspaces ? &p->scope : NULL;
	p->is_planned = rc == 0;
	return rc;
}

/* --- the report --- */

static char *
path_from_here(const char *path)
{
	char *cwd, *absolute;

	if (path[0] == '/')
		return xstrdup(path);
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return xstrdup(path);
	absolute = xasprintf("%s/%s", cwd, path);
	free(cwd);
	return absolute;
}

static int
pipeline_open_report(struct pipeline *p, struct error *err)
{
	const char *path =
	    p->request->report_path != NULL ? p->request->report_path : REPORT_PATH;

	if (report_place_open(path, &p->place, err) < 0)
		return -1;
	p->report_path = path_from_here(path);
	p->view.report_path = p->report_path;
	return 0;
}

static int
pipeline_save(const struct pipeline *p,
	      int (*save)(struct report_place *, const char *, size_t, struct error *),
	      struct error *err)
{
	struct buf text = BUF_INIT;
	int rc;

	report_format(&p->report, &p->plan, p->report.unfinished ? NULL : p->results,
		      &text);
	rc = save(p->place, text.data, text.len, err);
	buf_release(&text);
	return rc;
}

/* From here on the old report is gone: a run that is killed leaves no green of yesterday.
 */
static int
pipeline_begin(struct pipeline *p, struct error *err)
{
	size_t i;

	p->results = xcalloc(p->plan.njobs, sizeof(*p->results));
	for (i = 0; i < p->plan.njobs; i++)
		p->results[i] = (struct result)RESULT_INIT;
	p->view.results = p->results;
	p->report.started_ms = clock_wall_ms();
	p->report.inputs = p->key.is_there ? p->key.hex : NULL;
	p->report.unfinished = true;
	if (pipeline_save(p, report_place_begin, err) < 0)
		return -1;
	if (p->observer->start != NULL)
		p->observer->start(p->observer->ctx, &p->view);
	return 0;
}

/* --require-work: did at least one test runner run a test? */
static bool
pipeline_ran_a_test(const struct pipeline *p)
{
	bool any_runner = false;
	size_t i;

	for (i = 0; i < p->plan.njobs; i++) {
		if (!p->plan.jobs[i].step->runner)
			continue;
		any_runner = true;
		if (p->results[i].ran_nothing == NULL)
			return true;
	}
	return !any_runner;
}

/* A green whose runners all ran nothing says nothing of code that changed without a test.
 */
static void
pipeline_require_work(struct pipeline *p, struct run_outcome *o)
{
	const char *untested;

	if (!p->request->require_work || !o->ok || pipeline_ran_a_test(p))
		return;
	untested = p->scope.has_changes ? work_untested(&p->scope, &p->config)
					: "no diff can be read here";
	if (untested == NULL)
		return;
	o->ok = false;
	p->report.work_missing = untested;
	pipeline_contradict(p, CONTRADICTION_FLAG);
}

static int
pipeline_finish(struct pipeline *p, const struct run_outcome *o, struct error *err)
{
	p->report.unfinished = false;
	p->report.finished_ms = clock_wall_ms();
	/* A wall clock that was set back must not make the run end before it began. */
	if (p->report.finished_ms < p->report.started_ms)
		p->report.finished_ms = p->report.started_ms;
	p->report.ok = o->ok;
	p->report.interrupted = o->interrupted;
	if (pipeline_save(p, report_place_save, err) < 0)
		return -1;
	if (p->observer->end != NULL)
		p->observer->end(p->observer->ctx, &p->view);
	return 0;
}

/* --- the run --- */

static void
tell_job_wait(void *ctx, size_t job, const char *holders)
{
	char *reason = xasprintf("for a slot, held by %s", holders);

	pipeline_tell_wait(ctx, job, reason);
	free(reason);
}

static void
tell_tick(void *ctx, const struct run_activity *activities, size_t n)
{
	const struct pipeline *p = ctx;

	p->observer->tick(p->observer->ctx, &p->view, activities, n);
}

static void
tell_job_start(void *ctx, size_t job, unsigned attempt)
{
	const struct pipeline *p = ctx;

	if (p->observer->job_start != NULL)
		p->observer->job_start(p->observer->ctx, &p->view, job, attempt);
}

static void
tell_job_retry(void *ctx, size_t job, const struct result *r, unsigned retry,
	       unsigned limit)
{
	const struct pipeline *p = ctx;

	if (p->observer->job_retry != NULL)
		p->observer->job_retry(p->observer->ctx, &p->view, job, r, retry, limit);
}

static void
tell_job_end(void *ctx, size_t job, const struct result *r)
{
	const struct pipeline *p = ctx;

	/* One that was cut off is not ok, and says nothing of the tree. */
	if (r->state == RESULT_DONE && !r->ok && !r->interrupted)
		pipeline_contradict(p, CONTRADICTION_STEP);
	if (p->observer->job_end != NULL)
		p->observer->job_end(p->observer->ctx, &p->view, job, r);
}

static int
pipeline_run_jobs(struct pipeline *p, const struct local_options *lo,
		  struct run_outcome *ret_outcome, struct error *err)
{
	struct run_observer observer = {
		.ctx = p,
		.job_wait = tell_job_wait,
		.job_start = tell_job_start,
		.job_retry = tell_job_retry,
		.job_end = tell_job_end,
		.tick_ms = p->observer->tick_ms,
		.tick = tell_tick,
	};
	struct local *local = local_new(&p->plan, lo);
	struct engine engine = local_engine(local);
	struct run_options options = {
		.jobs = p->jobs.count,
		.retries = p->request->retries,
		.keep_going = p->request->keep_going,
		.machine = &p->machine,
		.exclusive = p->exclusive,
		.engine = &engine,
		.signals = &p->signals,
		.observer = &observer,
	};
	int rc;

	rc = run_execute(&p->plan, &options, p->results, ret_outcome, err);
	local_free(local);
	return rc;
}

/* What steps are given beside their commands; what of it cannot be made is a WARN. */
static int
pipeline_run(struct pipeline *p, struct run_outcome *ret_outcome, struct error *err)
{
	char *chain = turn_chain(&p->turn);
	char *log_dir = NULL, *changed = NULL;
	struct error log_error = ERROR_INIT;
	struct error why = ERROR_INIT;
	struct local_options lo = {
		.caller_env = environ,
		.run_id = p->turn.id,
		.run_chain = chain,
		.base = p->scope.mark_base,
		.log_dir_fd = -1,
	};
	int rc;

	/* Without logs the verdict stands: a step that would have one says so. */
	if (logs_open(p->tier->name, &log_dir, &lo.log_dir_fd, &log_error) < 0)
		lo.log_error = log_error.text;
	lo.log_dir = log_dir;
	if (changed_file_write(p->tier->name, &p->scope, &changed, &why) < 0) {
		(void)error_wrap(&why, "GEONOSIS_CHANGED_FILES is not set");
		pipeline_warn(p, why.text);
	}
	lo.changed_file = changed;
	rc = pipeline_run_jobs(p, &lo, ret_outcome, err);
	changed_file_remove(changed);
	fd_close(&lo.log_dir_fd);
	free(log_dir);
	free(chain);
	return rc;
}

/* --- the whole --- */

/* After a wait: the config and the tree as they are now, not planned yet. */
static int
pipeline_look_again(struct pipeline *p, struct error *err)
{
	p->is_planned = false;
	plan_release(&p->plan);
	scope_release(&p->scope);
	config_release(&p->config);
	if (pipeline_load(p, err) < 0)
		return -1;
	pipeline_compute_key(p);
	return jobs_decide(p->request->jobs, p->config.caps_heavy, &p->machine, &p->jobs,
			   err);
}

/*
 * Up to the point where the run may begin.  1: it was answered from the record; 0: it may
 * begin; -1; or minus the signal that ended the wait, less one (a number below -1).
 */
static int
pipeline_prepare(struct pipeline *p, struct error *err)
{
	int rc;

	pipeline_compute_key(p);
	if (!pipeline_is_green(p) && pipeline_plan(p, err) < 0)
		return -1;
	if (pipeline_open_report(p, err) < 0 || signals_open(&p->signals, err) < 0 ||
	    pipeline_sit(p, err) < 0)
		return -1;
	rc = pipeline_take_turn(p, err);
	if (rc != 0)
		return rc < 0 ? -1 : -1 - rc;
	/* Who was waited for may have made it green, or changed the tree. */
	if (p->turn.waited && pipeline_look_again(p, err) < 0)
		return -1;
	rc = pipeline_replay(p, err);
	if (rc != 0)
		return rc;
	rc = pipeline_take_machine(p, err);
	if (rc != 0)
		return rc < 0 ? -1 : -1 - rc;
	/* The machine may have been long in coming: what is run on is the tree of now. */
	if (p->request->exclusive && pipeline_look_again(p, err) < 0)
		return -1;
	return p->is_planned ? 0 : pipeline_plan(p, err);
}

static int
pipeline_execute(struct pipeline *p, struct pipeline_verdict *ret_verdict,
		 struct error *err)
{
	struct run_outcome outcome = { false, 0 };
	int64_t started_ms;
	int rc = pipeline_prepare(p, err);

	if (rc == -1)
		return -1;
	if (rc != 0) {
		/* Answered; or ended before the first step: there is no run to report. */
		ret_verdict->ok = rc > 0;
		ret_verdict->interrupted = rc < 0 ? -1 - rc : 0;
		return 0;
	}
	started_ms = clock_now_ms();
	if (pipeline_begin(p, err) < 0 || pipeline_run(p, &outcome, err) < 0)
		return -1;
	p->view.ms = clock_now_ms() - started_ms;
	pipeline_require_work(p, &outcome);
	if (pipeline_finish(p, &outcome, err) < 0)
		return -1;
	pipeline_keep(p, &outcome);
	ret_verdict->ok = outcome.ok;
	ret_verdict->interrupted = outcome.interrupted;
	return 0;
}

/* A dry run: nothing is written, nothing waited for. */
static int
pipeline_tell_plan(struct pipeline *p, struct error *err)
{
	pipeline_compute_key(p);
	if (pipeline_plan(p, err) < 0)
		return -1;
	if (p->observer->plan != NULL)
		p->observer->plan(p->observer->ctx, &p->view);
	return 0;
}

static void
pipeline_release(struct pipeline *p)
{
	size_t i;

	for (i = 0; p->results != NULL && i < p->plan.njobs; i++)
		result_release(&p->results[i]);
	free(p->results);
	slot_release(p->exclusive);
	machine_close(&p->machine);
	turn_release(&p->turn);
	signals_close(&p->signals);
	report_place_free(p->place);
	free(p->report_path);
	plan_release(&p->plan);
	scope_release(&p->scope);
	key_release(&p->key);
	config_release(&p->config);
}

int
pipeline_verify(const struct pipeline_request *rq, const struct pipeline_observer *o,
		struct pipeline_verdict *ret_verdict, struct error *err)
{
	struct pipeline p = {
		.request = rq,
		.observer = o,
		.config = CONFIG_INIT,
		.key = KEY_INIT,
		.scope = SCOPE_INIT,
		.plan = PLAN_INIT,
		.report = REPORT_INIT,
		.signals = { .fd = -1 },
	};
	int rc;
	size_t i;

	turn_init(&p.turn);
	*ret_verdict = (struct pipeline_verdict){ .ok = false };
	p.view = (struct pipeline_view){
		.plan = &p.plan,
		.scope = &p.scope,
		.jobs = &p.jobs,
		.report = &p.report,
		.key = &p.key,
	};
	rc = pipeline_load(&p, err);
	for (i = 0; i < p.config.warnings.nitems; i++)
		pipeline_warn(&p, p.config.warnings.items[i]);
	if (rc == 0 && rq->plan_only) {
		rc = pipeline_tell_plan(&p, err);
		ret_verdict->ok = rc == 0;
	} else if (rc == 0) {
		rc = pipeline_execute(&p, ret_verdict, err);
	}
	pipeline_release(&p);
	return rc;
}
