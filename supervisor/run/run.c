/* SPDX-License-Identifier: MIT */
/*
 * The loop:
 *
 *   start what may start -> poll -> tasks that ended -> a signal -> deadlines
 *
 * Tasks come before the signal: one that had ended by itself when the signal came was not
 * cut off by it.  After a red, or a signal, nothing new starts.
 */
#include "supervisor/run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/run/schedule.h"

enum {
	/* After the grace that tasks have themselves: then they are ended by force. */
	RUN_STOP_LIMIT_MS = 8000,
	RUN_KILL_LIMIT_MS = 3500,
};

struct running {
	struct task *task;
	size_t job;
	bool is_cut;
};

struct run {
	const struct plan *plan;
	const struct run_options *options;
	const struct engine *engine;
	const struct run_observer *observer;
	struct signals *signals;
	struct result *results;
	struct schedule *schedule;
	struct running *running;
	size_t nrunning;
	bool stopped;	    /* nothing new starts */
	int interrupted;    /* the first signal */
	int64_t kill_at_ms; /* -1: none */
};

static void
run_tell_end(const struct run *r, size_t job)
{
	if (r->observer->job_end != NULL)
		r->observer->job_end(r->observer->ctx, job, &r->results[job]);
}

/* The job is over for good. */
static void
run_finish_job(struct run *r, size_t job)
{
	schedule_done(r->schedule, job);
	if (!r->results[job].ok && !r->options->keep_going)
		r->stopped = true;
	run_tell_end(r, job);
}

/* Start an attempt; where the machine has no room, that is the job's result. */
static void
run_start_attempt(struct run *r, size_t job, unsigned attempt)
{
	struct engine_order order = { .job = job,
				      .attempt = attempt,
				      .slots = r->options->jobs };
	struct running *running = &r->running[r->nrunning];
	struct error err = ERROR_INIT;

	if (r->observer->job_start != NULL)
		r->observer->job_start(r->observer->ctx, job, attempt);
	r->results[job].state = RESULT_RUNNING;
	if (r->engine->start(r->engine->ctx, &order, &running->task, &err) == 0) {
		running->job = job;
		running->is_cut = false;
		r->nrunning++;
		return;
	}
	r->results[job].state = RESULT_DONE;
	r->results[job].error = xstrdup(err.text);
	run_finish_job(r, job);
}

static void
run_start_jobs(struct run *r)
{
	size_t job;

	while (!r->stopped && r->nrunning < r->options->jobs &&
	       schedule_next(r->schedule, &job))
		run_start_attempt(r, job, 0);
	if (!r->stopped && r->nrunning > 0 && schedule_left(r->schedule) > 0)
		r->engine->prepare(r->engine->ctx);
}

static bool
run_wants_retry(const struct run *r, const struct result *res, unsigned retried)
{
	return !res->ok && res->environment != NULL && !r->stopped &&
	       retried < r->options->retries;
}

static void
run_end_task(struct run *r, size_t i)
{
	struct running over = r->running[i];
	struct result *res = &r->results[over.job];
	unsigned retried = res->retried;

	r->running[i] = r->running[--r->nrunning];
	result_release(res);
	r->engine->end(r->engine->ctx, over.task, over.is_cut, res);
	res->state = RESULT_DONE;
	res->retried = retried;
	if (run_wants_retry(r, res, retried)) {
		if (r->observer->job_retry != NULL)
			r->observer->job_retry(r->observer->ctx, over.job, res,
					       retried + 1, r->options->retries);
		res->retried = retried + 1;
		run_start_attempt(r, over.job, retried + 1);
		return;
	}
	run_finish_job(r, over.job);
}

static void
run_signal_all(struct run *r, int signo)
{
	size_t i;

	for (i = 0; i < r->nrunning; i++) {
		r->running[i].is_cut = true;
		r->engine->signal(r->running[i].task, signo);
	}
}

static void
run_take_signal(struct run *r)
{
	int signo = signals_read(r->signals);

	if (signo == 0)
		return;
	r->stopped = true;
	if (r->interrupted == 0) {
		r->interrupted = signo;
		run_signal_all(r, signo);
		r->kill_at_ms = clock_now_ms() + RUN_STOP_LIMIT_MS;
	} else {
		run_signal_all(r, SIGKILL);
		r->kill_at_ms = clock_now_ms() + RUN_KILL_LIMIT_MS;
	}
}

static void
run_check_deadline(struct run *r)
{
	size_t i;

	if (r->kill_at_ms < 0 || clock_now_ms() < r->kill_at_ms)
		return;
	for (i = 0; i < r->nrunning; i++)
		r->engine->kill(r->running[i].task);
	r->kill_at_ms = clock_now_ms() + RUN_KILL_LIMIT_MS;
}

/* One wait.  fds has room for the signals and every task. */
static int
run_wait(struct run *r, struct pollfd *fds, struct error *err)
{
	size_t n = r->nrunning;
	size_t i;

	fds[0] = (struct pollfd){ .fd = r->signals->fd, .events = POLLIN };
	for (i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){
			.fd = r->engine->poll_fd(r->running[i].task),
			.events = POLLIN,
		};
	if (poll(fds, n + 1, clock_timeout_ms(r->kill_at_ms)) < 0 && errno != EINTR)
		return error_system(err, "run: poll");
	/* From the last: an ended task's place is taken by the one at the end. */
	for (i = n; i-- > 0;)
		if (fds[i + 1].revents != 0)
			run_end_task(r, i);
	if (fds[0].revents != 0)
		run_take_signal(r);
	run_check_deadline(r);
	return 0;
}

static int
run_loop(struct run *r, struct error *err)
{
	struct pollfd *fds = xcalloc(r->options->jobs + 1, sizeof(*fds));
	int rc = 0;

	run_take_signal(r);
	for (;;) {
		run_start_jobs(r);
		if (r->nrunning == 0)
			break;
		rc = run_wait(r, fds, err);
		if (rc < 0) {
			run_signal_all(r, SIGKILL);
			break;
		}
	}
	free(fds);
	return rc;
}

static bool
run_tell_skipped(const struct run *r)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < r->plan->njobs; i++) {
		if (r->results[i].state == RESULT_SKIPPED)
			run_tell_end(r, i);
		ok = ok && r->results[i].state == RESULT_DONE && r->results[i].ok;
	}
	return ok;
}

int
run_execute(const struct plan *p, const struct run_options *o,
	    const struct engine *engine, struct signals *signals,
	    const struct run_observer *observer, struct result *results,
	    struct run_outcome *ret_outcome, struct error *err)
{
	struct run r = {
		.plan = p,
		.options = o,
		.engine = engine,
		.observer = observer,
		.signals = signals,
		.results = results,
		.kill_at_ms = -1,
	};
	int rc;

	r.schedule = schedule_new(p);
	r.running = xcalloc(o->jobs, sizeof(*r.running));
	rc = run_loop(&r, err);
	if (rc == 0) {
		ret_outcome->ok = run_tell_skipped(&r) && r.interrupted == 0;
		ret_outcome->interrupted = r.interrupted;
	}
	free(r.running);
	schedule_free(r.schedule);
	return rc;
}
