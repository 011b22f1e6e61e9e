/* SPDX-License-Identifier: MIT */
/*
 * A worker is forked before its job is known, while others run, so that the fork is off
 * the path of the next job: at most one such spare.  The plan is frozen, so a worker
 * finds there, in its copy of our memory, what its order means.
 */
#include "supervisor/run/local.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/pattern.h"
#include "supervisor/base/watcher.h"
#include "supervisor/run/bin.h"
#include "supervisor/run/environment.h"
#include "supervisor/run/nothing.h"
#include "supervisor/run/turn.h"
#include "worker/worker.h"

struct task {
	struct local *local;
	struct worker *worker;
	struct watcher *watcher;
	size_t job;
	struct task *next; /* in local.tasks */
};

struct local {
	const struct plan *plan;
	struct environment env;
	const char *log_dir;
	const char *log_error;
	int log_dir_fd;
	struct task *spare;
	struct task *tasks;	      /* every task there is, the spare too */
	struct watcher *idle_watcher; /* of a task that is over: mapped already */
};

char *
local_log_name(const char *job_id)
{
	struct buf b = BUF_INIT;
	bool is_part = false;
	const char *p;

	for (p = job_id; *p != '\0'; p++) {
		if (*p == '/')
			buf_puts(&b, is_part ? "%2F" : "-");
		else if (*p == '%' && is_part)
			buf_puts(&b, "%25");
		else
			buf_putc(&b, *p);
		is_part = is_part || *p == '@';
	}
	buf_puts(&b, ".log");
	return buf_steal(&b);
}

void
local_offer_jobserver(struct environment *e, unsigned slots)
{
	const char *old = environment_get(e, "MAKEFLAGS");
	char *flags = xasprintf("%s -j%u --jobserver-auth=%d,%d", old != NULL ? old : "",
				slots, WORKER_JOBSERVER_READ, WORKER_JOBSERVER_WRITE);

	environment_set(e, "MAKEFLAGS", flags);
	free(flags);
}

/*
 * In the worker: what the order means.  Memory is not given back, the process ends with
 * the job.
 */
static void
task_prepare(void *ctx, const struct worker_order *order, struct command *ret_command)
{
	struct task *t = ctx;
	struct local *l = t->local;
	const struct job *job = &l->plan->jobs[order->job];
	struct pattern *mark = NULL;
	struct error err = ERROR_INIT;
	char number[16];

	/* It compiled when the config was read. */
	if (job->step->failure_mark != NULL)
		(void)pattern_compile(job->step->failure_mark, &mark, &err);
	watcher_reset(t->watcher, mark, NULL);
	(void)snprintf(number, sizeof(number), "%" PRIu32, order->slots);
	environment_set(&l->env, "GEONOSIS_SLOTS", number);
	environment_set(&l->env, "GEONOSIS_HEAVY_SLOT_HELD", order->token);
	if (job->step->jobserver)
		local_offer_jobserver(&l->env, order->slots);
	*ret_command = (struct command){
		.jobserver = job->step->jobserver ? order->slots : 0,
		.text = bin_command(job->command),
		.env = l->env.vars,
		.log_name = local_log_name(job->id),
		.watch = watcher_watch(t->watcher),
	};
}

static void
task_free(struct task *t)
{
	struct task **p;

	if (t == NULL)
		return;
	for (p = &t->local->tasks; *p != NULL; p = &(*p)->next) {
		if (*p == t) {
			*p = t->next;
			break;
		}
	}
	worker_free(t->worker);
	if (t->local->idle_watcher == NULL)
		t->local->idle_watcher = t->watcher;
	else
		watcher_free(t->watcher);
	free(t);
}

static int
task_new(struct local *l, struct task **ret_task, struct error *err)
{
	struct task *t = xcalloc(1, sizeof(*t));
	struct worker_setup setup = {
		.prepare = task_prepare,
		.ctx = t,
		.log_dir_fd = l->log_dir_fd,
	};

	t->local = l;
	t->next = l->tasks;
	l->tasks = t;
	t->watcher = l->idle_watcher;
	l->idle_watcher = NULL;
	if (t->watcher == NULL && watcher_new(NULL, NULL, &t->watcher, err) < 0)
		goto fail;
	watcher_reset(t->watcher, NULL, NULL);
	if (worker_fork(&setup, &t->worker, err) < 0)
		goto fail;
	*ret_task = t;
	return 0;
fail:
	task_free(t);
	return -1;
}

/* What a full machine is told with: the remedy. */
static int
start_refuse(struct error *err)
{
	static const int full[] = { EMFILE, ENFILE, EAGAIN, ENOMEM };
	size_t i;

	for (i = 0; i < sizeof(full) / sizeof(full[0]); i++)
		if (err->errnum == full[i])
			return error_wrap(err, "no room for one more step at once "
					       "(give fewer --jobs, or raise ulimit)");
	return -1;
}

/* A spare that was killed meanwhile takes no order: then another is made. */
static struct task *
local_take_spare(struct local *l, const struct worker_order *wo, int hold_fd)
{
	struct error ignored = ERROR_INIT;
	struct task *t = l->spare;

	l->spare = NULL;
	if (t != NULL && worker_start(t->worker, wo, hold_fd, &ignored) < 0) {
		task_free(t);
		t = NULL;
	}
	return t;
}

static int
local_start(void *ctx, const struct engine_order *order, struct task **ret_task,
	    struct error *err)
{
	struct local *l = ctx;
	struct worker_order wo = {
		.job = order->job,
		.attempt = order->attempt,
		.slots = order->slots,
	};
	struct task *t;

	(void)snprintf(wo.token, sizeof(wo.token), "%s", order->token);
	t = local_take_spare(l, &wo, order->hold_fd);
	if (t == NULL) {
		if (task_new(l, &t, err) < 0)
			return start_refuse(err);
		if (worker_start(t->worker, &wo, order->hold_fd, err) < 0) {
			task_free(t);
			return start_refuse(err);
		}
	}
	t->job = order->job;
	*ret_task = t;
	return 0;
}

static void
local_prepare(void *ctx)
{
	struct local *l = ctx;
	struct error ignored = ERROR_INIT;

	/* Where it fails now, start tries again and says why. */
	if (l->spare == NULL)
		(void)task_new(l, &l->spare, &ignored);
}

static int
local_poll_fd(const struct task *t)
{
	return worker_pidfd(t->worker);
}

static void
local_signal(struct task *t, int signo)
{
	worker_signal(t->worker, signo);
}

static void
local_last_line(const struct task *t, char *text, size_t size)
{
	watcher_last_line(t->watcher, text, size);
}

static void
local_kill(struct task *t)
{
	worker_kill(t->worker);
}

static void
result_set_log(const struct local *l, const char *job_id, const struct worker_outcome *o,
	       struct result *r)
{
	char *name = local_log_name(job_id);

	if (o->has_log)
		r->log = xasprintf("%s/%s", l->log_dir, name);
	else if (o->log_errno != 0)
		r->log_error =
		    xasprintf("%s/%s: %s", l->log_dir, name, strerror(o->log_errno));
	else if (l->log_dir_fd < 0)
		r->log_error = xstrdup(l->log_error);
	free(name);
}

static void
result_set_error(const struct worker_outcome *o, struct result *r)
{
	if (!o->finished)
		r->error = xstrdup("its worker was killed before the step had ended");
	else if (!o->started)
		r->error =
		    xasprintf("/bin/sh: cannot be started: %s", strerror(o->start_errno));
}

/* What a test runner's own timeout is to be seen beside: how busy the machine was. */
static void
result_set_load(struct result *r)
{
	double load[1] = { 0.0 };

	r->timed_out = true;
	(void)getloadavg(load, 1);
	r->load_average = load[0];
	r->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void
result_set_findings(const struct watcher *w, struct result *r)
{
	struct findings f;

	watcher_findings(w, !r->ok, &f);
	r->tail = f.tail;
	f.tail = NULL;
	r->lines = f.lines;
	r->tail_from = f.tail_from;
	r->tail_lines = f.tail_lines;
	if (!r->ok) {
		r->environment = f.environment;
		f.environment = NULL;
		if (f.timed_out)
			result_set_load(r);
	}
	findings_release(&f);
}

static bool
local_owns(void *ctx, pid_t pid)
{
	const struct local *l = ctx;
	const struct task *t;

	for (t = l->tasks; t != NULL; t = t->next)
		if (t->worker != NULL && worker_pid(t->worker) == pid)
			return true;
	return false;
}

static void
local_end(void *ctx, struct task *t, bool is_cut, struct result *ret_result)
{
	struct local *l = ctx;
	struct result r = RESULT_INIT;
	struct worker_outcome o;

	worker_end(t->worker, &o);
	r.state = RESULT_DONE;
	r.interrupted = is_cut;
	r.exit_code = o.exit_code;
	r.signal = o.signal;
	r.ms = o.ms;
	r.leaked = o.leaked;
	r.stayed = o.stayed;
	r.ok = o.finished && o.started && o.exit_code == 0 && o.signal == 0 && !is_cut;
	result_set_error(&o, &r);
	result_set_findings(t->watcher, &r);
	if (r.ok && l->plan->jobs[t->job].step->runner)
		r.ran_nothing = nothing_said(r.tail);
	if (!r.ok)
		result_set_log(l, l->plan->jobs[t->job].id, &o, &r);
	task_free(t);
	if (!o.finished)
		worker_reap_orphans(local_owns, l);
	*ret_result = r;
}

struct local *
local_new(const struct plan *p, const struct local_options *o)
{
	struct local *l = xcalloc(1, sizeof(*l));

	l->plan = p;
	l->log_dir = o->log_dir;
	l->log_dir_fd = o->log_dir_fd;
	l->log_error = o->log_error;
	environment_fill(&l->env, o->caller_env);
	environment_set(&l->env, "GEONOSIS_GATE_RUN", o->run_id);
	environment_set(&l->env, TURN_CHAIN_VARIABLE, o->run_chain);
	if (o->base[0] != '\0')
		environment_set(&l->env, "GEONOSIS_BASE", o->base);
	if (o->changed_file != NULL)
		environment_set(&l->env, "GEONOSIS_CHANGED_FILES", o->changed_file);
	worker_adopt_orphans();
	return l;
}

struct engine
local_engine(struct local *l)
{
	return (struct engine){
		.ctx = l,
		.start = local_start,
		.prepare = local_prepare,
		.poll_fd = local_poll_fd,
		.signal = local_signal,
		.last_line = local_last_line,
		.kill = local_kill,
		.end = local_end,
	};
}

void
local_free(struct local *l)
{
	if (l == NULL)
		return;
	while (l->tasks != NULL)
		task_free(l->tasks);
	watcher_free(l->idle_watcher);
	environment_release(&l->env);
	free(l);
}
