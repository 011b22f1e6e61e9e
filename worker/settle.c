/* SPDX-License-Identifier: MIT */
#include "worker/settle.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Close everything but 0, 1, 2 and two descriptors (each may be -1). */
static void
close_others(int a, int b)
{
	int low = a < b ? a : b;
	int high = a < b ? b : a;
	unsigned next = 3;

	if (low >= 3) {
		if ((unsigned)low > next)
			(void)close_range(next, (unsigned)low - 1, 0);
		next = (unsigned)low + 1;
	}
	if (high >= 3 && (unsigned)high >= next) {
		if ((unsigned)high > next)
			(void)close_range(next, (unsigned)high - 1, 0);
		next = (unsigned)high + 1;
	}
	(void)close_range(next, ~0U, 0);
}

static void
drop_handler(int signo)
{
	struct sigaction sa;

	if (sigaction(signo, NULL, &sa) == 0 && sa.sa_handler != SIG_IGN &&
	    sa.sa_handler != SIG_DFL)
		(void)signal(signo, SIG_DFL);
}

/* A caller without standard descriptors: ours would be lost under /dev/null. */
static int
fd_above_standard(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

void
settle_worker(int *sock, int *log_dir_fd)
{
	sigset_t all;
	int null, fd, signo;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	/* A name apart: `pkill -KILL geonosis` is to leave the one who ends the step. */
	(void)prctl(PR_SET_NAME, "gn-worker");
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Handlers of whoever forked us are not for us, nor for a child that shares our
	 * memory. */
	for (signo = 1; signo < NSIG; signo++)
		drop_handler(signo);
	*sock = fd_above_standard(*sock);
	*log_dir_fd = fd_above_standard(*log_dir_fd);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	close_others(*sock, *log_dir_fd);
}
