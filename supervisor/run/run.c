/* SPDX-License-Identifier: MIT */
/*
 * The loop:
 *
 *   ask for the next jobs' slots -> start those that have them -> poll
 *     -> tasks that ended -> slots -> a signal -> deadlines
 *
 * Tasks come before the signal: one that had ended by itself when the signal came was not
 * cut off by it.  After a red, or a signal, nothing new starts, and what waits for slots
 * is let go: it never started.
 */
#include "supervisor/run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/run/run_part.h"
#include "supervisor/run/schedule.h"

enum {
	/* After the grace that tasks have themselves: then they are ended by force. */
	RUN_STOP_LIMIT_MS = 8000,
	RUN_KILL_LIMIT_MS = 3500,
};

static void
run_tell_end(const struct run *r, size_t job)
{
	if (r->observer->job_end != NULL)
		r->observer->job_end(r->observer->ctx, job, &r->results[job]);
}

static void
run_remove_live(struct run *r, size_t i)
{
	slot_release(r->lives[i].slot);
	r->lives[i] = r->lives[--r->nlives];
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

/* It could not even be started: that is its result. */
static void
run_fail_live(struct run *r, size_t i, const struct error *err)
{
	size_t job = r->lives[i].job;
	struct result *res = &r->results[job];
	unsigned retried = res->retried;
	int64_t waited_ms = res->slot_wait_ms;

	run_remove_live(r, i);
	/* Nothing of an earlier attempt stands for this one. */
	result_release(res);
	res->state = RESULT_DONE;
	res->retried = retried;
	res->slot_wait_ms = waited_ms;
	res->error = xstrdup(err->text);
	run_finish_job(r, job);
}

/* Out of descriptors, processes or memory: the end of another gives some back. */
static bool
error_is_no_room(const struct error *err)
{
	return err->errnum == EMFILE || err->errnum == ENFILE || err->errnum == EAGAIN ||
	       err->errnum == ENOMEM;
}

/*
 * A job that there is no room for beside the others waits for one of them to end, and no
 * more go at once from then on than there was room for.
 */
static bool
run_park(struct run *r, size_t i, const struct error *err)
{
	size_t job = r->lives[i].job;

	if (!error_is_no_room(err) || r->nlives < 2)
		return false;
	r->results[job].slot_wait_ms = -1;
	r->parked[r->nparked++] = job;
	run_remove_live(r, i);
	r->room = r->nlives;
	return true;
}

/* Those that were parked come first: they were the first in order. */
static bool
run_next(struct run *r, size_t *ret_job)
{
	if (r->nparked == 0)
		return schedule_next(r->schedule, ret_job);
	*ret_job = r->parked[0];
	r->nparked--;
	memmove(r->parked, r->parked + 1, r->nparked * sizeof(*r->parked));
	return true;
}

/* --- slots --- */

/* What a job asks for: its slots as they are free, at least one; a light one nothing. */
static struct slot_wish
run_wish(const struct run *r, size_t job)
{
	const struct step *s = r->plan->jobs[job].step;
	struct slot_wish w = {
		.want = 1,
		.least = 1,
		.inside = r->options->exclusive,
		.label = r->plan->jobs[job].id,
	};

	if (s->slots_kind == STEP_SLOTS_ALL)
		w.want = r->options->jobs;
	else if (s->slots_kind == STEP_SLOTS_NUMBER)
		w.want = s->slots < r->options->jobs ? s->slots : r->options->jobs;
	if (w.want == 0)
		w.least = 0;
	return w;
}

/* The number that a step is told: what it holds, where it asked for a number. */
static unsigned
run_told_slots(const struct run *r, const struct live *l)
{
	const struct step *s = r->plan->jobs[l->job].step;

	if (s->slots_kind == STEP_SLOTS_ONE ||
	    (s->slots_kind == STEP_SLOTS_NUMBER && s->slots == 0))
		return r->options->jobs;
	return slot_count(l->slot);
}

/* There is nothing to run, and that is known: the step is green without a process. */
static void
run_pass_nothing(struct run *r, size_t job)
{
	struct result *res = &r->results[job];

	res->state = RESULT_DONE;
	res->ok = true;
	res->exit_code = 0;
	res->ran_nothing = xstrdup(r->plan->jobs[job].nothing);
	run_finish_job(r, job);
}

/* Let a job go: it asks for its slots. */
static void
run_let_go(struct run *r, size_t job)
{
	struct slot_wish wish = run_wish(r, job);
	struct live *l = &r->lives[r->nlives++];
	struct error err = ERROR_INIT;

	*l = (struct live){ .job = job, .since_ms = clock_now_ms() };
	if (slot_request(r->options->machine->slots, &wish, &l->slot, &err) == 0)
		l->waits = slot_state(l->slot) != SLOT_HELD;
	else if (!run_park(r, r->nlives - 1, &err))
		run_fail_live(r, r->nlives - 1, &err);
}

/* --- tasks --- */

static void
run_start_live(struct run *r, size_t i, unsigned attempt)
{
	struct live *l = &r->lives[i];
	char token[SLOT_TOKEN_SIZE];
	struct engine_order order = {
		.job = l->job,
		.attempt = attempt,
		.slots = run_told_slots(r, l),
		.hold_fd = slot_hold_fd(l->slot),
		.token = slot_token(l->slot, token),
	};
	struct error err = ERROR_INIT;
	int rc;

	l->since_ms = clock_now_ms();
	rc = r->engine->start(r->engine->ctx, &order, &l->task, &err);
	if (rc < 0 && attempt == 0 && run_park(r, i, &err))
		return;
	r->results[order.job].state = RESULT_RUNNING;
	if (r->observer->job_start != NULL)
		r->observer->job_start(r->observer->ctx, order.job, attempt);
	if (rc < 0)
		run_fail_live(r, i, &err);
}

/* Start what waited and has its slots now.  From the last: a failed one is removed. */
static void
run_start_held(struct run *r)
{
	size_t i;

	for (i = 0; i < r->nlives && !r->stopped;) {
		struct live *l = &r->lives[i];
		size_t before = r->nlives;

		if (l->task == NULL && slot_state(l->slot) == SLOT_HELD) {
			int64_t waited_ms = clock_now_ms() - l->since_ms;

			if (l->waits && waited_ms > 0)
				r->results[l->job].slot_wait_ms = waited_ms;
			run_start_live(r, i, 0);
		}
		if (r->nlives == before)
			i++;
	}
}

static void
run_start_jobs(struct run *r)
{
	size_t job;

	while (!r->stopped && r->nlives < r->room && run_next(r, &job)) {
		if (r->plan->jobs[job].nothing != NULL) {
			run_pass_nothing(r, job);
			continue;
		}
		run_let_go(r, job);
		run_start_held(r);
	}
	if (!r->stopped && r->nlives > 0 && schedule_left(r->schedule) > 0)
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
	struct live *l = &r->lives[i];
	struct result *res = &r->results[l->job];
	int64_t waited_ms = res->slot_wait_ms;
	unsigned retried = res->retried;
	size_t job = l->job;

	result_release(res);
	r->engine->end(r->engine->ctx, l->task, l->is_cut, res);
	l->task = NULL;
	res->state = RESULT_DONE;
	res->retried = retried;
	res->slot_wait_ms = waited_ms;
	if (run_wants_retry(r, res, retried)) {
		if (r->observer->job_retry != NULL)
			r->observer->job_retry(r->observer->ctx, job, res, retried + 1,
					       r->options->retries);
		res->retried = retried + 1;
		run_start_live(r, i, retried + 1);
		return;
	}
	run_remove_live(r, i);
	run_finish_job(r, job);
}

/* --- stopping --- */

static void
run_signal_all(struct run *r, int signo)
{
	size_t i;

	for (i = 0; i < r->nlives; i++) {
		if (r->lives[i].task == NULL)
			continue;
		r->lives[i].is_cut = true;
		r->engine->signal(r->lives[i].task, signo);
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

/* Once stopped, what has not started never will. */
static void
run_drop_waiting(struct run *r)
{
	size_t i;

	for (i = r->nlives; r->stopped && i-- > 0;)
		if (r->lives[i].task == NULL)
			run_remove_live(r, i);
}

/* --- the wait --- */

static void
run_check_deadlines(struct run *r)
{
	size_t i;

	if (deadline_is_past(r->kill_at_ms)) {
		for (i = 0; i < r->nlives; i++)
			if (r->lives[i].task != NULL)
				r->engine->kill(r->lives[i].task);
		r->kill_at_ms = clock_now_ms() + RUN_KILL_LIMIT_MS;
	}
	run_tell_waits(r);
	run_tick(r);
}

/* fds has room for the signals, the doorbell and every task. */
static int
run_wait(struct run *r, struct pollfd *fds, struct error *err)
{
	struct slots *slots = r->options->machine->slots;
	int64_t deadline = deadline_earlier(r->kill_at_ms, r->tick_at_ms);
	size_t n = r->nlives;
	size_t i;

	deadline = deadline_earlier(deadline, slots_deadline(slots));
	fds[0] = (struct pollfd){ .fd = r->signals->fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = -1, .events = POLLIN };
	/* The doorbell rings for every change of the table: it matters to one who waits.
	 */
	if (slots_deadline(slots) >= 0)
		fds[1].fd = slots_doorbell_fd(slots);
	for (i = 0; i < n; i++) {
		struct task *t = r->lives[i].task;

		fds[i + 2] = (struct pollfd){
			.fd = t != NULL ? r->engine->poll_fd(t) : -1,
			.events = POLLIN,
		};
	}
	if (poll(fds, n + 2, clock_timeout_ms(deadline)) < 0 && errno != EINTR)
		return error_system(err, "run: poll");
	/* From the last: the place of one that ended is taken by the one at the end. */
	for (i = n; i-- > 0;)
		if (fds[i + 2].revents != 0)
			run_end_task(r, i);
	if (slots_deadline(slots) >= 0 && slots_poll(slots, err) < 0)
		return -1;
	run_take_signal(r);
	run_drop_waiting(r);
	run_start_held(r);
	run_check_deadlines(r);
	return 0;
}

/* Nothing can be waited for any more: end what runs, so that nothing is left. */
static void
run_abandon(struct run *r)
{
	while (r->nlives > 0) {
		struct live *l = &r->lives[r->nlives - 1];

		if (l->task != NULL) {
			r->engine->kill(l->task);
			r->engine->end(r->engine->ctx, l->task, true,
				       &r->results[l->job]);
		}
		run_remove_live(r, r->nlives - 1);
	}
}

static int
run_loop(struct run *r, struct error *err)
{
	struct pollfd *fds = xcalloc(r->room + 2, sizeof(*fds));
	int rc = 0;

	run_take_signal(r);
	while (rc == 0) {
		run_start_jobs(r);
		run_drop_waiting(r);
		if (r->nlives == 0)
			break;
		rc = run_wait(r, fds, err);
	}
	if (rc < 0)
		run_abandon(r);
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
run_execute(const struct plan *p, const struct run_options *o, struct result *results,
	    struct run_outcome *ret_outcome, struct error *err)
{
	struct run r = {
		.plan = p,
		.options = o,
		.engine = o->engine,
		.observer = o->observer,
		.signals = o->signals,
		.results = results,
		.room = o->jobs < p->njobs ? o->jobs : p->njobs,
		.kill_at_ms = -1,
		.tick_at_ms = o->observer->tick_ms > 0 && o->observer->tick != NULL
				  ? clock_now_ms()
				  : -1,
	};
	int rc;

	r.schedule = schedule_new(p);
	r.lives = xcalloc(r.room, sizeof(*r.lives));
	r.parked = xcalloc(r.room, sizeof(*r.parked));
	rc = run_loop(&r, err);
	if (rc == 0) {
		ret_outcome->ok = run_tell_skipped(&r) && r.interrupted == 0;
		ret_outcome->interrupted = r.interrupted;
	}
	free(r.lives);
	free(r.parked);
	schedule_free(r.schedule);
	return rc;
}
