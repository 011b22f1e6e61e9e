/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/space.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/ground.h"

/* --- entering --- */

static int
file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fd_write(fd, text, strlen(text));

	fd_close(&fd);
	return rc;
}

/* Our own numbers and no others: it is all that the kernel lets a user map. */
static int
space_map_user(uid_t uid, gid_t gid)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
	if (file_put("/proc/self/uid_map", text) < 0)
		return -1;
	/* Without this a user may not map a group. */
	if (file_put("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
		return -1;
	(void)snprintf(text, sizeof(text), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
	return file_put("/proc/self/gid_map", text);
}

static int
space_make_private(void)
{
	return mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/*
 * There is no way back from a user namespace that does not map us, or that may not mount
 * (root without CAP_SETFCAP, some security modules): a child tries it first.
 */
static bool
space_is_open_to_users(uid_t uid, gid_t gid)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		bool is = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
			  space_map_user(uid, gid) == 0 && space_make_private() == 0;

		_exit(is ? 0 : 1);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

int
space_enter(bool *ret_is_user, struct error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool is_user = false;

	if (unshare(CLONE_NEWNS) < 0) {
		if (!space_is_open_to_users(uid, gid))
			return error_set(err, ERROR_SYSTEM,
					 "there is neither a mount namespace nor a user "
					 "namespace for us");
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return error_system(err, "mount namespace");
		is_user = true;
		if (space_map_user(uid, gid) < 0)
			return error_system(err, "user namespace");
	}
	if (space_make_private() < 0)
		return error_system(err, "mount namespace: private");
	*ret_is_user = is_user;
	return 0;
}

/* --- read-only --- */

static int
mount_read_only(const char *path)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0)
		return -1;
	return mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &attr, sizeof(attr));
}

int
space_guard(const char *path, const char *except, struct error *err)
{
	int fd = -1;
	int rc = -1;

	/* A mount of its own, taken while it can be written to. */
	if (except != NULL)
		fd = open_tree(AT_FDCWD, except, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if ((except != NULL && fd < 0) || mount_read_only(path) < 0 ||
	    (except != NULL &&
	     move_mount(fd, "", AT_FDCWD, except, MOVE_MOUNT_F_EMPTY_PATH) < 0))
		(void)error_system(err, "%s: cannot be made read-only", path);
	else
		rc = 0;
	fd_close(&fd);
	return rc;
}

/* --- what is mounted --- */

/* The kernel writes blanks and backslashes as octal digits. */
static char *
field_unescape(const char *s, size_t n)
{
	char *text = xmalloc(n + 1);
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		unsigned byte;

		if (s[i] == '\\' && i + 3 < n && sscanf(s + i + 1, "%3o", &byte) == 1) {
			text[k++] = (char)(unsigned char)byte;
			i += 3;
		} else {
			text[k++] = s[i];
		}
	}
	text[k] = '\0';
	return text;
}

/* `36 35 98:0 /root /mount/point options …`: the fifth field. */
static char *
line_mount_point(const char *line)
{
	int i;

	for (i = 0; i < 4; i++) {
		line += strcspn(line, " \n");
		if (*line != ' ')
			return NULL;
		line++;
	}
	return field_unescape(line, strcspn(line, " \n"));
}

static void
mounts_add(struct mounts *m, const char *path)
{
	size_t i;

	/* What is mounted twice over shows its last mount. */
	for (i = 0; i < m->npaths; i++)
		if (strcmp(m->paths[i], path) == 0)
			return;
	m->paths = xgrow(m->paths, m->npaths + 1, &m->room, sizeof(*m->paths));
	m->paths[m->npaths++] = xstrdup(path);
}

/* A parent is a prefix, and shorter: it comes first in bytewise order. */
static int
path_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
mounts_parse(const char *text, const char *dir, struct mounts *ret_mounts)
{
	struct mounts m = MOUNTS_INIT;
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	while (*text != '\0') {
		char *point = line_mount_point(text);

		if (point != NULL && path_lies_in(point, dir) && point[n] == '/' &&
		    point[n + 1] != '\0')
			mounts_add(&m, point + n + 1);
		free(point);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	if (m.npaths > 1)
		qsort(m.paths, m.npaths, sizeof(*m.paths), path_compare);
	*ret_mounts = m;
}

int
mounts_find(const char *dir, struct mounts *ret_mounts, struct error *err)
{
	static const char path[] = "/proc/self/mountinfo";
	struct buf text = BUF_INIT;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[8192];
	ssize_t n = 0;

	if (fd < 0)
		return error_system(err, "%s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_append(&text, chunk, (size_t)n);
	fd_close(&fd);
	if (n == 0)
		mounts_parse(buf_text(&text), dir, ret_mounts);
	else
		(void)error_system(err, "%s", path);
	buf_release(&text);
	return n == 0 ? 0 : -1;
}

void
mounts_release(struct mounts *m)
{
	size_t i;

	for (i = 0; i < m->npaths; i++)
		free(m->paths[i]);
	free(m->paths);
	*m = (struct mounts)MOUNTS_INIT;
}
