/* SPDX-License-Identifier: MIT */
#include "ipc/signals.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

static struct signals signals_now;

static void
open_signals(void)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(signals_open(&signals_now, &err), 0, "%s", err.text);
}

Test(signals, each_is_read_once)
{
	open_signals();
	cr_expect_eq(signals_read(&signals_now), 0, "none has come");
	cr_expect_not(await_readable(signals_now.fd, 0));
	for (size_t i = 0; i < COUNT(ending); i++) {
		(void)raise(ending[i]);
		cr_expect(await_readable(signals_now.fd, 0), "%d", ending[i]);
		cr_expect_eq(signals_read(&signals_now), ending[i]);
		cr_expect_eq(signals_read(&signals_now), 0, "%d again", ending[i]);
	}
	signals_close(&signals_now);
}

Test(signals, several_at_once_are_all_read)
{
	unsigned seen = 0;

	open_signals();
	for (size_t i = 0; i < COUNT(ending); i++)
		(void)kill(getpid(), ending[i]);
	for (size_t i = 0; i < COUNT(ending); i++)
		seen |= 1U << signals_read(&signals_now);
	cr_expect_eq(seen, 1U << SIGINT | 1U << SIGTERM | 1U << SIGHUP);
	cr_expect_eq(signals_read(&signals_now), 0);
}

Test(signals, one_that_was_ignored_stays_ignored)
{
	for (size_t i = 0; i < COUNT(ending); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct error err = ERROR_INIT;
			struct sigaction sa;
			struct signals s;

			(void)signal(ending[i], SIG_IGN);
			if (signals_open(&s, &err) < 0)
				_exit(2);
			(void)raise(ending[i]);
			if (signals_read(&s) != 0)
				_exit(3);
			(void)sigaction(ending[i], NULL, &sa);
			if (sa.sa_handler != SIG_IGN)
				_exit(5);
			(void)raise(ending[(i + 1) % COUNT(ending)]);
			_exit(signals_read(&s) == ending[(i + 1) % COUNT(ending)] ? 0
										  : 6);
		} else {
			int status = -1;

			cr_assert_eq(waitpid(pid, &status, 0), pid);
			cr_expect_eq(status, 0, "signal %d: status %x", ending[i],
				     (unsigned)status);
		}
	}
}

Test(signals, no_other_disposition_changes)
{
	struct sigaction before[NSIG], now;

	for (int signo = 1; signo < NSIG; signo++)
		if (sigaction(signo, NULL, &before[signo]) < 0)
			before[signo].sa_handler = SIG_DFL;
	open_signals();
	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGPIPE && signo != SIGCHLD &&
		    sigaction(signo, NULL, &now) == 0)
			cr_expect_eq(now.sa_handler, before[signo].sa_handler, "%d",
				     signo);
}

Test(signals, descriptor_is_closed_on_exec_and_never_blocks)
{
	open_signals();
	cr_expect_eq(fcntl(signals_now.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	cr_expect_eq(fcntl(signals_now.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	signals_close(&signals_now);
	cr_expect_eq(signals_now.fd, -1);
	cr_expect_eq(signals_read(&signals_now), 0);
	signals_close(&signals_now);
}

Test(signals, reader_that_leaves_is_an_error_of_write)
{
	int fds[2];

	(void)signal(SIGPIPE, SIG_DFL);
	open_signals();
	cr_assert_eq(pipe(fds), 0);
	(void)close(fds[0]);
	cr_expect_eq(write(fds[1], "x", 1), -1);
	(void)close(fds[1]);
}

/* With SIGCHLD ignored by whoever started us, no exit could be waited for. */
Test(signals, children_can_be_waited_for)
{
	int status = -1;
	pid_t pid;

	(void)signal(SIGCHLD, SIG_IGN);
	open_signals();
	pid = fork();
	if (pid == 0)
		_exit(7);
	cr_expect_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
