/* SPDX-License-Identifier: MIT */
#include "worker/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	SESSION_TICK_MS = 2,
	/* Looks that met only what was dying (on a busy machine, somebody else's). */
	SESSION_RESTLESS_MAX = 20,
};

struct session_process {
	pid_t pid;
	uint64_t begun; /* clock ticks since boot */
};

enum membership {
	MEMBER_NOT,
	MEMBER_ALIVE,
	MEMBER_DYING, /* a zombie of the session, or one that ended as it was looked at */
};

/*
 * A zombie whose num_threads is above one is a leader that left threads behind: those
 * still run.
 */
static enum membership
process_membership(int proc_fd, const char *pid, pid_t session, uint64_t *ret_begun)
{
	char path[64], text[512];
	const char *p;
	char state;
	unsigned long long begun;
	int sid, threads;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/stat", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? MEMBER_DYING : MEMBER_NOT;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return MEMBER_DYING;
	text[n] = '\0';
	/* The command's name, in parentheses, may hold anything: read after the last. */
	p = strrchr(text, ')');
	if (p == NULL || sscanf(p + 1,
				" %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
				"%*d %*d %*d %d %*d %llu",
				&state, &sid, &threads, &begun) != 4)
		return MEMBER_NOT;
	if (sid != session)
		return MEMBER_NOT;
	*ret_begun = begun;
	return state == 'X' || (state == 'Z' && threads <= 1) ? MEMBER_DYING
							      : MEMBER_ALIVE;
}

/* True when it is new: it is remembered. */
static bool
seen_add(struct session_seen *seen, pid_t pid, uint64_t begun)
{
	size_t i;

	for (i = 0; i < seen->nitems; i++)
		if (seen->items[i].pid == pid && seen->items[i].begun == begun)
			return false;
	seen->items =
	    xgrow(seen->items, seen->nitems + 1, &seen->room, sizeof(*seen->items));
	seen->items[seen->nitems++] = (struct session_process){ pid, begun };
	return true;
}

/* `seen` NULL: everybody; else those that are not in it, who are counted alone. */
static enum membership
process_signal(int proc_fd, const char *name, pid_t session, int signo,
	       struct session_seen *seen, struct session_seen *dead)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	enum membership m;
	uint64_t begun = 0;
	int fd;

	if (pid <= 1 || pid == getpid())
		return MEMBER_NOT;
	m = process_membership(proc_fd, name, session, &begun);
	/* A zombie that was one at an earlier look has forked nobody since. */
	if (m == MEMBER_DYING && dead != NULL && begun != 0)
		return seen_add(dead, pid, begun) ? MEMBER_DYING : MEMBER_NOT;
	if (m != MEMBER_ALIVE || (signo == 0 && seen == NULL))
		return m;
	fd = pidfd_open(pid, 0);
	if (fd < 0)
		return errno == ESRCH ? MEMBER_DYING : MEMBER_ALIVE;
	m = process_membership(proc_fd, name, session, &begun);
	if (m == MEMBER_ALIVE && seen != NULL && !seen_add(seen, pid, begun))
		m = MEMBER_NOT;
	if (m == MEMBER_ALIVE)
		(void)pidfd_send_signal(fd, signo, NULL, 0);
	fd_close(&fd);
	return m;
}

static struct session_scan
session_scan(pid_t session, int signo, struct session_seen *seen,
	     struct session_seen *dead)
{
	struct session_scan scan = { 0, 0 };
	struct dirent *e;
	DIR *proc;

	if (session <= 1)
		return scan;
	proc = opendir("/proc");
	if (proc == NULL)
		return (struct session_scan){ -1, 0 };
	while ((e = readdir(proc)) != NULL) {
		enum membership m = MEMBER_NOT;

		if (isdigit((unsigned char)e->d_name[0]))
			m = process_signal(dirfd(proc), e->d_name, session, signo, seen,
					   dead);
		scan.alive += m == MEMBER_ALIVE;
		scan.dying += m == MEMBER_DYING;
	}
	(void)closedir(proc);
	return scan;
}

struct session_scan
session_signal(pid_t session, int signo)
{
	return session_scan(session, signo, NULL, NULL);
}

struct session_scan
session_signal_new(pid_t session, int signo, struct session_seen *seen)
{
	return session_scan(session, signo, seen, NULL);
}

void
session_seen_release(struct session_seen *seen)
{
	free(seen->items);
	*seen = (struct session_seen)SESSION_SEEN_INIT;
}

int
session_kill(pid_t session, int limit_ms)
{
	int64_t deadline = clock_now_ms() + limit_ms;
	struct session_seen dead = SESSION_SEEN_INIT;
	struct session_scan scan;
	int restless = 0;
	int left = 0;

	for (;;) {
		scan = session_scan(session, SIGKILL, NULL, &dead);
		if (scan.alive < 0)
			break;
		restless = scan.alive > 0 ? 0 : restless + 1;
		if (scan.alive == 0 &&
		    (scan.dying == 0 || restless >= SESSION_RESTLESS_MAX))
			break;
		if (clock_now_ms() >= deadline) {
			left = scan.alive;
			break;
		}
		/* One that flees from scan to scan is met sooner without a rest. */
		if (scan.alive > 0)
			(void)poll(NULL, 0, SESSION_TICK_MS);
	}
	session_seen_release(&dead);
	return left;
}
