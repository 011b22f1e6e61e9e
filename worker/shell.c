/* SPDX-License-Identifier: MIT */
/*
 * The child shares our memory until it executes (vfork): it may only make
 * system calls and write what it was told to.  Between fork and exec nothing
 * allocates, and no library keeps state.
 */
#include "worker/shell.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/worker.h"

/* A shell's name for what is executed; POSIX has it there. */
#define SHELL_PATH "/bin/sh"

/*
 * What our caller ignored stays ignored (nohup), and exec puts handlers back by itself.
 * SIGPIPE we ignore ourselves, and many callers do; a command that is not ended by it
 * would go on writing to a reader that has left.
 */
static void
child_reset_signals(void)
{
	sigset_t none;

	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* No descriptor of ours, or of whoever started us, is for the command. */
static void
child_close_others(unsigned first)
{
	int fd;

	if (close_range(first, ~0U, 0) == 0)
		return;
	for (fd = (int)sysconf(_SC_OPEN_MAX) - 1; fd >= (int)first; fd--)
		(void)close(fd);
}

/* 0, or -1 with errno. */
static int
child_set_descriptors(const struct shell_start *s)
{
	unsigned first = 3;

	if (dup2(s->output_fd, 1) < 0 || dup2(s->output_fd, 2) < 0)
		return -1;
	if (s->jobserver[0] > WORKER_JOBSERVER_WRITE) {
		if (dup2(s->jobserver[0], WORKER_JOBSERVER_READ) < 0 ||
		    dup2(s->jobserver[1], WORKER_JOBSERVER_WRITE) < 0)
			return -1;
		first = WORKER_JOBSERVER_WRITE + 1;
	}
	child_close_others(first);
	return 0;
}

static _Noreturn void
child_execute(const struct shell_start *s, volatile int *ret_errno)
{
	/* In variables of its own: exec wants them writable. */
	static char name[] = "sh", flag[] = "-c";
	char *argv[4] = { name, flag, NULL, NULL };

	memcpy(&argv[2], &s->text, sizeof(argv[2]));
	(void)setsid();
	atomic_store(s->ret_session, (int)getpid());
	/* The second net under the worker's own care: it holds only for this process. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Killed before that: nobody watches, and nobody knows of this session. */
	if (getppid() != s->parent)
		_exit(127);
	if (child_set_descriptors(s) < 0) {
		*ret_errno = errno;
		_exit(127);
	}
	child_reset_signals();
	(void)execve(SHELL_PATH, argv, s->env);
	*ret_errno = errno;
	_exit(127);
}

pid_t
shell_spawn(const struct shell_start *s)
{
	volatile int failed = 0;
	sigset_t all, saved;
	pid_t pid;

	/* No handler may run in the child while it shares our memory. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &saved);
	pid = vfork();
	if (pid == 0)
		child_execute(s, &failed);
	(void)sigprocmask(SIG_SETMASK, &saved, NULL);
	if (pid > 0 && failed != 0) {
		(void)waitpid(pid, NULL, 0);
		errno = failed;
		return -1;
	}
	return pid;
}
