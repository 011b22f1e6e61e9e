/* SPDX-License-Identifier: MIT */
#include "ipc/fd.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
enter(void)
{
	(void)scratch_enter();
	children_adopt();
}

static void
leave(void)
{
	children_end();
	scratch_leave();
}

TestSuite(fd, .init = enter, .fini = leave);

Test(fd, close)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int was = fd;

	errno = EDOM;
	fd_close(&fd);
	cr_expect_eq(fd, -1);
	cr_expect_eq(errno, EDOM);
	cr_expect_eq(fcntl(was, F_GETFD), -1);
	errno = EDOM;
	fd_close(&fd);
	cr_expect_eq(fd, -1);
	fd = 100000;
	errno = EDOM;
	fd_close(&fd);
	cr_expect_eq(fd, -1);
	cr_expect_eq(errno, EDOM, "errno is kept when close fails, too");
}

Test(fd, write_nothing)
{
	cr_expect_eq(fd_write(-1, NULL, 0), 0);
}

Test(fd, write_fails_with_errno)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	int fds[2];

	cr_expect_eq(fd_write(full, "x", 1), -1);
	cr_expect_eq(errno, ENOSPC);
	(void)close(full);
	cr_expect_eq(fd_write(-1, "x", 1), -1);
	cr_expect_eq(errno, EBADF);
	(void)signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(fds), 0);
	(void)close(fds[0]);
	cr_expect_eq(fd_write(fds[1], "x", 1), -1);
	cr_expect_eq(errno, EPIPE);
	(void)close(fds[1]);
}

static void
on_alarm(int signo)
{
	(void)signo;
}

/* A slow reader and a signal every millisecond: short writes and EINTR. */
Test(fd, write_goes_on_through_signals, .timeout = 30)
{
	enum {
		BYTES = 4 << 20
	};
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, none = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm };
	char *bytes = malloc(BYTES);
	int fds[2];
	int status = -1;
	pid_t pid;

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (char)(i % 251);
	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		static char got[7001];
		size_t at = 0;
		ssize_t n;

		(void)close(fds[1]);
		while ((n = read(fds[0], got, sizeof(got))) > 0) {
			if (memcmp(got, bytes + at, (size_t)n) != 0)
				_exit(1);
			at += (size_t)n;
			(void)usleep(20);
		}
		_exit(at == BYTES ? 0 : 2);
	}
	(void)close(fds[0]);
	(void)sigaction(SIGALRM, &sa, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	cr_expect_eq(fd_write(fds[1], bytes, BYTES), 0);
	(void)setitimer(ITIMER_REAL, &none, NULL);
	(void)close(fds[1]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "%x", (unsigned)status);
	free(bytes);
}
