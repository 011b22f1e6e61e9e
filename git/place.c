/* SPDX-License-Identifier: MIT */
#include "git/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	POINTER_MAX = 1 << 16 /* bytes of a `.git` or `commondir` file */
};

static char *
path_join(const char *dir, const char *below)
{
	return *below == '/' ? xstrdup(below) : xasprintf("%s/%s", dir, below);
}

/* The first line of a small file: 1, 0 no such file, -1. */
static int
line_read(const char *path, char **ret_line, struct error *err)
{
	struct buf text = BUF_INIT;

	if (file_read(path, POINTER_MAX, &text, err) < 0)
		return err->errnum == ENOENT ? 0 : -1;
	*ret_line = xstrndup(buf_text(&text), strcspn(buf_text(&text), "\r\n"));
	buf_release(&text);
	return 1;
}

/* Is there a HEAD that can be one? Its text is judged where it is resolved. */
static bool
head_exists(const char *git_dir)
{
	char *path = xasprintf("%s/HEAD", git_dir);
	struct stat st;
	bool is_there =
	    lstat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode));

	free(path);
	return is_there;
}

static bool
dir_has(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	bool has = access(path, X_OK) == 0;

	free(path);
	return has;
}

/*
 * Complete a place whose root, dot_git and git_dir are set: 1 it is a repository, 0 it
 * is none, -1.
 */
static int
place_complete(struct place *p, struct error *err)
{
	char *path = xasprintf("%s/commondir", p->git_dir);
	char *line = NULL;
	int rc;

	rc = line_read(path, &line, err);
	free(path);
	if (rc < 0)
		return -1;
	path = rc == 1 ? path_join(p->git_dir, line) : xstrdup(p->git_dir);
	free(line);
	p->common_dir = realpath(path, NULL);
	free(path);
	if (p->common_dir == NULL)
		return 0;
	p->is_linked = rc == 1;
	return head_exists(p->git_dir) && dir_has(p->common_dir, "objects") &&
	       dir_has(p->common_dir, "refs");
}

/* A `.git` file: where it leads. 0, -1. */
static int
pointer_follow(struct place *p, struct error *err)
{
	char *line = NULL, *path;
	int rc;

	rc = line_read(p->dot_git, &line, err);
	if (rc == 0)
		return error_set(err, ERROR_REPO, "%s: vanished", p->dot_git);
	if (rc < 0)
		return -1;
	if (strncmp(line, "gitdir: ", 8) != 0) {
		free(line);
		return error_set(
		    err, ERROR_REPO,
		    "%s: is no file of git: it does not begin with 'gitdir: '",
		    p->dot_git);
	}
	path = path_join(p->root, line + 8);
	free(line);
	p->git_dir = realpath(path, NULL);
	if (p->git_dir == NULL)
		rc = error_system(err, "%s: names %s", p->dot_git, path);
	free(path);
	return rc < 0 ? -1 : 0;
}

int
place_at(const char *dir, struct place *ret_place, struct error *err)
{
	struct place p = PLACE_INIT;
	struct stat st;
	int rc = 0;

	p.root = xstrdup(dir);
	p.dot_git = xasprintf("%s/.git", strcmp(dir, "/") == 0 ? "" : dir);
	if (stat(p.dot_git, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES &&
		    errno != ELOOP)
			rc = error_system(err, "%s", p.dot_git);
	} else if (S_ISDIR(st.st_mode)) {
		p.git_dir = realpath(p.dot_git, NULL);
		if (p.git_dir != NULL)
			rc = place_complete(&p, err);
	} else if (S_ISREG(st.st_mode)) {
		rc = pointer_follow(&p, err);
		if (rc == 0)
			rc = place_complete(&p, err);
		if (rc == 0)
			rc = error_set(err, ERROR_REPO,
				       "%s: names %s, which is no repository", p.dot_git,
				       p.git_dir);
	}
	if (rc == 1)
		*ret_place = p;
	else
		place_release(&p);
	return rc;
}

/* Is the directory one of GIT_CEILING_DIRECTORIES? */
static bool
is_ceiling(const char *dir)
{
	const char *p = getenv("GIT_CEILING_DIRECTORIES");
	bool is_one = false;

	while (p != NULL && *p != '\0' && !is_one) {
		size_t n = strcspn(p, ":");
		char *one = xstrndup(p, n);
		char *real = *one == '/' ? realpath(one, NULL) : NULL;

		is_one = real != NULL && strcmp(real, dir) == 0;
		free(real);
		free(one);
		p += n + (p[n] == ':');
	}
	return is_one;
}

int
place_find(const char *dir, struct place *ret_place, struct error *err)
{
	char *at = realpath(dir, NULL);
	struct stat here, above;
	int rc = -1;

	if (at == NULL || stat(at, &here) < 0) {
		(void)error_system(err, "%s", dir);
		goto out;
	}
	for (;;) {
		char *slash = strrchr(at, '/');

		rc = place_at(at, ret_place, err);
		if (rc != 0 || slash[1] == '\0')
			break;
		slash[slash == at] = '\0';
		if (is_ceiling(at) || stat(at, &above) < 0 || above.st_dev != here.st_dev)
			break;
	}
out:
	free(at);
	return rc;
}

static bool
is_own(const char *path)
{
	const char *sudo = getenv("SUDO_UID");
	uid_t us = geteuid();
	struct stat st;
	char *end;

	if (lstat(path, &st) < 0)
		return false;
	if (st.st_uid == us)
		return true;
	if (us != 0 || sudo == NULL || *sudo == '\0')
		return false;
	return st.st_uid == strtoul(sudo, &end, 10) && *end == '\0';
}

bool
place_is_own(const struct place *p)
{
	return is_own(p->root) && is_own(p->dot_git) && is_own(p->git_dir);
}

void
place_release(struct place *p)
{
	free(p->root);
	free(p->dot_git);
	free(p->git_dir);
	free(p->common_dir);
	*p = (struct place)PLACE_INIT;
}
