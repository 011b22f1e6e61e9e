/* SPDX-License-Identifier: MIT */
/*
 * Of an overlay only the upper layers are read: what nobody wrote to is not in them. What
 * is there is held against the tree below:
 *
 *   a whiteout           a change where the tree has something of that name
 *   an opaque directory  what the tree has in it, and the layer has not, is gone
 *   anything else        a change where the tree has it not, or otherwise
 */
#include "supervisor/prove/copy_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "supervisor/prove/overlay.h"
#include "supervisor/prove/witness.h"

struct copy_state {
	struct manifest *layers; /* of a portable copy there is one: itself */
	size_t nlayers;
	char index[DIGEST_HEX_SIZE]; /* of a copy with history, else "" */
};

/* Where layer n lies, and what is below it; both freed by the caller. */
static void
layer_paths(const struct copy *c, size_t n, char **ret_upper, char **ret_lower)
{
	const char *root = c->ground->root;

	*ret_lower =
	    n == 0 ? xstrdup(root) : xasprintf("%s/%s", root, c->mounts.paths[n - 1]);
	*ret_upper =
	    c->kind == COPY_OVERLAY ? overlay_upper(c->store, n) : xstrdup(c->root);
}

static int
copy_state_fill(const struct copy *c, struct copy_state *s, struct error *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < s->nlayers && rc == 0; i++) {
		char *upper, *lower;

		layer_paths(c, i, &upper, &lower);
		/* A file that is mounted has no layer. */
		if (i == 0 || access(upper, F_OK) == 0)
			rc = manifest_take(upper, &s->layers[i], err);
		if (i == 0 && c->has_history) {
			char *git = xasprintf("%s/.git", upper);

			index_digest(git, s->index);
			free(git);
		}
		free(lower);
		free(upper);
	}
	return rc;
}

int
copy_state_take(const struct copy *c, struct copy_state **ret_state, struct error *err)
{
	struct copy_state *s = xcalloc(1, sizeof(*s));

	s->nlayers = c->kind == COPY_OVERLAY ? c->mounts.npaths + 1 : 1;
	s->layers = xcalloc(s->nlayers, sizeof(*s->layers));
	if (copy_state_fill(c, s, err) < 0) {
		copy_state_free(s);
		return -1;
	}
	*ret_state = s;
	return 0;
}

void
copy_state_free(struct copy_state *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; i < s->nlayers; i++)
		manifest_release(&s->layers[i]);
	free(s->layers);
	free(s);
}

/* --- comparing --- */

/* One layer, while it is judged. */
struct judging {
	const char *upper;
	const char *lower;
	const struct manifest *after;
	struct changes *gone; /* below opaque directories */
};

static char *
path_below(const char *dir, const char *path)
{
	return xasprintf("%s/%s", dir, path);
}

static bool
content_differs(const struct judging *j, const char *path)
{
	char *a = path_below(j->upper, path);
	char *b = path_below(j->lower, path);
	bool differs = !file_content_same(a, b);

	free(b);
	free(a);
	return differs;
}

/* A file whose time changed: by its content, which the tree still has. */
static bool
portable_is_change(void *ctx, const struct manifest_entry *before,
		   const struct manifest_entry *after)
{
	const struct judging *j = ctx;
	int same;

	if (before == NULL || after == NULL)
		return true;
	same = manifest_entry_same(before, after);
	return same < 0 || (same == 0 && content_differs(j, after->path));
}

static bool
has_xattr(const char *path, const char *name)
{
	char name_of_root[64] = "trusted.overlay.", name_of_user[64] = "user.overlay.";

	(void)strncat(name_of_root, name, 40);
	(void)strncat(name_of_user, name, 40);
	return lgetxattr(path, name_of_root, NULL, 0) > 0 ||
	       lgetxattr(path, name_of_user, NULL, 0) > 0;
}

static bool
is_whiteout(const struct manifest_entry *e)
{
	return S_ISCHR(e->mode) && e->device == 0;
}

/* What the tree has in a directory that hides it, and the layer does not have again. */
static void
judge_opaque(const struct judging *j, const char *path, const char *lower)
{
	struct manifest m = MANIFEST_INIT;
	struct error err = ERROR_INIT;
	size_t i;

	if (manifest_take(lower, &m, &err) < 0)
		return;
	for (i = 0; i < m.nentries; i++) {
		char *child = path_below(path, m.entries[i].path);

		if (manifest_find(j->after, child) == NULL)
			changes_add(j->gone, child);
		free(child);
	}
	manifest_release(&m);
}

/* Does what a plant left at a path differ from what the tree has there? */
static bool
differs_from_lower(const struct judging *j, const struct manifest_entry *after)
{
	struct manifest_entry below;
	bool differs;
	int same;

	if (manifest_look(j->lower, after->path, &below) < 0)
		return !is_whiteout(after);
	same = manifest_entry_same(&below, after);
	differs = same < 0 || (same == 0 && content_differs(j, after->path));
	if (S_ISDIR(after->mode) && S_ISDIR(below.mode)) {
		char *upper = path_below(j->upper, after->path);
		char *lower = path_below(j->lower, after->path);

		if (has_xattr(upper, "redirect"))
			differs = true;
		else if (has_xattr(upper, "opaque"))
			judge_opaque(j, after->path, lower);
		free(lower);
		free(upper);
	}
	manifest_entry_release(&below);
	return differs;
}

static bool
layer_is_change(void *ctx, const struct manifest_entry *before,
		const struct manifest_entry *after)
{
	const struct judging *j = ctx;

	if (after == NULL)
		return !is_whiteout(before);
	/* In the layer before the plant already, with a content that is gone now. */
	if (before != NULL && !S_ISDIR(before->mode))
		return true;
	return differs_from_lower(j, after);
}

static void
layer_compare(const struct copy *c, size_t n, const struct manifest *before,
	      const struct manifest *after, struct changes *changes)
{
	struct changes gone = CHANGES_INIT;
	char *upper, *lower;
	struct judging j;
	size_t i;

	layer_paths(c, n, &upper, &lower);
	j = (struct judging){ upper, lower, after, &gone };
	manifest_compare(before, after,
			 c->kind == COPY_OVERLAY ? layer_is_change : portable_is_change,
			 &j, changes);
	for (i = 0; i < gone.nkept; i++)
		changes_add(changes, gone.paths[i]);
	changes->count += gone.count - gone.nkept;
	changes_release(&gone);
	free(lower);
	free(upper);
}

void
copy_state_compare(const struct copy *c, const struct copy_state *before,
		   const struct copy_state *after, struct changes *changes)
{
	size_t i;

	for (i = 0; i < after->nlayers; i++)
		layer_compare(c, i, &before->layers[i], &after->layers[i], changes);
	if (strcmp(before->index, after->index) != 0)
		changes_add(changes, ".git/index");
}
