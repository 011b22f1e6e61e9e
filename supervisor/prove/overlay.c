/* SPDX-License-Identifier: MIT */
/*
 * Layers are named to the kernel by descriptors, /proc/self/fd/…: no colon or comma of a
 * path has to be escaped, and a mount below the tree can be a lower layer after the tree
 * itself has been covered.
 */
#include "supervisor/prove/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/manifest.h"

char *
overlay_upper(const char *store, size_t n)
{
	return xasprintf("%s/upper-%zu", store, n);
}

/* --- layers --- */

/* Overlayfs has the root of the upper layer stand for the root of the copy. */
static int
directory_like(const char *path, const char *model)
{
	struct stat st;

	if (stat(model, &st) < 0 || (mkdir(path, 0700) < 0 && errno != EEXIST))
		return -1;
	if ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    chown(path, st.st_uid, st.st_gid) < 0)
		return -1;
	return chmod(path, st.st_mode & 07777);
}

static int
layer_make(const char *store, size_t n, const char *lower)
{
	char *upper = overlay_upper(store, n);
	char *work = xasprintf("%s/work-%zu", store, n);
	int rc = directory_like(upper, lower);

	if (rc == 0 && mkdir(work, 0700) < 0)
		rc = -1;
	free(work);
	free(upper);
	return rc;
}

/* What the copy must not have is hidden by a device file without a number. */
static int
whiteout(const char *path)
{
	return mknod(path, S_IFCHR, makedev(0, 0));
}

static bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* The directories from the root of the layer down to the working directory. */
static int
layer_make_way(const struct ground *g, const char *upper)
{
	size_t at = 0, n = strlen(g->rel);
	int rc = 0;

	while (at < n && rc == 0) {
		char *path, *model;

		at += strcspn(g->rel + at, "/");
		path = xasprintf("%s/%.*s", upper, (int)at, g->rel);
		model = xasprintf("%s/%.*s", g->root, (int)at, g->rel);
		rc = directory_like(path, model);
		free(model);
		free(path);
		at += at < n;
	}
	return rc;
}

static int
layer_hide(const struct ground *g, const char *upper)
{
	char *git = xasprintf("%s/.git", g->root);
	char *own = xasprintf("%s/.geonosis", g->dir);
	char *path;
	int rc = 0;

	if (exists(git)) {
		path = xasprintf("%s/.git", upper);
		rc = whiteout(path);
		free(path);
	}
	if (rc == 0 && exists(own)) {
		path = xasprintf("%s/%s/.geonosis", upper, g->rel);
		rc = layer_make_way(g, upper) < 0 ? -1 : whiteout(path);
		free(path);
	}
	free(own);
	free(git);
	return rc;
}

/* Without these an opaque directory cannot be marked, and fails when it is made. */
static int
layer_probe(const char *upper, bool is_user)
{
	const char *name = is_user ? "user.overlay.probe" : "trusted.overlay.probe";

	if (setxattr(upper, name, "", 0, 0) < 0)
		return -1;
	return removexattr(upper, name);
}

/* --- whose files --- */

/*
 * In a user namespace only our own numbers are known: what belongs to us and to another
 * group, or a directory of somebody else's, cannot be written to through an overlay.
 */
static int
tree_is_ours(const char *root, struct error *err)
{
	struct manifest m = MANIFEST_INIT;
	bool ours = true;
	size_t i;

	if (manifest_take(root, &m, err) < 0)
		return -1;
	for (i = 0; i < m.nentries && ours; i++) {
		const struct manifest_entry *e = &m.entries[i];

		if (e->uid == geteuid())
			ours = e->gid == getegid();
		else
			ours = !S_ISDIR(e->mode);
		if (!ours)
			(void)error_set(err, ERROR_SYSTEM,
					"overlay: %s: of a user or a group that a user "
					"namespace does not know",
					e->path);
	}
	manifest_release(&m);
	return ours ? 1 : 0;
}

/* --- mounting --- */

/* As much as this kernel takes. */
static const char *const option_sets[2][3] = {
	{ ",redirect_dir=on,metacopy=off,index=off,volatile",
	  ",redirect_dir=on,metacopy=off,index=off", "" },
	{ ",userxattr,volatile", ",userxattr", ",userxattr" },
};

static int
layer_mount(const char *target, int lower_fd, int upper_fd, int work_fd, bool is_user)
{
	char options[256];
	size_t i;

	for (i = 0; i < 3; i++) {
		(void)snprintf(options, sizeof(options),
			       "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,"
			       "workdir=/proc/self/fd/%d%s",
			       lower_fd, upper_fd, work_fd, option_sets[is_user][i]);
		if (mount("overlay", target, "overlay", 0, options) == 0)
			return 0;
		if (errno != EINVAL)
			return -1;
	}
	return -1;
}

/* Lay layer n over what `lower_fd` is, at `target`. */
static int
overlay_lay(const struct overlay_setup *s, size_t n, const char *target, int lower_fd,
	    bool is_user)
{
	char *upper = overlay_upper(s->store, n);
	char *work = xasprintf("%s/work-%zu", s->store, n);
	int upper_fd = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int work_fd = open(work, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = -1;

	if (upper_fd >= 0 && work_fd >= 0 && layer_probe(upper, is_user) == 0)
		rc = layer_mount(target, lower_fd, upper_fd, work_fd, is_user);
	fd_close(&work_fd);
	fd_close(&upper_fd);
	free(work);
	free(upper);
	return rc;
}

/* What can have no layer (a file, a special file system) is there to be read. */
static int
overlay_show(const char *target, int lower_fd)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int fd =
	    open_tree(lower_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int rc = -1;

	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		rc = move_mount(fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
	fd_close(&fd);
	return rc;
}

static int
overlay_mount_below(const struct overlay_setup *s, const int *lower_fds, bool is_user,
		    struct error *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < s->mounts->npaths && rc == 0; i++) {
		char *target = xasprintf("%s/%s", s->ground->root, s->mounts->paths[i]);

		/* One that cannot be opened is covered by another, or not for us. */
		if (lower_fds[i] >= 0 &&
		    overlay_lay(s, i + 1, target, lower_fds[i], is_user) < 0 &&
		    overlay_show(target, lower_fds[i]) < 0)
			rc = error_system(err, "overlay: %s", target);
		free(target);
	}
	return rc;
}

static int
overlay_guard_git(const struct ground *g, struct error *err)
{
	const char *const dirs[] = { g->git_dir, g->common_dir };
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dirs[i] != NULL && !path_lies_in(dirs[i], g->root) &&
		    space_guard(dirs[i], NULL, err) < 0)
			return -1;
	return 0;
}

/* In the space. */
static int
overlay_mount(const struct overlay_setup *s, bool is_user, struct error *err)
{
	const char *root = s->ground->root;
	int *fds = xcalloc(s->mounts->npaths + 1, sizeof(*fds));
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;
	size_t i;

	for (i = 0; i < s->mounts->npaths; i++) {
		char *path = xasprintf("%s/%s", root, s->mounts->paths[i]);

		fds[i] = open(path, O_PATH | O_CLOEXEC);
		free(path);
	}
	if (root_fd < 0 || overlay_lay(s, 0, root, root_fd, is_user) < 0)
		(void)error_system(err, "overlay: %s", root);
	else
		rc = overlay_mount_below(s, fds, is_user, err) == 0 &&
			     overlay_guard_git(s->ground, err) == 0
			 ? 1
			 : -1;
	for (i = 0; i < s->mounts->npaths; i++)
		fd_close(&fds[i]);
	fd_close(&root_fd);
	free(fds);
	return rc;
}

static int
overlay_prepare(const struct overlay_setup *s, struct error *err)
{
	char *upper = overlay_upper(s->store, 0);
	int rc = layer_make(s->store, 0, s->ground->root);
	size_t i;

	if (rc == 0)
		rc = layer_hide(s->ground, upper);
	for (i = 0; i < s->mounts->npaths && rc == 0; i++) {
		char *lower = xasprintf("%s/%s", s->ground->root, s->mounts->paths[i]);
		struct stat st;

		if (stat(lower, &st) == 0 && S_ISDIR(st.st_mode))
			rc = layer_make(s->store, i + 1, lower);
		free(lower);
	}
	if (rc < 0)
		(void)error_system(err, "overlay: %s", s->store);
	free(upper);
	return rc;
}

int
overlay_make(const struct overlay_setup *s, bool *ret_is_in, bool *ret_is_user,
	     struct error *err)
{
	const struct ground *g = s->ground;
	int ours = 1;

	*ret_is_in = *ret_is_user = false;
	if (path_lies_in(s->store, g->root)) {
		(void)error_set(err, ERROR_SYSTEM, "overlay: TMPDIR lies in the tree");
		return 0;
	}
	if (geteuid() != 0)
		ours = tree_is_ours(g->root, err);
	if (ours != 1 || overlay_prepare(s, err) < 0 || space_enter(ret_is_user, err) < 0)
		return 0;
	*ret_is_in = true;
	if (geteuid() == 0 && *ret_is_user && tree_is_ours(g->root, err) != 1)
		return 0;
	return overlay_mount(s, *ret_is_user, err);
}
