/* SPDX-License-Identifier: MIT */
/*
 * The rules that hold in a directory: its own .gitignore before those above it, then
 * info/exclude, then the user's file.  The first that says anything decides.  Nothing
 * below an ignored directory can be taken back.
 */
#include <stdlib.h>
#include <string.h>

#include "git/walk_part.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	IGNORE_MAX = 64 << 20 /* bytes of an ignore file */
};

struct ignore_list *
walk_ignore_load(const char *path, const char *base, bool fold_case)
{
	struct error ignored = ERROR_INIT;
	struct buf text = BUF_INIT;
	struct ignore_list *list = NULL;

	if (path != NULL && file_read(path, IGNORE_MAX, &text, &ignored) == 0)
		list = ignore_parse(buf_text(&text), text.len, base, fold_case);
	buf_release(&text);
	return list;
}

/* A .gitignore that lies in the directory; git follows no link there, nor do we. */
static struct ignore_list *
own_load(const struct walk *w, const struct walk_dir *dir)
{
	char *path =
	    xasprintf("%s/%s%s.gitignore", w->root, dir->path, dir->len > 0 ? "/" : "");
	struct ignore_list *list;

	list = walk_ignore_load(path, dir->path, w->settings->ignore_case);
	free(path);
	return list;
}

/* One that a sparse checkout left out: its blob counts. */
static struct ignore_list *
blob_load(struct walk *w, const struct walk_dir *dir)
{
	struct ignore_list *list = NULL;
	struct buf text = BUF_INIT;
	enum object_kind kind;

	if (object_read(w->objects, w->index->entries[dir->ignore_entry].id, &kind,
			&text) == 1 &&
	    kind == OBJECT_BLOB)
		list = ignore_parse(buf_text(&text), text.len, dir->path,
				    w->settings->ignore_case);
	buf_release(&text);
	return list;
}

/* From this directory upwards, then the two that hold everywhere. */
static bool
rules_ignore(const struct walk *w, const struct walk_dir *dir, const char *path,
	     size_t len, const char *name, bool is_dir)
{
	enum ignore_verdict v = IGNORE_UNSAID;

	for (; dir != NULL && v == IGNORE_UNSAID; dir = dir->parent)
		if (dir->ignore != NULL)
			v = ignore_match(dir->ignore, path, len, name, is_dir);
	if (v == IGNORE_UNSAID && w->exclude != NULL)
		v = ignore_match(w->exclude, path, len, name, is_dir);
	if (v == IGNORE_UNSAID && w->user_exclude != NULL)
		v = ignore_match(w->user_exclude, path, len, name, is_dir);
	return v == IGNORE_YES;
}

bool
walk_is_ignored(const struct walk *w, const struct walk_dir *dir, const char *path,
		size_t len, const char *name, bool is_dir)
{
	return dir->is_ignored || rules_ignore(w, dir, path, len, name, is_dir);
}

/* With the lock held; the parents first. */
static void
prepare_locked(struct walk *w, struct walk_dir *dir)
{
	const char *slash;

	if (dir->is_prepared)
		return;
	if (dir->parent != NULL) {
		prepare_locked(w, dir->parent);
		slash = strrchr(dir->path, '/');
		dir->is_ignored =
		    walk_is_ignored(w, dir->parent, dir->path, dir->len,
				    slash == NULL ? dir->path : slash + 1, true);
	}
	if (dir->has_ignore)
		dir->ignore = own_load(w, dir);
	else if (dir->ignore_entry != WALK_NO_ENTRY)
		dir->ignore = blob_load(w, dir);
	dir->is_prepared = true;
}

void
walk_dir_prepare(struct walk *w, struct walk_dir *dir)
{
	(void)pthread_mutex_lock(&w->lock);
	prepare_locked(w, dir);
	(void)pthread_mutex_unlock(&w->lock);
}
