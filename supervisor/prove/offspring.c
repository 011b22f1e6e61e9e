/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/offspring.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"

enum {
	OFFSPRING_TICK_MS = 2
};

/* The parent of a process, 0 where that cannot be told, or it is dead. */
static pid_t
process_parent(const char *pid)
{
	char path[64], text[512];
	const char *p;
	char state;
	int parent = 0;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')');
	if (p == NULL || sscanf(p + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
		return 0;
	return parent;
}

/* Our child's number is not used again before we have reaped it. */
static void
children_kill(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    process_parent(e->d_name) == getpid())
			(void)kill((pid_t)strtol(e->d_name, NULL, 10), SIGKILL);
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
