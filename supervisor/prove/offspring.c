/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/offspring.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/error.h"
#include "ipc/fd.h"
#include "ipc/process.h"
#include "supervisor/run/turn.h"

enum {
	OFFSPRING_TICK_MS = 2,
};

static bool
is_of_run(pid_t pid, const char *id)
{
	char *chain = process_variable(pid, TURN_CHAIN_VARIABLE);
	bool is = chain != NULL && strstr(chain, id) != NULL;

	free(chain);
	return is;
}

/* How many there were.  By descriptor: its number may be another's meanwhile. */
static size_t
run_kill(const char *id)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	if (dir == NULL)
		return 0;
	while ((e = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		int fd = pid > 1 && pid != getpid() ? pidfd_open(pid, 0) : -1;

		if (fd >= 0 && is_of_run(pid, id) &&
		    pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0)
			n++;
		fd_close(&fd);
	}
	(void)closedir(dir);
	return n;
}

/* Our child's number is not used again before we have reaped it. */
static void
children_kill(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 1 && process_parent(pid) == getpid())
			(void)kill(pid, SIGKILL);
	}
	(void)closedir(dir);
}

/* False when there is no child left at all. */
static bool
children_reap(void)
{
	siginfo_t si;

	for (;;) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG) < 0)
			return errno != ECHILD;
		if (si.si_pid == 0)
			return true;
	}
}

void
offspring_end(int limit_ms)
{
	int64_t deadline = clock_now_ms() + limit_ms;

	while (children_reap() && clock_now_ms() < deadline) {
		children_kill();
		(void)poll(NULL, 0, OFFSPRING_TICK_MS);
	}
}

void
offspring_end_run(const char *id, int limit_ms)
{
	int64_t deadline = clock_now_ms() + limit_ms;
	int nothing = 0;
	siginfo_t si;

	/* Mostly there is no child at all, and nothing to look for. */
	if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0)
		return;
	/* One that is born while we look may be missed once. */
	while (nothing < 2 && clock_now_ms() < deadline) {
		nothing = run_kill(id) > 0 ? 0 : nothing + 1;
		(void)poll(NULL, 0, OFFSPRING_TICK_MS);
	}
}
