/* SPDX-License-Identifier: MIT */
/* How a worker ends before its command does: signals, and deaths on either side. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "tests/helper/scratch.h"
#include "tests/worker/job.h"
#include "worker/session.h"
#include "worker/worker.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum {
	SOON_MS = 10000, /* far more than a moment */
	END_MS = 1000,	 /* within which a step's session ends when its keeper dies */
};

static struct job_options logged = JOB_OPTIONS_INIT;

static void
enter(void)
{
	(void)scratch_enter();
	children_adopt();
	logged.log_dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
leave(void)
{
	children_end();
	fd_close(&logged.log_dir_fd);
	scratch_leave();
}

TestSuite(stop, .init = enter, .fini = leave, .timeout = 60);
TestSuite(death, .init = enter, .fini = leave, .timeout = 60);

/* A place of memory that forks share. */
static _Atomic int *
shared_int(void)
{
	_Atomic int *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

/* A worker that has settled: /dev/null three times, its socket and the log directory. */
static bool
is_settled(void *ctx)
{
	return scratch_count(ctx) == 5;
}

struct signal_case {
	const char *name;
	const char *text; /* writes `up` when it is ready */
	int signo;
	int exit_code;
	int killed_by;
	int at_most_ms;
};

static const struct signal_case signals[] = {
	{ "TERM ends it", "echo $$ >up; sleep 1000; true", SIGTERM, 143, SIGTERM, 3000 },
	{ "INT ends it", "echo $$ >up; sleep 1000; true", SIGINT, 130, SIGINT, 3000 },
	{ "HUP ends it", "echo $$ >up; sleep 1000; true", SIGHUP, 129, SIGHUP, 3000 },
	{ "KILL ends it", "echo $$ >up; sleep 1000; true", SIGKILL, 137, SIGKILL, 3000 },
	{ "KILL ends what is deaf", "trap '' TERM INT HUP; echo $$ >up; sleep 1000; true",
	  SIGKILL, 137, SIGKILL, 3000 },
	{ "trap answers", "trap 'exit 7' TERM; echo $$ >up; sleep 1000 & wait", SIGTERM,
	  7, 0, 3000 },
	{ "trap says it was nothing",
	  "trap 'exit 0' TERM; echo $$ >up; sleep 1000 & wait", SIGTERM, 0, 0, 3000 },
	{ "only the child takes it",
	  "trap : TERM; echo $$ >up; sleep 1000; test $? = 143 && exit 5", SIGTERM, 5, 0,
	  3000 },
	{ "a group of its own gets it",
	  "trap : TERM; echo $$ >up; timeout 1000 sleep 1000; exit 6", SIGTERM, 6, 0,
	  3000 },
	{ "stopped, it gets it", "echo $$ >up; kill -STOP $$; exit 8", SIGTERM, 143,
	  SIGTERM, 3000 },
	{ "stopped, it dies of KILL", "echo $$ >up; kill -STOP $$; exit 8", SIGKILL, 137,
	  SIGKILL, 3000 },
	{ "a stopped child gets it",
	  "trap : TERM; echo $$ >up; sh -c 'kill -STOP $$; exit 9'; exit 4", SIGTERM, 4,
	  0, 3000 },
};

/* Nothing of it is left, whatever it answered; its log is kept. */
Test(stop, signals)
{
	for (size_t i = 0; i < COUNT(signals); i++) {
		const struct signal_case *c = &signals[i];
		struct worker_outcome o;
		int64_t begun;
		struct job j;
		pid_t session;

		(void)unlink("up");
		job_fork(&j, c->text, &logged);
		job_start(&j);
		session = job_pid("up");
		/* The command after the file: its child, or its stop. */
		(void)poll(NULL, 0, 100);
		begun = clock_now_ms();
		worker_signal(j.worker, c->signo);
		job_wait(&j, SOON_MS, &o);
		cr_expect_lt(clock_now_ms() - begun, c->at_most_ms, "%s", c->name);
		cr_expect(o.finished, "%s", c->name);
		cr_expect_eq(o.exit_code, c->exit_code, "%s: %d", c->name, o.exit_code);
		cr_expect_eq(o.signal, c->killed_by, "%s: %d", c->name, o.signal);
		cr_expect(o.has_log, "%s", c->name);
		cr_expect_eq(session_signal(session, 0).alive, 0, "%s", c->name);
		job_release(&j);
		children_end();
	}
}

/* One that will not: KILL after the grace. The log has what it said to the signal. */
Test(stop, deaf_command_is_killed_after_the_grace)
{
	struct worker_outcome o;
	int64_t begun, took;
	struct job j;
	char *log;

	job_fork(&j, "trap 'echo no' TERM; echo $$ >up; while :; do sleep 0.02; done",
		 &logged);
	job_start(&j);
	(void)job_pid("up");
	begun = clock_now_ms();
	worker_signal(j.worker, SIGTERM);
	job_wait(&j, SOON_MS, &o);
	took = clock_now_ms() - begun;
	cr_expect(took >= WORKER_STOP_GRACE_MS - 50 && took < WORKER_STOP_GRACE_MS + 1500,
		  "after %lld ms", (long long)took);
	cr_expect_eq(o.signal, SIGKILL);
	cr_expect_eq(o.exit_code, 137);
	log = scratch_read("x.log");
	cr_expect(log != NULL && strstr(log, "no\n") != NULL);
	free(log);
	job_release(&j);
}

Test(stop, second_signal_kills_at_once)
{
	struct worker_outcome o;
	int64_t begun;
	struct job j;

	job_fork(&j,
		 "trap 'echo got >got' TERM; echo $$ >up; while :; do sleep 0.02; done",
		 &logged);
	job_start(&j);
	(void)job_pid("up");
	worker_signal(j.worker, SIGTERM);
	cr_assert(await(file_is_there, (char[]){ "got" }, SOON_MS));
	begun = clock_now_ms();
	worker_signal(j.worker, SIGKILL);
	job_wait(&j, SOON_MS, &o);
	cr_expect_lt(clock_now_ms() - begun, 1500);
	cr_expect_eq(o.signal, SIGKILL);
	job_release(&j);
}

/* Again and again: the first deadline holds. */
Test(stop, more_signals_do_not_put_it_off)
{
	struct worker_outcome o;
	int64_t begun = clock_now_ms();
	struct job j;

	job_fork(&j, "trap '' TERM; echo $$ >up; while :; do sleep 0.02; done", &logged);
	job_start(&j);
	(void)job_pid("up");
	while (!await_readable(worker_pidfd(j.worker), 200) &&
	       clock_now_ms() - begun < SOON_MS)
		worker_signal(j.worker, SIGTERM);
	job_wait(&j, 0, &o);
	cr_expect_lt(clock_now_ms() - begun, WORKER_STOP_GRACE_MS + 2500);
	cr_expect_eq(o.signal, SIGKILL);
	job_release(&j);
}

Test(stop, signal_right_behind_the_order)
{
	for (int i = 0; i < 20; i++) {
		struct worker_outcome o;
		struct job j;

		job_fork(&j, "sleep 1000; true", &logged);
		job_start(&j);
		worker_signal(j.worker, i % 2 == 0 ? SIGTERM : SIGKILL);
		job_wait(&j, 3000, &o);
		cr_expect(o.finished);
		cr_expect_eq(o.signal, i % 2 == 0 ? SIGTERM : SIGKILL, "%d", o.signal);
		job_release(&j);
	}
}

/* The signal comes while what the shell left is given its two seconds. */
Test(stop, kill_while_it_clears_up)
{
	struct worker_outcome o;
	int64_t begun;
	struct job j;

	job_fork(
	    &j,
	    "echo $$ >up; sh -c 'trap \"\" TERM; echo >child; sleep 1000; sleep 1000' & "
	    "until test -s child; do :; done; exit 3",
	    &logged);
	job_start(&j);
	cr_assert(process_is_over(job_pid("up"), SOON_MS), "the shell ends by itself");
	begun = clock_now_ms();
	worker_signal(j.worker, SIGKILL);
	job_wait(&j, SOON_MS, &o);
	cr_expect_lt(clock_now_ms() - begun, 1000);
	cr_expect_eq(o.exit_code, 3, "the verdict is the shell's");
	job_release(&j);
}

/* A step may stop its own worker: a signal to the job continues it. */
Test(stop, stopped_worker_is_continued)
{
	struct worker_outcome o;
	struct job j;

	job_fork(&j, "echo $$ >up; kill -STOP $PPID; sleep 1000; true", &logged);
	job_start(&j);
	(void)job_pid("up");
	(void)poll(NULL, 0, 100);
	worker_signal(j.worker, SIGTERM);
	job_wait(&j, 3000, &o);
	cr_expect_eq(o.signal, SIGTERM);
	job_release(&j);
}

Test(stop, signal_to_one_that_has_ended)
{
	struct worker_outcome o;
	struct job j;

	job_fork(&j, "exit 3", &logged);
	job_start(&j);
	cr_assert(await_readable(worker_pidfd(j.worker), SOON_MS));
	worker_signal(j.worker, SIGTERM);
	worker_signal(j.worker, SIGKILL);
	worker_kill(j.worker);
	worker_end(j.worker, &o);
	cr_expect(o.finished);
	cr_expect_eq(o.exit_code, 3);
	worker_signal(j.worker, SIGKILL);
	job_release(&j);
}

/* Spares: forked, and never given an order. */
Test(stop, spare_is_freed)
{
	struct job j[5];

	for (size_t i = 0; i < COUNT(j); i++)
		job_fork(&j[i], "echo >ran", &logged);
	for (size_t i = 0; i < COUNT(j); i++)
		job_release(&j[i]);
	cr_expect_eq(children_count(), 0);
	cr_expect_eq(access("ran", F_OK), -1);
}

Test(stop, spare_holds_no_descriptor_of_its_caller)
{
	char path[64];
	struct job first, spare;
	int life[2];

	cr_assert_eq(pipe(life), 0);
	job_fork(&first, "true", &logged);
	job_fork(&spare, "true", &logged);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)worker_pid(spare.worker));
	cr_expect(await(is_settled, path, 5000), "%d", scratch_count(path));
	(void)close(life[1]);
	cr_expect(await_readable(life[0], 1000), "the pipe's end is held");
	job_release(&spare);
	job_release(&first);
}

Test(stop, killed_spare_takes_no_order)
{
	struct worker_order order = { .job = 1 };
	struct error err = ERROR_INIT;
	struct job j;

	job_fork(&j, "echo >ran", &logged);
	(void)kill(worker_pid(j.worker), SIGKILL);
	cr_assert(await_readable(worker_pidfd(j.worker), SOON_MS));
	cr_expect_eq(worker_start(j.worker, &order, -1, &err), -1);
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	job_release(&j);
	cr_expect_eq(children_count(), 0);
	cr_expect_eq(access("ran", F_OK), -1);
}

static bool
has_hung_up(int fd, int ms)
{
	return await_readable(fd, ms);
}

/*
 * What a job holds is given back when nothing of its command lives, and no sooner; the
 * command itself has no copy of it.
 */
Test(stop, hold_is_kept_until_nothing_is_left)
{
	struct job_options o = logged;
	struct worker_outcome out;
	pid_t session;
	struct job j;
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	o.hold_fd = fds[1];
	job_fork(&j,
		 "setsid sleep 1000 >/dev/null 2>&1 & "
		 "sh -c 'trap \"\" TERM; echo >child; sleep 1000; sleep 1000' & "
		 "until test -s child; do :; done; "
		 "ls -C -w 999 /proc/$$/fd; echo $$ >up; exit 3",
		 &o);
	job_start(&j);
	fd_close(&fds[1]);
	session = job_pid("up");
	cr_assert(process_is_over(session, SOON_MS));
	cr_expect_not(has_hung_up(fds[0], 300), "the deaf child still lives");
	cr_expect(has_hung_up(fds[0], SOON_MS));
	cr_expect_eq(session_signal(session, 0).alive, 0);
	job_wait(&j, SOON_MS, &out);
	cr_expect_eq(out.exit_code, 3);
	cr_expect_str_eq(j.seen->output, "0  1  2\n", "%s", j.seen->output);
	fd_close(&fds[0]);
	job_release(&j);
}

Test(death, hold_goes_with_the_worker)
{
	struct job_options o = logged;
	struct job j;
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	o.hold_fd = fds[1];
	job_fork(&j, "echo $$ >up; sleep 1000; true", &o);
	job_start(&j);
	fd_close(&fds[1]);
	(void)job_pid("up");
	cr_expect_not(has_hung_up(fds[0], 50));
	(void)kill(worker_pid(j.worker), SIGKILL);
	cr_expect(has_hung_up(fds[0], 1000));
	fd_close(&fds[0]);
	job_release(&j);
}

Test(death, worker_never_ordered)
{
	struct worker_outcome o;
	struct job j;

	job_fork(&j, "echo >ran", &logged);
	worker_kill(j.worker);
	job_wait(&j, SOON_MS, &o);
	cr_expect_not(o.finished);
	cr_expect_not(o.started);
	cr_expect_eq(o.exit_code, -1);
	job_release(&j);
}

/* What runs when one of the two is killed; `up` has the session. */
static const char *const steps[] = {
	"echo $$ >up; sleep 1000; true",
	"echo $$ >up; exec sleep 1000",
	"trap '' TERM INT HUP; echo $$ >up; sleep 1000; sleep 1000",
	"sleep 1000 & sleep 1000 & timeout 1000 sleep 1000 & echo $$ >up; wait",
	"(sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' &); echo $$ >up; sleep 1000; "
	"true",
	"echo $$ >up; cat /dev/zero; true",
	"sleep 1000 & kill -STOP $!; echo $$ >up; kill -STOP $$",
	"exec >&- 2>&-; echo $$ >up; sleep 1000; true",
	"echo $$ >up; set -m; sleep 1000 & wait",
};

Test(death, worker_killed)
{
	for (size_t i = 0; i < COUNT(steps); i++) {
		struct worker_outcome o;
		pid_t session;
		struct job j;

		(void)unlink("up");
		job_fork(&j, steps[i], &logged);
		job_start(&j);
		session = job_pid("up");
		(void)kill(worker_pid(j.worker), SIGKILL);
		job_wait(&j, SOON_MS, &o);
		cr_expect(session_is_over(session, END_MS), "%s", steps[i]);
		cr_expect_not(o.finished);
		cr_expect(o.started, "%s", steps[i]);
		cr_expect_eq(o.exit_code, -1);
		cr_expect_eq(o.signal, 0);
		cr_expect_not(o.has_log);
		job_release(&j);
		children_end();
	}
}

/* By the step itself. */
Test(death, worker_killed_by_its_step)
{
	struct worker_outcome o;
	struct job j;

	job_run("kill -KILL $PPID; sleep 1000; true", &logged, SOON_MS, &j, &o);
	cr_expect_not(o.finished);
	cr_expect_eq(o.exit_code, -1);
	job_release(&j);
}

Test(death, kill_and_free)
{
	for (size_t i = 0; i < COUNT(steps); i++) {
		pid_t session;
		struct job j;

		(void)unlink("up");
		job_fork(&j, steps[i], &logged);
		job_start(&j);
		session = job_pid("up");
		if (i % 2 == 0)
			worker_kill(j.worker);
		job_release(&j);
		cr_expect(session_is_over(session, END_MS), "%s", steps[i]);
		children_end();
	}
}

/*
 * The shell's birth, in slow motion.  While `birth_gate` is set, the shell's child waits
 * in its first call, setsid, until its worker is dead and the test says go.
 */
static _Atomic int *birth_gate;
static int setsid_calls;

pid_t
setsid(void)
{
	/* A worker calls it once for itself; its vforked child, in the same memory, then.
	 */
	if (birth_gate != NULL && ++setsid_calls == 2) {
		*birth_gate = 1;
		while (*birth_gate != 2)
			(void)syscall(SYS_sched_yield);
	}
	return (pid_t)syscall(SYS_setsid);
}

static bool
gate_is_reached(void *ctx)
{
	(void)ctx;
	return *birth_gate == 1;
}

static bool
is_childless(void *ctx)
{
	(void)ctx;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	return children_count() == 0;
}

/* Killed between fork and exec: nobody is left who could end the command. */
Test(death, worker_killed_while_its_shell_is_born)
{
	struct worker_outcome o;
	struct job j;

	birth_gate = shared_int();
	job_fork(&j, "echo >ran; sleep 1000; true", &logged);
	job_start(&j);
	cr_assert(await(gate_is_reached, NULL, SOON_MS));
	(void)kill(worker_pid(j.worker), SIGKILL);
	job_wait(&j, SOON_MS, &o);
	cr_expect_not(o.finished);
	*birth_gate = 2;
	cr_expect(await(is_childless, NULL, END_MS),
		  "the step runs on, and no one knows");
	cr_expect_eq(access("ran", F_OK), -1, "the step ran");
	job_release(&j);
}

/* A supervisor of the test's, and where it tells its workers' pids. */
struct stand_in {
	pid_t pid;
	pid_t workers[2];
};

/* Fork it; it starts the step and a spare, and waits for its death. */
static void
stand_in_start(const char *step, struct stand_in *ret_stand_in)
{
	struct stand_in s = { 0 };
	char path[64];
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	s.pid = fork();
	cr_assert_geq(s.pid, 0);
	if (s.pid == 0) {
		struct job first, spare;
		pid_t pids[2];

		(void)setpgid(0, 0);
		job_fork(&first, step, &logged);
		job_start(&first);
		job_fork(&spare, "echo >ran", &logged);
		pids[0] = worker_pid(first.worker);
		pids[1] = worker_pid(spare.worker);
		(void)!write(fds[1], pids, sizeof(pids));
		for (;;)
			(void)pause();
	}
	(void)close(fds[1]);
	cr_assert(await_readable(fds[0], SOON_MS));
	cr_assert_eq(read(fds[0], s.workers, sizeof(s.workers)),
		     (ssize_t)sizeof(s.workers));
	(void)close(fds[0]);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)s.workers[1]);
	cr_assert(await(is_settled, path, SOON_MS));
	*ret_stand_in = s;
}

enum way {
	KILL_IT,
	KILL_ITS_GROUP,
	STOP_WORKERS_THEN_KILL,
	KILL_WORKER_THEN_IT,
	WAYS,
};

static void
stand_in_end(const struct stand_in *s, enum way way)
{
	if (way == STOP_WORKERS_THEN_KILL) {
		(void)kill(s->workers[0], SIGSTOP);
		(void)kill(s->workers[1], SIGSTOP);
		(void)poll(NULL, 0, 20);
	}
	if (way == KILL_WORKER_THEN_IT)
		(void)kill(s->workers[1], SIGKILL);
	(void)kill(way == KILL_ITS_GROUP ? -s->pid : s->pid, SIGKILL);
}

/* Within a second nothing of it lives: not the step, not the workers. */
Test(death, supervisor_killed)
{
	for (int way = 0; way < WAYS; way++) {
		for (size_t i = 0; i < COUNT(steps); i++) {
			struct stand_in s;
			pid_t session;

			(void)unlink("up");
			stand_in_start(steps[i], &s);
			session = job_pid("up");
			stand_in_end(&s, (enum way)way);
			cr_expect(session_is_over(session, END_MS), "way %d: %s", way,
				  steps[i]);
			cr_expect(process_is_over(s.workers[0], END_MS),
				  "way %d: worker of %s", way, steps[i]);
			cr_expect(process_is_over(s.workers[1], END_MS),
				  "way %d: spare beside %s", way, steps[i]);
			cr_expect_eq(access("ran", F_OK), -1);
			children_end();
		}
	}
}

/* The supervisor goes while what the shell left is given its two seconds. */
Test(death, supervisor_killed_while_a_worker_clears_up)
{
	struct stand_in s;
	pid_t session;

	stand_in_start("echo $$ >up; "
		       "sh -c 'trap \"\" TERM; echo >child; sleep 1000; sleep 1000' & "
		       "until test -s child; do :; done; exit 3",
		       &s);
	session = job_pid("up");
	cr_assert(process_is_over(session, SOON_MS));
	(void)kill(s.pid, SIGKILL);
	cr_expect(session_is_over(session, END_MS));
	cr_expect(process_is_over(s.workers[0], END_MS));
}

/* And while the shell is being born. */
Test(death, supervisor_killed_while_a_shell_is_born)
{
	struct stand_in s;

	birth_gate = shared_int();
	stand_in_start("echo >born; sleep 1000; true", &s);
	cr_assert(await(gate_is_reached, NULL, SOON_MS));
	(void)kill(s.pid, SIGKILL);
	cr_assert_eq(waitpid(s.pid, NULL, 0), s.pid);
	*birth_gate = 2;
	cr_expect(await(is_childless, NULL, END_MS + 1000), "something is left");
}

/* A supervisor that is only stopped keeps its step. */
Test(death, supervisor_stopped_ends_nothing)
{
	struct stand_in s;
	pid_t session;

	stand_in_start("echo $$ >up; sleep 1000; true", &s);
	session = job_pid("up");
	(void)kill(s.pid, SIGSTOP);
	(void)poll(NULL, 0, 300);
	cr_expect_eq(session_signal(session, 0).alive > 0, true);
	(void)kill(s.pid, SIGKILL);
	cr_expect(session_is_over(session, END_MS));
}

/* What made a session of its own is left alone, then as well. */
Test(death, daemon_is_left_alone)
{
	struct stand_in s;
	pid_t daemon, session;

	stand_in_start("setsid sh -c 'echo $$ >daemon; sleep 1000' >/dev/null 2>&1 & "
		       "until test -s daemon; do :; done; echo $$ >up; sleep 1000; true",
		       &s);
	session = job_pid("up");
	daemon = job_pid("daemon");
	(void)kill(s.pid, SIGKILL);
	cr_expect(session_is_over(session, END_MS));
	cr_expect(process_is_over(s.workers[0], END_MS));
	cr_expect_not(process_is_over(daemon, 50));
	(void)session_kill(daemon, 1000);
}
