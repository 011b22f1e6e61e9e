/* SPDX-License-Identifier: MIT */
#include "worker/session.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
leave(void)
{
	children_end();
}

TestSuite(session, .init = children_adopt, .fini = leave, .timeout = 30);

/* What a process of the test does; called in it, and ends it. */
typedef void act_fn(int ready_fd);

static _Noreturn void
stay(int ready_fd)
{
	(void)!write(ready_fd, "x", 1);
	for (;;)
		(void)pause();
}

static void
plain(int ready_fd)
{
	stay(ready_fd);
}

static void
own_group(int ready_fd)
{
	(void)setpgid(0, 0);
	stay(ready_fd);
}

static void
own_session(int ready_fd)
{
	(void)setsid();
	stay(ready_fd);
}

static void
stubborn(int ready_fd)
{
	(void)signal(SIGTERM, SIG_IGN);
	stay(ready_fd);
}

static void
stopped(int ready_fd)
{
	(void)!write(ready_fd, "x", 1);
	(void)raise(SIGSTOP);
	stay(ready_fd);
}

/* A name that reads like the rest of a line of /proc/<pid>/stat. */
static void
odd_name(int ready_fd)
{
	(void)prctl(PR_SET_NAME, ") Z 1 1 1 1 (");
	stay(ready_fd);
}

static void
odd_name_too(int ready_fd)
{
	(void)prctl(PR_SET_NAME, "\n) S 1\n))");
	stay(ready_fd);
}

static void
ended(int ready_fd)
{
	(void)!write(ready_fd, "x", 1);
	_exit(0);
}

static void *
thread_stay(void *ctx)
{
	stay(*(int *)ctx);
	return NULL;
}

/* The leader's thread is over, another runs on: /proc shows a zombie. */
static void
leader_without_its_thread(int ready_fd)
{
	static int fd;
	pthread_t t;

	fd = ready_fd;
	if (pthread_create(&t, NULL, thread_stay, &fd) != 0)
		_exit(1);
	pthread_exit(NULL);
}

/* Fork a process and wait until it is what it is to be. */
static pid_t
start(act_fn *act)
{
	int ready[2];
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)close(ready[0]);
		act(ready[1]);
		_exit(0);
	}
	(void)close(ready[1]);
	cr_assert(await_readable(ready[0], 5000));
	(void)close(ready[0]);
	return pid;
}

enum {
	ACTS_MAX = 8
};

/* A session whose leader starts the others; ends the test where it cannot. */
static pid_t
start_session(act_fn *const *acts, size_t nacts, act_fn *leader)
{
	int ready[2];
	size_t left = nacts + 1;
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)setsid();
		for (size_t i = 0; i < nacts; i++) {
			if (fork() == 0) {
				acts[i](ready[1]);
				_exit(0);
			}
		}
		leader(ready[1]);
		_exit(0);
	}
	(void)close(ready[1]);
	for (; left > 0; left--) {
		char c;

		cr_assert(await_readable(ready[0], 5000));
		cr_assert_eq(read(ready[0], &c, 1), 1);
	}
	(void)close(ready[0]);
	return pid;
}

struct count {
	pid_t session;
	int want;
	int got;
};

static bool
is_counted(void *ctx)
{
	struct count *c = ctx;

	c->got = session_signal(c->session, 0).alive;
	return c->got == c->want;
}

/* A process that has just ended or stopped may be seen as it was. */
static void
expect_count(pid_t session, int want, const char *what)
{
	struct count c = { .session = session, .want = want };

	cr_expect(await(is_counted, &c, 2000), "%s: %d, not %d", what, c.got, want);
}

struct member_case {
	const char *name;
	act_fn *acts[ACTS_MAX];
	act_fn *leader;
	int members;
};

static const struct member_case members[] = {
	{ "alone", { NULL }, plain, 1 },
	{ "children", { plain, plain }, plain, 3 },
	{ "a group of its own", { own_group, plain }, plain, 3 },
	{ "a session of its own", { own_session, plain }, plain, 2 },
	{ "leader over", { own_group }, ended, 1 },
	{ "all over", { ended, ended }, ended, 0 },
	{ "stopped", { stopped }, stopped, 2 },
	{ "deaf to TERM", { stubborn }, stubborn, 2 },
	{ "odd names", { odd_name, odd_name_too }, odd_name, 3 },
	{ "leader's thread over", { NULL }, leader_without_its_thread, 1 },
	{ "so a child's", { leader_without_its_thread }, ended, 1 },
};

Test(session, members_are_counted_and_killed)
{
	pid_t outsider = start(own_session);
	int64_t begun;

	for (size_t i = 0; i < COUNT(members); i++) {
		const struct member_case *c = &members[i];
		size_t n = 0;
		pid_t session;

		while (c->acts[n] != NULL)
			n++;
		session = start_session(c->acts, n, c->leader);
		expect_count(session, c->members, c->name);
		begun = clock_now_ms();
		cr_expect_eq(session_kill(session, 3000), 0, "%s", c->name);
		cr_expect_lt(clock_now_ms() - begun, 1000, "%s", c->name);
		cr_expect_eq(session_signal(session, 0).alive, 0, "%s", c->name);
	}
	cr_expect_eq(kill(outsider, 0), 0);
	cr_expect_eq(session_signal(outsider, 0).alive, 1,
		     "another session is left alone");
}

Test(session, process_that_left_it_is_left_alone)
{
	act_fn *const acts[] = { own_session };
	pid_t session = start_session(acts, 1, plain);

	cr_expect_eq(session_kill(session, 3000), 0);
	cr_assert_eq(waitpid(session, NULL, 0), session);
	/* It is ours now, and alive. */
	cr_expect_eq(children_count(), 1);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), 0);
}

Test(session, signal_reaches_every_group)
{
	act_fn *const acts[] = { own_group, own_group, plain };
	pid_t session = start_session(acts, 3, plain);

	cr_expect_eq(session_signal(session, SIGTERM).alive, 4);
	expect_count(session, 0, "all took it");
}

Test(session, signal_counts_those_that_ignore_it)
{
	act_fn *const acts[] = { stubborn, plain };
	pid_t session = start_session(acts, 2, stubborn);

	cr_expect_eq(session_signal(session, SIGTERM).alive, 3);
	expect_count(session, 2, "two are deaf");
	cr_expect_eq(session_kill(session, 3000), 0);
}

Test(session, zero_only_counts)
{
	pid_t session = start_session(NULL, 0, plain);

	for (int i = 0; i < 20; i++)
		cr_expect_eq(session_signal(session, 0).alive, 1);
	cr_expect_eq(kill(session, 0), 0);
}

Test(session, caller_is_never_signalled)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		pid_t mate;

		(void)setsid();
		mate = fork();
		if (mate == 0)
			for (;;)
				(void)pause();
		if (session_signal(getpid(), SIGKILL).alive != 1)
			_exit(1);
		if (waitpid(mate, &status, 0) != mate || !WIFSIGNALED(status))
			_exit(2);
		if (session_kill(getpid(), 100) != 0)
			_exit(3);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "%x", (unsigned)status);
}

/* Numbers that no session of a step can have: nothing must be hurt. */
static const pid_t none[] = { 0, 1, -1, -2, 0x7fffffff };

Test(session, no_session_at_all)
{
	pid_t other = start(plain);

	for (size_t i = 0; i < COUNT(none); i++) {
		cr_expect_eq(session_signal(none[i], SIGTERM).alive, 0, "%d",
			     (int)none[i]);
		cr_expect_eq(session_kill(none[i], 50), 0, "%d", (int)none[i]);
	}
	cr_expect_eq(kill(other, 0), 0);
	cr_expect_eq(waitpid(other, NULL, WNOHANG), 0);
}

/* A session that has many and goes on making more of them. */
static void
breeder(int ready_fd)
{
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGCHLD, SIG_IGN);
	(void)!write(ready_fd, "x", 1);
	for (;;) {
		if (fork() == 0) {
			(void)usleep(20000);
			_exit(0);
		}
		(void)usleep(1000);
	}
}

Test(session, kill_ends_those_that_keep_forking)
{
	act_fn *const acts[] = { breeder, breeder, plain, plain };
	pid_t session = start_session(acts, 4, breeder);
	int64_t begun = clock_now_ms();

	cr_expect_eq(session_kill(session, 5000), 0);
	cr_expect_lt(clock_now_ms() - begun, 3000);
	cr_expect_eq(session_signal(session, 0).alive, 0);
}

/* Each process is gone as soon as it has made its successor. */
static void
runner(int ready_fd)
{
	(void)signal(SIGCHLD, SIG_IGN);
	(void)!write(ready_fd, "x", 1);
	for (;;) {
		if (fork() > 0)
			_exit(0);
		(void)usleep(500);
	}
}

Test(session, kill_catches_one_that_runs_away)
{
	act_fn *const acts[] = { runner };
	pid_t session = start_session(acts, 1, plain);

	cr_expect_eq(session_kill(session, 5000), 0);
	expect_count(session, 0, "the runner lives");
	(void)session_kill(session, 5000);
}

/* Where there is no time, there is one attempt. */
Test(session, kill_without_time_tries_once)
{
	pid_t session = start_session(NULL, 0, plain);
	int64_t begun = clock_now_ms();

	cr_expect_geq(session_kill(session, 0), 0);
	cr_expect_lt(clock_now_ms() - begun, 500);
	expect_count(session, 0, "killed all the same");
}

Test(session, leaves_no_descriptor)
{
	pid_t session = start_session(NULL, 0, plain);
	int lowest = dup(2);

	(void)close(lowest);
	for (int i = 0; i < 10; i++)
		(void)session_signal(session, SIGCONT).alive;
	(void)session_kill(session, 1000);
	cr_expect_eq(dup(2), lowest);
}
