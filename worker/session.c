/* SPDX-License-Identifier: MIT */
#include "worker/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"

enum {
	SESSION_TICK_MS = 5
};

/*
 * Is the process in that session, and alive?  A zombie whose num_threads is above one
 * is a leader that left threads behind: those still run.
 */
static bool
process_is_member(int proc_fd, const char *pid, pid_t session)
{
	char path[64], text[512];
	const char *p;
	char state;
	int sid, threads;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/stat", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The command's name, in parentheses, may hold anything: read after the last. */
	p = strrchr(text, ')');
	if (p == NULL ||
	    sscanf(
		p + 1,
		" %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
		&state, &sid, &threads) != 3)
		return false;
	if (sid != session)
		return false;
	return state != 'X' && (state != 'Z' || threads > 1);
}

/* True when a process of the session was there to be signalled. */
static bool
process_signal(int proc_fd, const char *name, pid_t session, int signo)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	bool is_member;
	int fd;

	if (pid <= 1 || pid == getpid() || !process_is_member(proc_fd, name, session))
		return false;
	if (signo == 0)
		return true;
	fd = pidfd_open(pid, 0);
	if (fd < 0)
		return errno != ESRCH;
	is_member = process_is_member(proc_fd, name, session);
	if (is_member)
		(void)pidfd_send_signal(fd, signo, NULL, 0);
	fd_close(&fd);
	return is_member;
}

int
session_signal(pid_t session, int signo)
{
	struct dirent *e;
	int count = 0;
	DIR *proc;

	if (session <= 1)
		return 0;
	proc = opendir("/proc");
	if (proc == NULL)
		return -1;
	while ((e = readdir(proc)) != NULL) {
		if (isdigit((unsigned char)e->d_name[0]) &&
		    process_signal(dirfd(proc), e->d_name, session, signo))
			count++;
	}
	(void)closedir(proc);
	return count;
}

int
session_kill(pid_t session, int limit_ms)
{
	int64_t deadline = clock_now_ms() + limit_ms;
	int left;

	for (;;) {
		left = session_signal(session, SIGKILL);
		if (left <= 0 || clock_now_ms() >= deadline)
			return left > 0 ? left : 0;
		(void)poll(NULL, 0, SESSION_TICK_MS);
	}
}
