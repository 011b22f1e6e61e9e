/* SPDX-License-Identifier: MIT */
#include "supervisor/run/logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"

#define LOGS_PARENT ".geonosis"

/* Directories in a log directory are not ours; so deep they are removed all the same. */
enum {
	LOGS_DEPTH_MAX = 32
};

static void dir_empty(int dir_fd, unsigned depth);

static void
entry_remove(int dir_fd, const char *name, unsigned depth)
{
	int fd;

	if (unlinkat(dir_fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && depth < LOGS_DEPTH_MAX)
		dir_empty(fd, depth + 1);
	fd_close(&fd);
	(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static void
dir_empty(int dir_fd, unsigned depth)
{
	/* fdopendir takes its descriptor. */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (dir == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			entry_remove(dir_fd, e->d_name, depth);
	(void)closedir(dir);
}

/* Open a directory below another, made where it is missing; -1 with errno. */
static int
dir_open(int parent_fd, const char *name)
{
	if (mkdirat(parent_fd, name, 0777) < 0 && errno != EEXIST)
		return -1;
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int
logs_open(const char *tier, char **ret_path, int *ret_fd, struct error *err)
{
	int top = -1, logs = -1, dir = -1;
	int rc = -1;

	if (mkdir(LOGS_PARENT, 0777) < 0 && errno != EEXIST) {
		(void)error_system(err, LOGS_PARENT);
		goto out;
	}
	/* The directory itself may be a link to where its owner wants it. */
	top = open(LOGS_PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0) {
		(void)error_system(err, LOGS_PARENT);
		goto out;
	}
	logs = dir_open(top, "logs");
	if (logs < 0) {
		(void)error_system(err, LOGS_PARENT "/logs");
		goto out;
	}
	dir = dir_open(logs, tier);
	if (dir < 0) {
		(void)error_system(err, LOGS_PARENT "/logs/%s", tier);
		goto out;
	}
	dir_empty(dir, 0);
	*ret_path = xasprintf(LOGS_PARENT "/logs/%s", tier);
	*ret_fd = dir;
	dir = -1;
	rc = 0;
out:
	fd_close(&top);
	fd_close(&logs);
	fd_close(&dir);
	return rc;
}
