/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/offspring.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/process.h"

enum {
	OFFSPRING_TICK_MS = 2
};

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
