/* SPDX-License-Identifier: MIT */
#include "tests/supervisor/fake_engine.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/mem.h"

struct task {
	struct fake *fake;
	struct task *next;
	size_t job;
	char what;
	long rank;
	bool is_free; /* it would end now */
	bool is_over; /* its pipe says so */
	int fds[2];
};

static void tell(struct fake *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
tell(struct fake *f, const char *fmt, ...)
{
	char word[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(word, sizeof(word), fmt, ap);
	va_end(ap);
	if (f->transcript.len > 0)
		buf_putc(&f->transcript, ' ');
	buf_puts(&f->transcript, word);
	for (size_t i = 0; i < FAKE_RAISES_MAX; i++)
		if (f->raises[i].at != NULL && strcmp(f->raises[i].at, word) == 0)
			(void)raise(f->raises[i].signo);
}

static const char *
name_of(const struct fake *f, size_t job)
{
	return f->plan->jobs[job].id;
}

/* What the script says of an attempt: its letter, and the rank of the job. */
static char
script_of(const struct fake *f, size_t job, unsigned attempt, long *ret_rank)
{
	const char *name = name_of(f, job);
	size_t n = strlen(name);
	const char *p = f->scripts;

	*ret_rank = 0;
	while (p != NULL && *p != '\0') {
		if (strncmp(p, name, n) == 0 && p[n] == '=') {
			const char *s = p + n + 1;
			size_t letters = 0;

			while (isalpha((unsigned char)s[letters]))
				letters++;
			*ret_rank = strtol(s + letters, NULL, 10);
			return s[attempt < letters ? attempt : letters - 1];
		}
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return 'g';
}

static int
fake_start(void *ctx, const struct engine_order *order, struct task **ret_task,
	   struct error *err)
{
	struct fake *f = ctx;
	struct task *t;
	long rank;
	char what = script_of(f, order->job, order->attempt, &rank);

	f->orders[order->job] = (struct fake_order){
		.slots = order->slots,
		.has_hold = order->hold_fd >= 0,
		.has_token = order->token != NULL && *order->token != '\0',
	};
	if (what == 'f')
		return error_set(err, ERROR_SYSTEM, "no room for another");
	if (what == 'n' && f->ntasks > 1) {
		errno = EMFILE;
		return error_system(err, "no room beside the others");
	}
	if (what == 'l')
		(void)poll(NULL, 0, 20);
	t = xcalloc(1, sizeof(*t));
	t->fake = f;
	t->job = order->job;
	t->what = what;
	t->rank = rank;
	t->is_free = strchr("grenl", what) != NULL;
	if (pipe(t->fds) < 0)
		abort();
	t->next = f->tasks;
	f->tasks = t;
	if (++f->ntasks > f->most_at_once)
		f->most_at_once = f->ntasks;
	*ret_task = t;
	return 0;
}

static void
fake_prepare(void *ctx)
{
	(void)ctx;
}

static bool
task_is_free(const struct task *t)
{
	return t->is_free || (t->what == 'w' && t->fake->a_wait_was_told) ||
	       (t->what == 't' && t->fake->a_tick_was_told);
}

static int
fake_poll_fd(const struct task *polled)
{
	long lowest = 0;
	bool any = false;
	struct task *t;

	for (t = polled->fake->tasks; t != NULL; t = t->next) {
		if (task_is_free(t) && (!any || t->rank < lowest)) {
			lowest = t->rank;
			any = true;
		}
	}
	for (t = polled->fake->tasks; t != NULL; t = t->next) {
		if (any && task_is_free(t) && t->rank == lowest && !t->is_over) {
			t->is_over = true;
			(void)!write(t->fds[1], "x", 1);
		}
	}
	return polled->fds[0];
}

static void
fake_signal(struct task *t, int signo)
{
	tell(t->fake, "%s#%d", name_of(t->fake, t->job), signo);
	if ((t->what == 'h' || t->what == 'w' || t->what == 't') ||
	    (t->what == 's' && signo == SIGKILL))
		t->is_free = true;
}

static void
fake_last_line(const struct task *t, char *text, size_t size)
{
	(void)snprintf(text, size, "last line of %s", name_of(t->fake, t->job));
}

static void
fake_kill(struct task *t)
{
	tell(t->fake, "%s#!", name_of(t->fake, t->job));
	t->is_free = true;
}

static void
fake_end(void *ctx, struct task *t, bool is_cut, struct result *ret_result)
{
	struct result r = RESULT_INIT;
	struct fake *f = ctx;
	struct task **p;

	r.exit_code = t->what == 'r' || t->what == 'e' ? 1 : 0;
	r.ok = r.exit_code == 0 && !is_cut;
	r.interrupted = is_cut;
	r.ms = 5;
	r.tail = xasprintf("tail of %s", name_of(f, t->job));
	if (t->what == 'e')
		r.environment = xstrdup("getaddrinfo ENOTFOUND x");
	for (p = &f->tasks; *p != t; p = &(*p)->next)
		continue;
	*p = t->next;
	f->ntasks--;
	(void)close(t->fds[0]);
	(void)close(t->fds[1]);
	free(t);
	*ret_result = r;
}

struct engine
fake_engine(struct fake *f)
{
	return (struct engine){
		.ctx = f,
		.start = fake_start,
		.prepare = fake_prepare,
		.poll_fd = fake_poll_fd,
		.signal = fake_signal,
		.last_line = fake_last_line,
		.kill = fake_kill,
		.end = fake_end,
	};
}

static void
observe_wait(void *ctx, size_t job, const char *holders)
{
	struct fake *f = ctx;

	(void)holders;
	f->a_wait_was_told = true;
	/* On a machine that stood still any wait is long enough to be told. */
	if (f->scripts != NULL && strchr(f->scripts, 'w') != NULL)
		tell(f, "%s?", name_of(f, job));
}

static void
observe_start(void *ctx, size_t job, unsigned attempt)
{
	struct fake *f = ctx;

	if (attempt == 0)
		tell(f, ">%s", name_of(f, job));
	else
		tell(f, ">%s/%u", name_of(f, job), attempt);
}

static void
observe_retry(void *ctx, size_t job, const struct result *r, unsigned retry,
	      unsigned limit)
{
	struct fake *f = ctx;

	tell(f, "%s~%u/%u%s", name_of(f, job), retry, limit,
	     r->environment == NULL || r->ok ? " odd" : "");
}

static void
observe_end(void *ctx, size_t job, const struct result *r)
{
	struct fake *f = ctx;
	char how;

	if (r->state == RESULT_SKIPPED)
		how = '.';
	else if (r->error != NULL)
		how = '!';
	else if (r->interrupted)
		how = '^';
	else
		how = r->ok ? '+' : '-';
	tell(f, "%s%c", name_of(f, job), how);
}

static void
observe_tick(void *ctx, const struct run_activity *activities, size_t n)
{
	struct fake *f = ctx;

	if (n > 0)
		f->activity = activities[n - 1];
	f->a_tick_was_told = n > 0;
}

struct run_observer
fake_observer(struct fake *f)
{
	return (struct run_observer){
		.ctx = f,
		.job_wait = observe_wait,
		.job_start = observe_start,
		.job_retry = observe_retry,
		.job_end = observe_end,
		.tick = observe_tick,
	};
}

size_t
fake_release(struct fake *f)
{
	size_t left = f->ntasks;

	while (f->tasks != NULL) {
		struct result r = RESULT_INIT;

		fake_end(f, f->tasks, false, &r);
		result_release(&r);
	}
	buf_release(&f->transcript);
	return left;
}
