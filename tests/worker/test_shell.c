/* SPDX-License-Identifier: MIT */
#include "worker/shell.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
enter(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* 0 is the caller's. */
	cr_assert_eq(dup2(null, 0), 0);
	fd_close(&null);
	(void)scratch_enter();
	children_adopt();
}

static void
leave(void)
{
	children_end();
	scratch_leave();
}

TestSuite(shell, .init = enter, .fini = leave, .timeout = 30);

static char path_var[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static char *plain_env[] = { path_var, NULL };

struct spawned {
	struct buf out;
	pid_t pid;
	int session;
	int status;
};

/* Run it and read all that it prints. */
static void
run(const char *text, char *const *env, struct spawned *ret_spawned)
{
	static _Atomic int session;
	struct shell_start s = {
		.text = text,
		.env = env,
		.ret_session = &session,
		.parent = getpid(),
	};
	struct spawned r = { .out = BUF_INIT, .status = -1 };
	char chunk[4096];
	int fds[2];
	ssize_t n;

	session = 0;
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	s.output_fd = fds[1];
	r.pid = shell_spawn(&s);
	cr_assert_gt(r.pid, 0, "%s", strerror(errno));
	r.session = session;
	fd_close(&fds[1]);
	while ((n = read(fds[0], chunk, sizeof(chunk))) > 0)
		buf_append(&r.out, chunk, (size_t)n);
	cr_assert_eq(waitpid(r.pid, &r.status, 0), r.pid);
	fd_close(&fds[0]);
	*ret_spawned = r;
}

static void
run_plain(const char *text, struct spawned *ret_spawned)
{
	run(text, plain_env, ret_spawned);
}

static void
expect_output(const char *text, const char *want)
{
	struct spawned s;

	run_plain(text, &s);
	cr_expect_str_eq(buf_text(&s.out), want, "%s: %s", text, buf_text(&s.out));
	buf_release(&s.out);
}

struct text_case {
	const char *text;
	const char *prints;
};

/* The text reaches the shell as it is. */
static const struct text_case texts[] = {
	{ "echo one; echo two >&2; echo three", "one\ntwo\nthree\n" },
	{ "printf '%s|' \"a b\" 'c  d' \\'", "a b|c  d|'|" },
	{ "echo a\necho b", "a\nb\n" },
	{ "# nothing", "" },
	{ "echo \"$0\" $#", "sh 0\n" },
	{ "cat; echo end", "end\n" },
	{ "printf '\\303\\251'", "\xc3\xa9" },
	{ "echo \xff", "\xff\n" },
	{ "exec 3>&1; echo x >&3", "x\n" },
	{ "test -t 0 || test -t 1 || test -t 2 || echo none", "none\n" },
	{ "(echo >/dev/tty) 2>/dev/null || echo no terminal", "no terminal\n" },
};

Test(shell, text_and_output)
{
	for (size_t i = 0; i < COUNT(texts); i++)
		expect_output(texts[i].text, texts[i].prints);
}

Test(shell, environment_is_what_is_given)
{
	static char a[] = "A=1", b[] = "B=with space\nand line", empty[] = "EMPTY=";
	char *env[] = { path_var, a, b, empty, NULL };
	struct spawned s;

	cr_assert_eq(setenv("GEONOSIS_TEST_OURS", "x", 1), 0);
	run("tr '\\0' '\\n' </proc/self/environ", env, &s);
	cr_expect_not_null(strstr(buf_text(&s.out), "A=1\n"));
	cr_expect_not_null(strstr(buf_text(&s.out), "B=with space\nand line\n"));
	cr_expect_not_null(strstr(buf_text(&s.out), "EMPTY=\n"));
	cr_expect_null(strstr(buf_text(&s.out), "GEONOSIS_TEST_OURS"));
	buf_release(&s.out);
}

/* Descriptors without close-on-exec lie about everywhere; none gets in. */
Test(shell, no_other_descriptor)
{
	static const int at[] = { 3, 4, 9, 10, 63, 64, 255, 1000 };
	struct spawned s;

	for (size_t i = 0; i < COUNT(at); i++)
		if (fcntl(at[i], F_GETFD) < 0)
			cr_assert_eq(dup2(2, at[i]), at[i]);
	/* Another process looks: the shell has no directory open then. */
	run_plain("ls -C -w 9999 /proc/$$/fd; true", &s);
	cr_expect_str_eq(buf_text(&s.out), "0  1  2\n", "%s", buf_text(&s.out));
	buf_release(&s.out);
}

Test(shell, one_pipe_for_both_outputs)
{
	struct spawned s;
	char in[64], out[64], err[64];

	run_plain("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; true", &s);
	cr_assert_eq(sscanf(buf_text(&s.out), "%63s %63s %63s", in, out, err), 3);
	cr_expect_str_eq(in, "/dev/null");
	cr_expect_eq(strncmp(out, "pipe:", 5), 0);
	cr_expect_str_eq(out, err);
	buf_release(&s.out);
}

Test(shell, session_of_its_own)
{
	int pid, ppid, pgrp, session, tty;
	struct spawned s;

	run_plain("cat /proc/$$/stat; true", &s);
	cr_assert_eq(sscanf(buf_text(&s.out), "%d (%*[^)]) %*c %d %d %d %d", &pid, &ppid,
			    &pgrp, &session, &tty),
		     5);
	cr_expect_eq(pid, s.pid);
	cr_expect_eq(ppid, getpid());
	cr_expect_eq(pgrp, s.pid);
	cr_expect_eq(session, s.pid);
	cr_expect_eq(tty, 0, "no controlling terminal");
	cr_expect_eq(s.session, s.pid, "told in shared memory");
	buf_release(&s.out);
}

static unsigned long long
signal_field(const char *status, const char *name)
{
	const char *p = strstr(status, name);

	cr_assert_not_null(p, "%s", name);
	return strtoull(p + strlen(name), NULL, 16);
}

static void
on_signal(int signo)
{
	(void)signo;
}

static const int ignorable[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR2 };

/* Whatever we block and handle: nothing blocked, and ignored what we ignore (nohup). */
Test(shell, signals_at_its_start)
{
	unsigned long long ignored = 0;
	struct spawned s;
	sigset_t all, saved, after;

	for (size_t i = 0; i < COUNT(ignorable); i++) {
		(void)signal(ignorable[i], SIG_IGN);
		ignored |= 1ULL << (ignorable[i] - 1);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGUSR1, on_signal);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &saved);
	run_plain("exec cat /proc/self/status", &s);
	(void)sigprocmask(SIG_SETMASK, NULL, &after);
	(void)sigprocmask(SIG_SETMASK, &saved, NULL);
	cr_expect_eq(signal_field(buf_text(&s.out), "SigBlk:\t"), 0);
	cr_expect_eq(signal_field(buf_text(&s.out), "SigPnd:\t"), 0);
	cr_expect_eq(signal_field(buf_text(&s.out), "SigIgn:\t"), ignored,
		     "SIGPIPE alone is put back: %llx",
		     signal_field(buf_text(&s.out), "SigIgn:\t"));
	for (int signo = 1; signo < 32; signo++)
		if (signo != SIGKILL && signo != SIGSTOP)
			cr_expect_eq(sigismember(&after, signo), 1, "our mask: %d",
				     signo);
	buf_release(&s.out);
}

Test(shell, our_own_signals_stay_as_they_are)
{
	struct sigaction sa;
	struct spawned s;
	sigset_t some, saved, after;

	(void)signal(SIGUSR1, on_signal);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &some, &saved);
	run_plain("true", &s);
	(void)sigprocmask(SIG_SETMASK, &saved, &after);
	cr_expect_eq(sigismember(&after, SIGTERM), 1);
	cr_expect_eq(sigismember(&after, SIGINT), 0);
	(void)sigaction(SIGUSR1, NULL, &sa);
	cr_expect_eq(sa.sa_handler, on_signal);
	(void)sigaction(SIGHUP, NULL, &sa);
	cr_expect_eq(sa.sa_handler, SIG_IGN);
	buf_release(&s.out);
}

static pid_t
spawn_bad(const char *text, char *const *env, int output_fd)
{
	static _Atomic int session;
	struct shell_start s = {
		.text = text,
		.env = env,
		.output_fd = output_fd,
		.ret_session = &session,
		.parent = getpid(),
	};

	errno = 0;
	return shell_spawn(&s);
}

/* A shell that could not be executed is told by errno, and no child of it stays. */
Test(shell, exec_failure_is_an_errno)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *text = malloc(200001);

	memset(text, ':', 200000);
	text[200000] = '\0';
	cr_expect_eq(spawn_bad(text, plain_env, null), -1);
	cr_expect_eq(errno, E2BIG, "%s", strerror(errno));
	cr_expect_eq(children_count(), 0);
	cr_expect_eq(spawn_bad("true", plain_env, 1000000), -1);
	cr_expect_eq(errno, EBADF);
	cr_expect_eq(spawn_bad("true", plain_env, -1), -1);
	cr_expect_eq(errno, EBADF);
	cr_expect_eq(children_count(), 0);
	free(text);
	fd_close(&null);
}

/* The largest argument that the kernel takes. */
Test(shell, text_as_long_as_can_be)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE) * 32 - 1;
	char *text = malloc(n + 1);
	struct spawned s;

	memset(text, '#', n);
	memcpy(text, "echo x\n", 7);
	text[n] = '\0';
	run_plain(text, &s);
	cr_expect_str_eq(buf_text(&s.out), "x\n");
	buf_release(&s.out);
	free(text);
}

/* Killed by its parent's death: the second net. */
Test(shell, ends_with_its_parent)
{
	int fds[2];
	int status = -1;
	pid_t shell = -1;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		shell = spawn_bad("sleep 1000; true", plain_env, null);
		(void)!write(fds[1], &shell, sizeof(shell));
		for (;;)
			(void)pause();
	}
	cr_assert_eq(read(fds[0], &shell, sizeof(shell)), (ssize_t)sizeof(shell));
	cr_assert_gt(shell, 0);
	(void)kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_eq(waitpid(shell, &status, 0), shell);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
