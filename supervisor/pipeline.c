/* SPDX-License-Identifier: MIT */
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
#include "ipc/signals.h"
#include "supervisor/base/json.h"
#include "supervisor/config/config.h"
#include "supervisor/green/key.h"
#include "supervisor/report/place.h"
#include "supervisor/run/local.h"
#include "supervisor/run/logs.h"
#include "supervisor/run/turn.h"

/* Holds everything that a run writes. */
#define GEONOSIS_DIR ".geonosis"

struct pipeline {
	const struct pipeline_request *request;
	const struct pipeline_observer *observer;
	struct config config;
	struct plan plan;
	struct jobs jobs;
	struct report report;
	struct report_place *place;
	struct result *results;
	struct pipeline_view view;
	struct key key; /* of the tree at the start */
	struct turn turn;
	struct signals signals;
	struct machine machine;
	struct slot *exclusive; /* the machine, while it is ours */
	char *report_path;
};

static void
pipeline_warn(const struct pipeline *p, const char *text)
{
	if (p->observer->warn != NULL)
		p->observer->warn(p->observer->ctx, text);
}

/* --- load, resolve, plan --- */

static int
pipeline_load(struct pipeline *p, struct error *err)
{
	const struct tier *tier;
	size_t i;

	if (config_load(".", &p->config, err) < 0)
		return -1;
	tier = config_tier(&p->config, p->request->tier != NULL ? p->request->tier : "",
			   err);
	if (tier == NULL)
		return -1;
	if (plan_build(&p->config, tier, p->request->only, &p->plan, err) < 0)
		return -1;
	for (i = 0; i < p->config.warnings.nitems; i++)
		pipeline_warn(p, p->config.warnings.items[i]);
	p->report.tier = tier->name;
	p->report.budget_ms = tier->budget_ms;
	return 0;
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

/* --- the machine --- */

/* Where the machine's slots are, and how many steps may go at once. */
static int
pipeline_sit(struct pipeline *p, struct error *err)
{
	char *warning;

	if (machine_open(&p->machine, &warning, err) < 0)
		return -1;
	if (warning != NULL)
		pipeline_warn(p, warning);
	free(warning);
	if (p->request->exclusive && machine_allows_exclusive(&p->machine, err) < 0)
		return -1;
	return jobs_decide(p->request->jobs, p->config.caps_heavy, &p->machine, &p->jobs,
			   err);
}

static void
tell_exclusive_wait(void *ctx, const char *holders)
{
	const struct pipeline *p = ctx;
	char *reason;

	if (p->observer->wait == NULL)
		return;
	reason = xasprintf("for the whole machine, held by %s", holders);
	p->observer->wait(p->observer->ctx, &p->view, SIZE_MAX, reason);
	free(reason);
}

/* 0, -1, or the signal that ended the wait. */
static int
pipeline_take_machine(struct pipeline *p, struct error *err)
{
	struct slot_wish wish = { .exclusive = true, .label = p->plan.tier->name };
	struct buf holders = BUF_INIT;
	int signo = 0;
	int rc;

	if (!p->request->exclusive)
		return 0;
	if (slot_request(p->machine.slots, &wish, &p->exclusive, err) < 0)
		return -1;
	rc = machine_wait(&p->machine, p->exclusive,
			  clock_now_ms() + p->request->exclusive_wait_ms, &p->signals,
			  tell_exclusive_wait, p, &signo, err);
	if (rc < 0 || signo != 0)
		return rc < 0 ? -1 : signo;
	if (rc == 1)
		return 0;
	machine_holders(&p->machine, &holders);
	(void)error_set(err, ERROR_USAGE,
			"--exclusive: the machine did not become free within %lld s "
			"(--exclusive-timeout): held by %s",
			(long long)(p->request->exclusive_wait_ms / 1000),
			buf_text(&holders));
	buf_release(&holders);
	return -1;
}

/* --- the turn --- */

static void
tell_turn_wait(void *ctx, const char *tier, pid_t pid)
{
	const struct pipeline *p = ctx;
	char reason[256];

	if (p->observer->wait == NULL)
		return;
	(void)snprintf(reason, sizeof(reason),
		       "for the run of \"%s\" in this directory (pid %ld) to end", tier,
		       (long)pid);
	p->observer->wait(p->observer->ctx, &p->view, SIZE_MAX, reason);
}

/* 0, -1, or the signal that ended the wait. */
static int
pipeline_take_turn(struct pipeline *p, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = dir_make(GEONOSIS_DIR, &why);

	if (rc == 0)
		rc = turn_take(&p->turn, p->plan.tier->name, &p->signals, tell_turn_wait,
			       p, &why);
	if (rc >= 0)
		return rc;
	if (why.kind == ERROR_USAGE) {
		*err = why;
		return -1;
	}
	/* Nothing can be kept here: only the report decides the exit, and it has its
	 * place. */
	(void)error_wrap(&why, "runs of this tier do not wait for each other");
	pipeline_warn(p, why.text);
	return 0;
}

/* --- what is green already --- */

/* The flags that matter to a verdict, as records and people read them. */
static const char *
pipeline_flags(const struct pipeline *p)
{
	(void)p;
	return "";
}

/* Without a key the run goes on: nothing is recorded, and nothing answered from a record.
 */
static void
pipeline_compute_key(const struct pipeline *p, struct key *ret_key)
{
	struct error why = ERROR_INIT;

	key_release(ret_key);
	if (key_compute(&p->config, p->plan.tier->name, pipeline_flags(p),
			p->request->version, ret_key, &why) < 0) {
		(void)error_wrap(&why, "no record of this run can be kept");
		pipeline_warn(p, why.text);
	} else if (ret_key->tree.state == TREE_DUBIOUS) {
		(void)error_set(&why, ERROR_REPO, "no record of this run can be kept: %s",
				ret_key->why);
		pipeline_warn(p, why.text);
	}
}

/* A part of a tier is no answer for the tier, and is answered by none. */
static bool
pipeline_is_whole(const struct pipeline *p)
{
	return p->request->only == NULL;
}

/* Is there a record of this very key?  Released by the caller. */
static bool
pipeline_find_green(const struct pipeline *p, struct record *ret_record)
{
	if (!p->key.is_there || !record_read(p->plan.tier->name, ret_record))
		return false;
	if (strcmp(ret_record->inputs, p->key.hex) == 0)
		return true;
	record_release(ret_record);
	return false;
}

/* 1: answered, the report is there; 0: it has to be run; -1. */
static int
pipeline_replay(struct pipeline *p, struct error *err)
{
	struct record record = RECORD_INIT;
	struct buf text = BUF_INIT;
	int rc;

	if (p->request->fresh || !pipeline_is_whole(p) ||
	    !pipeline_find_green(p, &record))
		return 0;
	js_add_bool(record.report, "replayed", true);
	js_write(record.report, JS_PRETTY, &text);
	rc = report_place_save(p->place, buf_text(&text), text.len, err) < 0 ? -1 : 1;
	if (rc == 1 && p->observer->green != NULL)
		p->observer->green(p->observer->ctx, &p->view, &record);
	buf_release(&text);
	record_release(&record);
	return rc;
}

static void
pipeline_write_record(const struct pipeline *p)
{
	struct error why = ERROR_INIT;
	struct json_object *report;
	char finished_at[CLOCK_TEXT_SIZE];

	report = report_to_json(&p->report, &p->plan, p->results);
	if (record_write(p->plan.tier->name, p->key.hex, pipeline_flags(p),
			 clock_to_text(p->report.finished_ms, finished_at), report,
			 &why) < 0) {
		(void)error_wrap(&why, "this green is not recorded");
		pipeline_warn(p, why.text);
	}
	js_put(report);
}

/* A red that contradicts a recorded green of the same key takes it away. */
static void
pipeline_drop_record(const struct pipeline *p)
{
	struct record record = RECORD_INIT;
	struct error why = ERROR_INIT;

	if (!pipeline_find_green(p, &record))
		return;
	record_release(&record);
	if (record_remove(p->plan.tier->name, &why) < 0) {
		(void)error_wrap(&why, "a green that no longer holds stays recorded");
		pipeline_warn(p, why.text);
	}
}

/* What the run showed of the tree that it ran on, which must be the one it ends on. */
static void
pipeline_record(struct pipeline *p, const struct run_outcome *o)
{
	struct key after = KEY_INIT;

	if (!p->key.is_there || !pipeline_is_whole(p) || o->interrupted != 0)
		return;
	pipeline_compute_key(p, &after);
	if (after.is_there && strcmp(after.hex, p->key.hex) == 0) {
		if (o->ok)
			pipeline_write_record(p);
		else
			pipeline_drop_record(p);
	}
	key_release(&after);
}

/* From here on the old report is gone: a run that is killed leaves no green of yesterday.
 */
static int
pipeline_begin(struct pipeline *p, struct error *err)
{
	p->report.started_ms = clock_wall_ms();
	p->report.inputs = p->key.is_there ? p->key.hex : NULL;
	p->report.unfinished = true;
	if (pipeline_save(p, report_place_begin, err) < 0)
		return -1;
	if (p->observer->start != NULL)
		p->observer->start(p->observer->ctx, &p->view);
	return 0;
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
	const struct pipeline *p = ctx;
	char *reason;

	if (p->observer->wait == NULL)
		return;
	reason = xasprintf("for a slot, held by %s", holders);
	p->observer->wait(p->observer->ctx, &p->view, job, reason);
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

	if (p->observer->job_end != NULL)
		p->observer->job_end(p->observer->ctx, &p->view, job, r);
}

static int
pipeline_run(struct pipeline *p, struct run_outcome *ret_outcome, struct error *err)
{
	struct run_options options = {
		.jobs = p->jobs.count,
		.retries = p->request->retries,
		.keep_going = p->request->keep_going,
		.machine = &p->machine,
		.exclusive = p->exclusive,
	};
	struct run_observer observer = {
		.ctx = p,
		.job_wait = tell_job_wait,
		.job_start = tell_job_start,
		.job_retry = tell_job_retry,
		.job_end = tell_job_end,
		.tick_ms = p->observer->tick_ms,
		.tick = tell_tick,
	};
	char *chain = turn_chain(&p->turn);
	struct local_options local_options = {
		.caller_env = environ,
		.run_id = p->turn.id,
		.run_chain = chain,
		.log_dir_fd = -1,
	};
	struct error log_error = ERROR_INIT;
	struct engine engine;
	struct local *local;
	char *log_dir = NULL;
	int rc;

	/* Without logs the verdict stands: a step that would have one says so. */
	if (logs_open(p->plan.tier->name, &log_dir, &local_options.log_dir_fd,
		      &log_error) < 0)
		local_options.log_error = log_error.text;
	local_options.log_dir = log_dir;
	local = local_new(&p->plan, &local_options);
	engine = local_engine(local);
	rc = run_execute(&p->plan, &options, &engine, &p->signals, &observer, p->results,
			 ret_outcome, err);
	local_free(local);
	fd_close(&local_options.log_dir_fd);
	free(log_dir);
	free(chain);
	return rc;
}

static int
pipeline_execute(struct pipeline *p, struct pipeline_verdict *ret_verdict,
		 struct error *err)
{
	struct run_outcome outcome = { false, 0 };
	int64_t started_ms;
	size_t i;
	int rc;

	p->results = xcalloc(p->plan.njobs, sizeof(*p->results));
	for (i = 0; i < p->plan.njobs; i++)
		p->results[i] = (struct result)RESULT_INIT;
	p->view.results = p->results;
	if (pipeline_open_report(p, err) < 0 || signals_open(&p->signals, err) < 0)
		return -1;
	if (pipeline_sit(p, err) < 0)
		return -1;
	rc = pipeline_take_turn(p, err);
	if (rc == 0) {
		pipeline_compute_key(p, &p->key);
		rc = pipeline_replay(p, err);
		if (rc > 0) {
			*ret_verdict = (struct pipeline_verdict){ .ok = true };
			return 0;
		}
	}
	if (rc == 0)
		rc = pipeline_take_machine(p, err);
	if (rc != 0) {
		/* Ended before the first step: there is no run to report. */
		ret_verdict->interrupted = rc;
		return rc < 0 ? -1 : 0;
	}
	started_ms = clock_now_ms();
	/* The machine may have been long in coming: the tree that is run on is today's.
	 */
	if (p->request->exclusive)
		pipeline_compute_key(p, &p->key);
	if (pipeline_begin(p, err) < 0 || pipeline_run(p, &outcome, err) < 0)
		return -1;
	p->view.ms = clock_now_ms() - started_ms;
	if (pipeline_finish(p, &outcome, err) < 0)
		return -1;
	pipeline_record(p, &outcome);
	*ret_verdict = (struct pipeline_verdict){
		.ok = outcome.ok,
		.interrupted = outcome.interrupted,
	};
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
	key_release(&p->key);
	signals_close(&p->signals);
	report_place_free(p->place);
	free(p->report_path);
	plan_release(&p->plan);
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
		.plan = PLAN_INIT,
		.report = REPORT_INIT,
		.key = KEY_INIT,
		.signals = { .fd = -1 },
	};
	int rc;

	turn_init(&p.turn);

	p.view = (struct pipeline_view){
		.plan = &p.plan,
		.jobs = &p.jobs,
		.report = &p.report,
	};
	rc = pipeline_load(&p, err);
	if (rc == 0 && rq->plan_only) {
		if (o->plan != NULL)
			o->plan(o->ctx, &p.view);
		*ret_verdict = (struct pipeline_verdict){ .ok = true };
	} else if (rc == 0) {
		rc = pipeline_execute(&p, ret_verdict, err);
	}
	pipeline_release(&p);
	return rc;
}
