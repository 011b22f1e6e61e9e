/* SPDX-License-Identifier: MIT */
#include "ipc/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int
ask(const char *script, size_t max, int timeout_ms, struct buf *answer, struct error *err)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	static const char *const env[] = { "GN_TEST=ours", "HOME=/nowhere", NULL };
	const struct process_question q = {
		.argv = argv, .dir = "/", .env = env, .max = max, .timeout_ms = timeout_ms
	};

	*err = (struct error)ERROR_INIT;
	return process_ask(&q, answer, err);
}

Test(process, answers, .timeout = 60)
{
	static const struct {
		const char *script;
		const char *says;
	} rows[] = {
		{ "echo yes", "yes\n" },
		{ "printf ''", "" },
		{ "pwd", "/\n" },
		{ "cat", "" },
		{ "echo $GN_TEST $HOME", "ours /nowhere\n" },
		{ "env | grep -c ^HOME=", "1\n" },
		{ "echo no >&2; echo yes", "yes\n" },
		/* What it leaves behind cannot hold us up, and is ended. */
		{ "sleep 1000 & echo yes", "yes\n" },
		{ "trap 'echo no' TERM; echo yes", "yes\n" },
		/* No descriptor of ours but these three. */
		{ "ls /proc/self/fd | wc -l", "4\n" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf answer = BUF_INIT;
		struct error err;
		int64_t began = clock_now_ms();

		cr_expect_eq(ask(rows[i].script, 1000, 30000, &answer, &err), 0, "%s: %s",
			     rows[i].script, err.text);
		cr_expect_str_eq(buf_text(&answer), rows[i].says, "%s", rows[i].script);
		cr_expect_lt(clock_now_ms() - began, 20000, "%s", rows[i].script);
		buf_release(&answer);
	}
	cr_expect_lt(waitpid(-1, NULL, WNOHANG), 0, "a child is left");
}

Test(process, refusals, .timeout = 60)
{
	static const struct {
		const char *script;
		int timeout_ms;
		const char *says;
	} rows[] = {
		{ "echo 'the reason' >&2; echo more >&2; exit 3", 30000,
		  "sh: exit code 3: the reason" },
		{ "exit 1", 30000, "sh: exit code 1" },
		{ "kill -9 $$", 30000, "sh: ended by signal 9" },
		{ "sleep 1000", 50, "sh: it takes too long" },
		{ "exec >&-; sleep 1000", 50, "sh: it takes too long" },
		{ "trap '' TERM; while :; do :; done", 50, "sh: it takes too long" },
		{ "yes", 30000, "sh: it says too much" },
		{ "printf %1001d 1", 30000, "sh: it says too much" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf answer = BUF_INIT;
		struct error err;

		cr_expect_eq(ask(rows[i].script, 1000, rows[i].timeout_ms, &answer, &err),
			     -1, "%s", rows[i].script);
		cr_expect_str_eq(err.text, rows[i].says);
		cr_expect_eq(err.kind, ERROR_DATA);
		cr_expect_null(answer.data);
	}
	cr_expect_lt(waitpid(-1, NULL, WNOHANG), 0, "a child is left");
}

Test(process, no_such_program)
{
	const char *const argv[] = { "geonosis-no-such-program", NULL };
	const struct process_question q = { .argv = argv, .max = 10, .timeout_ms = 1000 };
	struct buf answer = BUF_INIT;
	struct error err = ERROR_INIT;

	cr_expect_eq(process_ask(&q, &answer, &err), -1);
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	cr_expect_eq(err.errnum, ENOENT);
}

/* A caller that blocks or ignores signals does not hand that down. */
Test(process, signals_are_as_usual, .timeout = 60)
{
	struct buf answer = BUF_INIT;
	struct error err;
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	cr_expect_lt(ask("kill -PIPE $$; echo no", 1000, 30000, &answer, &err), 0);
	cr_expect_str_eq(err.text, "sh: ended by signal 13");
	cr_expect_lt(ask("kill -TERM $$; echo no", 1000, 30000, &answer, &err), 0);
	cr_expect_str_eq(err.text, "sh: ended by signal 15");
}

/* A process group is over when nobody is in it; the dead count until they are reaped. */
static bool
group_is_over(void *pgid)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return kill(-*(pid_t *)pgid, 0) < 0 && errno == ESRCH;
}

/* What the asked process wrote of itself. */
static pid_t
asked_pid(void)
{
	char *text;
	long pid;

	cr_assert(await(file_is_there, (void *)(uintptr_t) "pid", 30000));
	text = scratch_read("pid");
	pid = strtol(text, NULL, 10);
	free(text);
	cr_assert_gt(pid, 1);
	return (pid_t)pid;
}

Test(process, who_is_ended_while_it_asks_leaves_nobody, .timeout = 120)
{
	static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	children_adopt();
	for (size_t i = 0; i < COUNT(endings); i++) {
		static const char script[] = "echo $$ >pid; sleep 1000 & sleep 1000; :";
		int status = 0;
		pid_t asker, asked;

		(void)scratch_enter();
		asker = fork();
		if (asker == 0) {
			const char *const argv[] = { "sh", "-c", script, NULL };
			const struct process_question q = { .argv = argv,
							    .max = 1000,
							    .timeout_ms = 100000 };
			struct buf answer = BUF_INIT;
			struct error err = ERROR_INIT;

			(void)process_ask(&q, &answer, &err);
			_exit(0);
		}
		asked = asked_pid();
		(void)kill(asker, endings[i]);
		cr_expect_eq(waitpid(asker, &status, 0), asker);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == endings[i],
			  "ended by %d: %#x", endings[i], (unsigned)status);
		cr_expect(await(group_is_over, &asked, 10000), "after %d", endings[i]);
		children_end();
		scratch_leave();
	}
}

Test(process, who_is_killed_takes_the_asked_along, .timeout = 60)
{
	const char *const argv[] = { "sh", "-c", "echo $$ >pid; exec sleep 1000", NULL };
	const struct process_question q = { .argv = argv, .max = 1, .timeout_ms = 50000 };
	pid_t asker, asked;

	children_adopt();
	(void)scratch_enter();
	asker = fork();
	if (asker == 0) {
		struct buf answer = BUF_INIT;
		struct error err = ERROR_INIT;

		(void)process_ask(&q, &answer, &err);
		_exit(0);
	}
	asked = asked_pid();
	(void)kill(asker, SIGKILL);
	cr_expect(await(group_is_over, &asked, 10000));
	children_end();
	scratch_leave();
}

Test(process, variable_that_it_was_started_with, .timeout = 60)
{
	static char longer[] = "GN_NAME_LONGER=no", variable[] = "GN_NAME=a=b";
	static char *const environment[] = { longer, variable, NULL };
	pid_t child = fork();
	char *value;

	if (child == 0) {
		(void)execle("/bin/sleep", "sleep", "60", NULL, environment);
		_exit(127);
	}
	/* It has ours until it executes. */
	while ((value = process_variable(child, "GN_NAME")) == NULL)
		(void)poll(NULL, 0, 5);
	cr_expect_str_eq(value, "a=b");
	free(value);
	cr_expect_null(process_variable(child, "GN_NAM"));
	cr_expect_null(process_variable(child, "HOME"));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	cr_expect_null(process_variable(child, "GN_NAME"));
}
