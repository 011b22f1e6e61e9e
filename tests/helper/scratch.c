/* SPDX-License-Identifier: MIT */
#include "tests/helper/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"

enum {
	TICK_MS = 2,
	DEPTH_MAX = 64,
};

static char scratch[256];
static char mounted[512];

const char *
scratch_enter(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(scratch, sizeof(scratch), "%s/geonosis-test-XXXXXX",
		       tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	if (mkdtemp(scratch) == NULL || chdir(scratch) < 0)
		abort();
	return scratch;
}

static int
entry_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	(void)remove(path);
	return 0;
}

void
scratch_leave(void)
{
	if (mounted[0] != '\0')
		(void)umount2(mounted, MNT_DETACH);
	if (scratch[0] == '\0' || chdir("/") < 0)
		return;
	(void)nftw(scratch, entry_remove, DEPTH_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void
scratch_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

char *
scratch_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (f == NULL)
		return NULL;
	if (getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = calloc(1, 1);
	}
	(void)fclose(f);
	return text;
}

int
scratch_count(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	(void)closedir(d);
	return n;
}

bool
scratch_mount(const char *path, size_t bytes)
{
	char options[64];

	(void)snprintf(options, sizeof(options), "size=%zu", bytes);
	if (mkdir(path, 0777) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("scratch", path, "tmpfs", 0, options) < 0)
		return false;
	(void)snprintf(mounted, sizeof(mounted), "%s/%s", scratch, path);
	return true;
}

bool
await(bool (*is_so)(void *ctx), void *ctx, int ms)
{
	int64_t deadline = clock_now_ms() + ms;

	while (!is_so(ctx)) {
		if (clock_now_ms() >= deadline)
			return false;
		(void)poll(NULL, 0, TICK_MS);
	}
	return true;
}

bool
file_is_there(void *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size > 0;
}

bool
await_readable(int fd, int ms)
{
	int64_t deadline = clock_now_ms() + ms;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&p, 1, clock_timeout_ms(deadline));
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

void
children_adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The children's pids; how many there are, at most `room`. */
static int
children_list(pid_t *pids, int room)
{
	char path[64];
	FILE *f;
	int n = 0;
	int pid;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	if (f == NULL)
		abort();
	while (n < room && fscanf(f, "%d", &pid) == 1)
		pids[n++] = pid;
	(void)fclose(f);
	return n;
}

int
children_count(void)
{
	pid_t pids[256];

	return children_list(pids, 256);
}

void
children_end(void)
{
	int64_t deadline = clock_now_ms() + 10000;
	pid_t pids[256];
	int i, n;

	while ((n = children_list(pids, 256)) > 0 && clock_now_ms() < deadline) {
		for (i = 0; i < n; i++) {
			(void)kill(pids[i], SIGKILL);
			(void)waitpid(pids[i], NULL, 0);
		}
	}
}
