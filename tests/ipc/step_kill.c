/* SPDX-License-Identifier: MIT */
/*
 * Killed at every instruction.
 *
 * A child does one thing with the slots, instruction by instruction under ptrace,
 * and is killed after the k-th.  After each k everything must be as if it had never
 * been there: who waits is served, and a fresh exclusive request gets the whole
 * machine within 50 ms.  For k up to the last instruction, or every so many of them
 * so that a scenario takes a few seconds (with the argument "all": every one).
 *
 * Built with a table of 8 entries.  Not for sanitizers: they bring too many
 * instructions of their own.  Prints TAP.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/shm.h"
#include "ipc/slot.h"
#include "ipc/slot_list.h"

enum {
	AIM_MS = 50,
	WEDGED_MS = 3000,
	STEPS_PER_SCENARIO = 100000, /* about two seconds */
	TRIES = 4,		     /* the machine has others to serve too */
};

static char segment[64];

/* What a scenario works with; made anew for each k. */
struct stage {
	struct slots *seat;  /* the tracer's */
	struct slot *held;   /* by the tracer */
	struct slot *queued; /* by the tracer; must be served in the end */
	struct slots *actor; /* the child's */
	struct slot *request;
};

static _Noreturn void
bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)printf("Bail out! ");
	(void)vprintf(fmt, ap);
	(void)printf("\n");
	va_end(ap);
	(void)shm_unlink(segment);
	exit(1);
}

static struct slots *
seat_new(void)
{
	struct slots_config config = { .segment = segment,
				       .budget = 2,
				       .directory = "/" };
	struct error err = ERROR_INIT;
	struct slots *s = NULL;

	if (slots_open(&config, &s, &err) < 0)
		bail("%s", err.text);
	return s;
}

static struct slot *
ask(struct slots *s, unsigned want, bool exclusive)
{
	struct slot_wish wish = {
		.want = want, .least = want, .exclusive = exclusive, .label = "step"
	};
	struct error err = ERROR_INIT;
	struct slot *r = NULL;

	if (slot_request(s, &wish, &r, &err) < 0)
		bail("%s", err.text);
	return r;
}

static void
look(struct slots *s)
{
	struct error err = ERROR_INIT;

	if (slots_poll(s, &err) < 0)
		bail("%s", err.text);
}

/* A holder of so many slots that is dead, with its entry left behind. */
static void
dead_holder(unsigned want)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)ask(seat_new(), want, false);
		(void)kill(getpid(), SIGKILL);
	}
	(void)waitpid(pid, NULL, 0);
}

/* Scenarios: `before` in the tracer, `ready` and `act` in the child. */

static void
nothing(struct stage *st)
{
	(void)st;
}

static void
unlink_segment(struct stage *st)
{
	slots_free(st->seat);
	st->seat = NULL;
	(void)shm_unlink(segment);
}

static void
act_open(struct stage *st)
{
	st->actor = seat_new();
}

static void
act_request(struct stage *st)
{
	st->request = ask(st->actor, 1, false);
}

static void
act_request_exclusive(struct stage *st)
{
	st->request = ask(st->actor, 1, true);
}

static void
act_release(struct stage *st)
{
	slot_release(st->request);
}

static void
act_poll(struct stage *st)
{
	look(st->actor);
}

static void
ready_hold_all(struct stage *st)
{
	st->actor = seat_new();
	st->request = ask(st->actor, 2, false);
}

static void
before_hold_all(struct stage *st)
{
	st->held = ask(st->seat, 2, false);
}

static void
before_hold_one(struct stage *st)
{
	st->held = ask(st->seat, 1, false);
}

static void
before_dead(struct stage *st)
{
	(void)st;
	dead_holder(2);
}

/* A dead holder, then us in the queue, then the child: it serves both. */
static void
before_dead_and_queue(struct stage *st)
{
	pid_t pid;
	int go[2], ready[2];
	char c;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		bail("pipe");
	pid = fork();
	if (pid == 0) {
		(void)ask(seat_new(), 2, false);
		(void)!write(ready[1], "x", 1);
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	(void)!read(ready[0], &c, 1);
	st->queued = ask(st->seat, 1, false);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		(void)close(go[i]);
		(void)close(ready[i]);
	}
}

static void
act_reap_for_others(struct stage *st)
{
	st->request = ask(st->actor, 1, false);
	look(st->actor);
}

static void
act_mend(struct stage *st)
{
	int fd = shm_open(segment, O_RDWR, 0);

	/* The truncation is part of it. */
	if (ftruncate(fd, 16) < 0)
		bail("ftruncate");
	(void)close(fd);
	look(st->actor);
}

static void
ready_seat(struct stage *st)
{
	st->actor = seat_new();
}

static void
ready_queue(struct stage *st)
{
	st->actor = seat_new();
	st->request = ask(st->actor, 1, false);
}

static void
act_budget(struct stage *st)
{
	struct error err = ERROR_INIT;

	(void)st;
	(void)slots_budget_set(segment, 3, &err);
	(void)slots_budget_set(segment, 2, &err);
}

static void
act_nested(struct stage *st)
{
	struct slot_wish wish = { .want = 1, .least = 1, .inside = st->request };
	struct error err = ERROR_INIT;
	struct slot *inner = NULL;

	if (slot_request(st->actor, &wish, &inner, &err) < 0)
		bail("%s", err.text);
	slot_release(st->request);
	slot_release(inner);
}

enum stage_turn {
	TURN_NONE,
	TURN_QUEUE,   /* once the child is ready, the tracer queues behind it */
	TURN_RELEASE, /* once the child is ready, the tracer gives back */
};

static const struct scenario {
	const char *name;
	void (*before)(struct stage *);
	void (*ready)(struct stage *);
	enum stage_turn turn;
	void (*act)(struct stage *);
} scenarios[] = {
	{ "open", nothing, nothing, TURN_NONE, act_open },
	{ "open, making the segment", unlink_segment, nothing, TURN_NONE, act_open },
	{ "acquire", nothing, ready_seat, TURN_NONE, act_request },
	{ "queue behind a holder", before_hold_all, ready_seat, TURN_NONE, act_request },
	{ "queue exclusively", before_hold_one, ready_seat, TURN_NONE,
	  act_request_exclusive },
	{ "acquire what a dead holder left", before_dead, ready_seat, TURN_NONE,
	  act_request },
	{ "release", nothing, ready_hold_all, TURN_NONE, act_release },
	{ "release with a waiter queued", nothing, ready_hold_all, TURN_QUEUE,
	  act_release },
	{ "take an offer", before_hold_all, ready_queue, TURN_RELEASE, act_poll },
	{ "reap a dead holder and serve another", before_dead_and_queue, ready_seat,
	  TURN_NONE, act_reap_for_others },
	{ "mend a table cut off under holders", before_hold_all, ready_queue, TURN_NONE,
	  act_mend },
	{ "change the budget", before_hold_one, ready_seat, TURN_QUEUE, act_budget },
	{ "nest, and outlive the outer hold", nothing, ready_hold_all, TURN_QUEUE,
	  act_nested },
};

static void
child_play(const struct scenario *sc, struct stage *st)
{
	if (st->seat != NULL)
		slots_leave(st->seat, NULL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(9);
	sc->ready(st);
	(void)raise(SIGSTOP);
	sc->act(st);
	(void)raise(SIGSTOP);
	_exit(0);
}

/* Wait for the child to stop; 0: it is gone. */
static int
child_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		bail("waitpid: %s", strerror(errno));
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/*
 * Up to k instructions of it, then SIGKILL.  How many there were: less than k only
 * when it got to the end.
 */
static long
child_step(pid_t pid, long k)
{
	long n = 0;
	int signal = 0;

	while (n < k) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
			bail("ptrace: %s", strerror(errno));
		signal = child_stop(pid);
		if (signal != SIGTRAP)
			break;
		n++;
	}
	(void)kill(pid, SIGKILL);
	if (signal != 0 || k == 0)
		(void)waitpid(pid, NULL, 0);
	return n;
}

static bool
served(struct slot *r, int64_t start, int64_t *worst)
{
	struct error err = ERROR_INIT;
	int64_t took;

	if (slot_wait(r, start + WEDGED_MS, -1, &err) != 1)
		return false;
	took = clock_now_ms() - start;
	if (took > *worst)
		*worst = took;
	return true;
}

/* One kill.  Milliseconds until all was well, -1 when it never was. */
static int64_t
kill_at(const struct scenario *sc, long k, long *ret_steps)
{
	struct stage st = { .seat = seat_new() };
	struct slot_list list;
	struct slots *fresh;
	int64_t worst = 0;
	int64_t start;
	pid_t pid;

	sc->before(&st);
	pid = fork();
	if (pid == 0)
		child_play(sc, &st);
	if (child_stop(pid) != SIGSTOP)
		bail("the child did not get ready");
	if (sc->turn == TURN_QUEUE)
		st.queued = ask(st.seat, 2, false);
	if (sc->turn == TURN_RELEASE) {
		slot_release(st.held);
		st.held = NULL;
	}
	*ret_steps = child_step(pid, k);
	start = clock_now_ms();
	fresh = seat_new();
	slot_release(st.held);
	if (st.queued != NULL && !served(st.queued, start, &worst))
		return -1;
	slot_release(st.queued);
	if (!served(ask(fresh, 1, true), start, &worst))
		return -1;
	slots_list(fresh, &list);
	if (list.nitems != 1 || list.budget < 2)
		worst = -1;
	slot_list_release(&list);
	slots_free(fresh);
	slots_free(st.seat);
	return worst;
}

static bool
scenario_run(size_t number, const struct scenario *sc, bool is_all)
{
	long total, steps;
	long stride = 1;
	long kills = 0;
	int64_t worst = 0;

	(void)kill_at(sc, 0, &steps); /* warm */
	if (kill_at(sc, 1000000000, &total) < 0)
		bail("%s: fails without a kill", sc->name);
	if (!is_all)
		stride = total * total / 2 / STEPS_PER_SCENARIO + 1;
	for (long k = 0; k <= total; k += stride) {
		int64_t took = AIM_MS + 1;

		for (int i = 0; i < TRIES && took > AIM_MS; i++)
			took = kill_at(sc, k, &steps);
		kills++;
		if (took < 0 || took > AIM_MS) {
			(void)printf("not ok %zu - %s: killed after %ld of %ld "
				     "instructions: %s\n",
				     number, sc->name, k, total,
				     took < 0 ? "wedged" : "late");
			return false;
		}
		if (took > worst)
			worst = took;
	}
	(void)printf("ok %zu - %s: %ld kills over %ld instructions, at most %ld ms\n",
		     number, sc->name, kills, total, (long)worst);
	(void)fflush(stdout);
	return true;
}

int
main(int argc, char **argv)
{
	const size_t n = sizeof(scenarios) / sizeof(scenarios[0]);
	bool is_all = argc > 1 && strcmp(argv[1], "all") == 0;
	bool is_good = true;

	(void)snprintf(segment, sizeof(segment), "/gn-step-%ld", (long)getpid());
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("1..%zu\n", n);
	for (size_t i = 0; i < n; i++)
		is_good = scenario_run(i + 1, &scenarios[i], is_all) && is_good;
	(void)shm_unlink(segment);
	return is_good ? 0 : 1;
}
