/* SPDX-License-Identifier: MIT */
/* What a command does, and what its worker makes of it. */
#include "worker/worker.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "tests/helper/scratch.h"
#include "tests/worker/job.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum {
	SOON_MS = 10000 /* far more than a moment, on a busy machine too */
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

TestSuite(worker, .init = enter, .fini = leave, .timeout = 60);

struct exit_case {
	const char *text;
	int exit_code;
	int signal;
};

static const struct exit_case exits[] = {
	{ "true", 0, 0 },
	{ "exit 0", 0, 0 },
	{ ":", 0, 0 },
	{ "false", 1, 0 },
	{ "exit 3", 3, 0 },
	{ "exit 127", 127, 0 },
	{ "exit 128", 128, 0 },
	{ "exit 137", 137, 0 },
	{ "exit 255", 255, 0 },
	{ "no-such-command-anywhere", 127, 0 },
	{ "/etc/passwd", 126, 0 },
	{ "if", 2, 0 },
	{ "kill -KILL $$", 137, SIGKILL },
	{ "kill -TERM $$", 143, SIGTERM },
	{ "ulimit -c 0; kill -SEGV $$", 139, SIGSEGV },
	{ "kill -PIPE $$", 141, SIGPIPE },
	{ "kill -HUP $$", 129, SIGHUP },
	{ "kill -64 $$", 192, 64 },
	/* A child's death is the shell's to tell. */
	{ "sh -c 'kill -KILL $$'; exit $?", 137, 0 },
	{ "exec sh -c 'kill -INT $$'", 130, SIGINT },
	{ "sh -c 'kill -KILL $$'; true", 0, 0 },
	{ "exec >&- 2>&-; exit 4", 4, 0 },
	{ "exec <&-; exit 5", 5, 0 },
};

Test(worker, exit_codes)
{
	for (size_t i = 0; i < COUNT(exits); i++) {
		const struct exit_case *c = &exits[i];
		struct worker_outcome o;
		struct job j;

		job_run(c->text, &logged, SOON_MS, &j, &o);
		cr_expect(o.finished && o.started, "%s", c->text);
		cr_expect_eq(o.exit_code, c->exit_code, "%s: %d", c->text, o.exit_code);
		cr_expect_eq(o.signal, c->signal, "%s: %d", c->text, o.signal);
		cr_expect_eq(o.leaked, 0, "%s: %u", c->text, o.leaked);
		cr_expect_eq(o.has_log, c->exit_code != 0, "%s", c->text);
		cr_expect_eq(o.log_errno, 0);
		cr_expect(o.ms >= 0 && o.ms < SOON_MS);
		cr_expect_eq(j.seen->ends, 1);
		job_release(&j);
		cr_expect_eq(children_count(), 0, "%s", c->text);
		cr_expect_eq(access("x.log", F_OK), c->exit_code != 0 ? 0 : -1, "%s",
			     c->text);
	}
}

Test(worker, order_reaches_prepare_whole)
{
	struct worker_outcome o;
	struct job j;

	job_fork(&j, "true", NULL);
	job_start(&j);
	job_wait(&j, SOON_MS, &o);
	cr_expect_eq(j.seen->order.job, 42);
	cr_expect_eq(j.seen->order.attempt, 3);
	cr_expect_eq(j.seen->order.slots, 7);
	cr_expect_neq(j.seen->worker, getpid(), "it is called in the worker");
	job_release(&j);
}

Test(worker, output_is_watched_and_logged_byte_for_byte)
{
	static const char want[] = "one\ntwo\nth\xff\x80ree\ntail without end";
	struct worker_outcome o;
	struct job j;
	char *log;

	job_run("echo one; echo two >&2; printf 'th\\377\\200ree\\n'; "
		"printf 'tail without end' >&2; exit 1",
		&logged, SOON_MS, &j, &o);
	cr_expect_str_eq(j.seen->output, want);
	log = scratch_read("x.log");
	cr_expect_str_eq(log, want);
	free(log);
	job_release(&j);
}

Test(worker, nobody_watches)
{
	struct job_options o = logged;
	struct worker_outcome out;
	struct job j;
	char *log;

	o.is_unwatched = true;
	job_run("echo x; exit 1", &o, SOON_MS, &j, &out);
	log = scratch_read("x.log");
	cr_expect_str_eq(log, "x\n");
	free(log);
	job_release(&j);
}

Test(worker, nowhere_to_log)
{
	struct worker_outcome o;
	struct job j;

	job_run("echo x; exit 1", NULL, SOON_MS, &j, &o);
	cr_expect_eq(o.exit_code, 1);
	cr_expect_not(o.has_log);
	cr_expect_eq(o.log_errno, 0);
	cr_expect_str_eq(j.seen->output, "x\n");
	job_release(&j);
}

Test(worker, log_that_cannot_be_kept_leaves_the_verdict)
{
	struct worker_outcome o;
	struct job j;

	cr_assert_eq(mkdir("x.log", 0700), 0);
	job_run("echo x; exit 1", &logged, SOON_MS, &j, &o);
	cr_expect_eq(o.exit_code, 1);
	cr_expect_not(o.has_log);
	cr_expect_neq(o.log_errno, 0);
	job_release(&j);
	job_run("echo x; exit 0", &logged, SOON_MS, &j, &o);
	cr_expect_eq(o.exit_code, 0);
	cr_expect_not(o.has_log);
	job_release(&j);
}

Test(worker, shell_that_cannot_be_executed)
{
	char *text = malloc(200001);
	struct worker_outcome o;
	struct job j;

	memset(text, ':', 200000);
	text[200000] = '\0';
	job_run(text, &logged, SOON_MS, &j, &o);
	cr_expect(o.finished);
	cr_expect_not(o.started);
	cr_expect_eq(o.start_errno, E2BIG);
	cr_expect_eq(o.exit_code, -1);
	cr_expect_eq(j.seen->ends, 1);
	job_release(&j);
	free(text);
}

/* What was printed just before the end is there, however much the pipe holds. */
Test(worker, last_bytes_are_not_lost)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{ "printf x", 1 },
		{ "head -c 65536 /dev/zero", 65536 },
		{ "head -c 65537 /dev/zero", 65537 },
		{ "head -c 1048576 /dev/zero", 1048576 },
		{ "head -c 5000001 /dev/zero; exit 1", 5000001 },
		{ "head -c 3000000 /dev/zero; head -c 1000000 /dev/zero >&2", 4000000 },
	};

	for (int round = 0; round < 5; round++) {
		for (size_t i = 0; i < COUNT(rows); i++) {
			struct worker_outcome o;
			struct job j;

			job_run(rows[i].text, &logged, SOON_MS, &j, &o);
			cr_expect_eq(j.seen->bytes, rows[i].bytes, "%s: %llu",
				     rows[i].text, (unsigned long long)j.seen->bytes);
			job_release(&j);
		}
	}
}

struct leak_case {
	const char *text;
	unsigned leaked;
	int at_most_ms; /* until the worker has ended */
};

enum {
	QUICK_MS = 1500,
	SLOW_MS = 4500
};

static const struct leak_case leaks[] = {
	{ "sleep 1000 & exit 3", 1, QUICK_MS },
	{ "sleep 1000 & sleep 1000 & sleep 1000 & exit 3", 3, QUICK_MS },
	{ "(sleep 1000 &) ; exit 3", 1, QUICK_MS },
	{ "timeout 1000 sleep 1000 & until pgrep -P $! >p; do :; done; exit 3", 2,
	  QUICK_MS },
	{ "set -m; sleep 1000 & exit 3", 1, QUICK_MS },
	{ "sleep 1000 >/dev/null 2>&1 & exit 3", 1, QUICK_MS },
	{ "sleep 1000 & kill -STOP $!; exit 3", 1, QUICK_MS },
	{ "sleep 1000 & kill -KILL $$", 1, QUICK_MS },
	/* Deaf to TERM: KILL after two seconds. */
	{ "sh -c 'trap \"\" TERM; echo >up; sleep 1000; sleep 1000' & "
	  "until test -s up; do :; done; sleep 0.1; exit 3",
	  2, SLOW_MS },
	/* It tidies up on TERM, and is given the time to. */
	{ "sh -c 'trap \"sleep 0.3; echo tidy >tidied; exit\" TERM; echo >up; "
	  "while :; do sleep 0.02; done' & until test -s up; do :; done; exit 3",
	  0, SLOW_MS },
};

Test(worker, what_the_shell_left_is_ended_and_counted)
{
	for (size_t i = 0; i < COUNT(leaks); i++) {
		const struct leak_case *c = &leaks[i];
		bool is_killed = strstr(c->text, "kill -KILL") != NULL;
		int64_t begun = clock_now_ms();
		struct worker_outcome o;
		struct job j;

		(void)unlink("up");
		job_run(c->text, &logged, SOON_MS, &j, &o);
		cr_expect_eq(o.exit_code, is_killed ? 137 : 3, "%s: %d", c->text,
			     o.exit_code);
		cr_expect_lt(clock_now_ms() - begun, c->at_most_ms, "%s", c->text);
		if (c->leaked > 0)
			cr_expect_eq(o.leaked, c->leaked, "%s: %u", c->text, o.leaked);
		else
			cr_expect_geq(o.leaked, 1, "%s", c->text);
		if (c->at_most_ms == SLOW_MS)
			cr_expect_lt(o.ms, 1500, "%s: the step's own time is its shell's",
				     c->text);
		job_release(&j);
		children_end();
	}
	cr_expect_eq(access("tidied", F_OK), 0, "TERM came before KILL");
}

/* Whoever ended them reaps them: the caller is left no zombie for each. */
Test(worker, what_was_ended_is_reaped)
{
	for (size_t i = 0; i < 10 * COUNT(leaks); i++) {
		const struct leak_case *c = &leaks[i % COUNT(leaks)];
		struct worker_outcome o;
		struct job j;

		if (c->at_most_ms == SLOW_MS)
			continue;
		job_run(c->text, &logged, SOON_MS, &j, &o);
		job_release(&j);
		cr_expect_eq(children_count(), 0, "%s: %d", c->text, children_count());
		children_end();
	}
}

Test(worker, green_with_leaks_stays_green)
{
	struct worker_outcome o;
	struct job j;

	job_run("sleep 1000 & exit 0", &logged, SOON_MS, &j, &o);
	cr_expect_eq(o.exit_code, 0);
	cr_expect_eq(o.leaked, 1);
	cr_expect_not(o.has_log);
	job_release(&j);
}

/* It keeps the pipe open, and lives on: it made a session of its own. */
Test(worker, daemon_is_left_alone_and_holds_nothing_up)
{
	int64_t begun = clock_now_ms();
	struct worker_outcome o;
	struct job j;
	pid_t daemon;

	job_run("setsid sh -c 'echo $$ >daemon; sleep 1000' & "
		"until test -s daemon; do :; done; echo over; exit 3",
		&logged, SOON_MS, &j, &o);
	cr_expect_lt(clock_now_ms() - begun, 5000);
	cr_expect_eq(o.exit_code, 3);
	cr_expect_eq(o.leaked, 0, "%u", o.leaked);
	cr_expect_str_eq(j.seen->output, "over\n");
	daemon = job_pid("daemon");
	cr_expect_not(process_is_over(daemon, 0), "it was ended");
	(void)kill(-daemon, SIGKILL);
	job_release(&j);
}

/* It writes without end into the pipe that it kept. */
Test(worker, daemon_that_writes_for_ever_holds_nothing_up)
{
	struct worker_outcome o;
	struct job j;

	for (int i = 0; i < 5; i++) {
		int64_t begun = clock_now_ms();

		(void)unlink("daemon");
		job_run("setsid sh -c 'echo $$ >daemon; exec cat /dev/zero' & "
			"until test -s daemon; do :; done; sleep 0.1; exit 3",
			&logged, SOON_MS, &j, &o);
		cr_expect_lt(clock_now_ms() - begun, 5000);
		cr_expect_eq(o.exit_code, 3);
		cr_expect(process_is_over(job_pid("daemon"), 2000),
			  "with no reader its write fails");
		job_release(&j);
		/* It became ours. */
		children_end();
	}
}

Test(worker, background_writer_does_not_outlive_the_step)
{
	int64_t begun = clock_now_ms();
	struct worker_outcome o;
	struct job j;

	job_run("cat /dev/zero & sleep 0.1; exit 3", &logged, SOON_MS, &j, &o);
	cr_expect_lt(clock_now_ms() - begun, 5000);
	cr_expect_eq(o.exit_code, 3);
	cr_expect_eq(o.leaked, 1, "%u", o.leaked);
	job_release(&j);
}

Test(worker, output_closed_early_costs_nothing)
{
	struct worker_outcome o;
	struct job j;

	job_run("echo first; exec >&- 2>&-; sleep 1; exit 5", &logged, SOON_MS, &j, &o);
	cr_expect_eq(o.exit_code, 5);
	cr_expect_geq(o.ms, 990);
	cr_expect_str_eq(j.seen->output, "first\n");
	cr_expect_lt(j.seen->cpu_ms, 300, "it span: %lld ms", (long long)j.seen->cpu_ms);
	job_release(&j);
}

Test(worker, waiting_costs_nothing)
{
	struct worker_outcome o;
	struct job j;

	job_run("sleep 1", &logged, SOON_MS, &j, &o);
	cr_expect_lt(j.seen->cpu_ms, 300, "it span: %lld ms", (long long)j.seen->cpu_ms);
	job_release(&j);
}

/* Memory and time mean nothing under a sanitizer. */
#ifndef GN_SANITIZED
struct bulk_case {
	const char *text;
	uint64_t bytes;
};

static const struct bulk_case bulks[] = {
	{ "head -c 1000000000 /dev/zero; exit 1", 1000000000 },
	{ "yes | head -c 300000000; exit 1", 300000000 },
};

Test(worker, memory_is_bounded_whatever_is_printed)
{
	for (size_t i = 0; i < COUNT(bulks); i++) {
		struct worker_outcome o;
		struct stat st;
		struct job small, j;

		job_run("true", &logged, SOON_MS, &small, &o);
		job_run(bulks[i].text, &logged, 50000, &j, &o);
		cr_expect_eq(j.seen->bytes, bulks[i].bytes);
		cr_expect_eq(o.exit_code, 1);
		cr_expect(o.has_log);
		cr_expect_lt(j.seen->max_rss_kib - small.seen->max_rss_kib, 16 * 1024,
			     "%s: %ld KiB", bulks[i].text, j.seen->max_rss_kib);
		cr_assert_eq(stat("x.log", &st), 0);
		cr_expect_leq(st.st_size, 4194304 + 100);
		cr_expect_gt(st.st_size, 4194304 - 1000);
		job_release(&small);
		job_release(&j);
	}
}
#endif

Test(worker, steps_have_their_three_descriptors_only)
{
	struct worker_outcome o;
	struct job j;

	cr_assert_eq(dup2(2, 77), 77);
	job_run("ls -C -w 999 /proc/$$/fd; true", &logged, SOON_MS, &j, &o);
	cr_expect_str_eq(j.seen->output, "0  1  2\n", "%s", j.seen->output);
	job_release(&j);
}

Test(worker, what_the_caller_ignores_the_command_ignores)
{
	struct worker_outcome o;
	struct job j;

	(void)signal(SIGHUP, SIG_IGN);
	job_run("kill -HUP $$; kill -INT $$; exit 9", NULL, SOON_MS, &j, &o);
	cr_expect_eq(o.signal, SIGINT, "%d", o.signal);
	job_release(&j);
}

/* Ours is ignored; a writer whose reader has left is to end all the same. */
Test(worker, sigpipe_ends_a_writer)
{
	struct worker_outcome o;
	struct job j;

	(void)signal(SIGPIPE, SIG_IGN);
	job_run("sh -c 'yes; echo $? >code' | true; cat code; exit 1", NULL, SOON_MS, &j,
		&o);
	cr_expect_str_eq(j.seen->output, "141\n", "%s", j.seen->output);
	job_release(&j);
}

/* Nothing but KILL and STOP has a meaning for a worker. */
Test(worker, signals_to_the_worker_itself_do_nothing)
{
	struct worker_outcome o;
	struct job j;

	job_fork(&j, "echo >up; until test -s go; do sleep 0.01; done; exit 4", &logged);
	job_start(&j);
	cr_assert(await(file_is_there, (char[]){ "up" }, SOON_MS));
	/* Two of the numbers are the C library's own. */
	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGKILL && signo != SIGSTOP &&
		    (signo < 32 || signo >= SIGRTMIN))
			(void)kill(worker_pid(j.worker), signo);
	scratch_write("go", "x");
	job_wait(&j, SOON_MS, &o);
	cr_expect(o.finished);
	cr_expect_eq(o.exit_code, 4);
	job_release(&j);
}

Test(worker, many_at_once)
{
	enum {
		MANY = 24
	};
	struct job jobs[MANY];
	char texts[MANY][64];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "echo %d; sleep 0.1; exit %d",
			       i, i);
		job_fork(&jobs[i], texts[i], NULL);
		job_start(&jobs[i]);
	}
	for (int i = MANY - 1; i >= 0; i--) {
		struct worker_outcome o;

		job_wait(&jobs[i], SOON_MS, &o);
		cr_expect_eq(o.exit_code, i);
		cr_expect_eq(atoi(jobs[i].seen->output), i);
		job_release(&jobs[i]);
	}
	cr_expect_eq(children_count(), 0);
}

Test(worker, leaves_no_descriptor)
{
	int lowest = dup(2);

	(void)close(lowest);
	for (int i = 0; i < 3; i++) {
		struct worker_outcome o;
		struct job j;

		job_run("exit 1", &logged, SOON_MS, &j, &o);
		job_release(&j);
	}
	cr_expect_eq(dup(2), lowest);
}

/* Descriptors 0, 1 and 2 are free in a caller that closed them. */
Test(worker, caller_without_standard_descriptors)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		struct worker_outcome o;
		struct job j;

		for (int fd = 0; fd <= 2; fd++)
			(void)close(fd);
		logged.log_dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		job_fork(&j, "cat && echo x; exit 6", &logged);
		job_start(&j);
		if (!await_readable(worker_pidfd(j.worker), SOON_MS))
			_exit(100);
		worker_end(j.worker, &o);
		if (!o.finished)
			_exit(101);
		if (strcmp(j.seen->output, "x\n") != 0)
			_exit(102);
		if (!o.has_log)
			_exit(103);
		_exit(o.exit_code);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 6, "%x", (unsigned)status);
}

Test(worker, free_nothing)
{
	worker_free(NULL);
}

static bool
owns(void *ctx, pid_t pid)
{
	return *(pid_t *)ctx == pid;
}

/* Orphans go, a child of the caller's own stays for whoever waits for it. */
Test(worker, orphans_are_reaped)
{
	pid_t own = 0;
	siginfo_t si;
	pid_t pid;

	worker_adopt_orphans();
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 5; i++)
			if (fork() == 0)
				_exit(0);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	for (int64_t until = clock_now_ms() + 5000;
	     children_count() > 0 && clock_now_ms() < until;)
		worker_reap_orphans(owns, &own);
	cr_expect_eq(children_count(), 0);
	worker_reap_orphans(owns, &own);
	own = fork();
	if (own == 0)
		_exit(7);
	cr_assert_eq(waitid(P_PID, (id_t)own, &si, WEXITED | WNOWAIT), 0);
	worker_reap_orphans(owns, &own);
	cr_expect_eq(waitid(P_PID, (id_t)own, &si, WEXITED), 0);
	cr_expect_eq(si.si_status, 7);
}
