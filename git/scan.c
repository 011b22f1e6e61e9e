/* SPDX-License-Identifier: MIT */
#include "git/scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "git/ask.h"
#include "git/conversion.h"
#include "ipc/mem.h"

void
scan_asked(struct scan *s, const char *reason)
{
	if (s->asked == NULL)
		s->asked = xstrdup(reason);
}

/* core.worktree moves the top; a bare repository has none. 1, 0 with `why`, -1. */
static int
top_settle(struct scan *s, struct error *err)
{
	const char *tree = s->settings.work_tree;
	char *path, *real;

	if (tree == NULL) {
		if (!s->settings.is_bare)
			return 1;
		s->why =
		    xasprintf("%s is bare: it has no working tree", s->place.git_dir);
		return 0;
	}
	path = *tree == '/' ? xstrdup(tree) : xasprintf("%s/%s", s->place.git_dir, tree);
	real = realpath(path, NULL);
	if (real == NULL)
		(void)error_system(err, "core.worktree of %s: %s", s->place.git_dir,
				   path);
	free(path);
	if (real == NULL)
		return -1;
	free(s->place.root);
	s->place.root = real;
	return 1;
}

/* Find and open the repository: 1, 0 (state and why are set), -1. */
static int
repository_open(struct scan *s, const char *dir, bool is_inner, struct error *err)
{
	int rc;

	if (settings_read_user(&s->settings, err) < 0)
		return -1;
	rc = place_find(dir, &s->place, err);
	if (rc == 0)
		s->why = xasprintf("%s is in no git repository", dir);
	if (rc <= 0)
		return rc;
	if (!is_inner && !place_is_own(&s->place) &&
	    !settings_trust(&s->settings, s->place.root)) {
		s->state = TREE_DUBIOUS;
		s->why =
		    xasprintf("%s belongs to someone else; `git config --global --add "
			      "safe.directory %s` would trust it",
			      s->place.root, s->place.root);
		return 0;
	}
	if (settings_read_place(&s->settings, &s->place, err) < 0)
		return -1;
	if (s->settings.puzzle != NULL)
		scan_asked(s, s->settings.puzzle);
	if (s->settings.unknown != NULL)
		return error_set(err, ERROR_REPO,
				 "%s: an extension that is not known here: %s",
				 s->place.git_dir, s->settings.unknown);
	rc = top_settle(s, err);
	if (rc == 1)
		s->state = TREE_FOUND;
	return rc;
}

static int
head_get(struct scan *s, struct error *err)
{
	if (head_read(&s->place, &s->settings, &s->head) == 1)
		return 0;
	scan_asked(s, s->settings.has_reftable ? "refs are kept in a table"
					       : "HEAD has a form not known here");
	return head_ask(&s->place, &s->settings, &s->head, err);
}

/* When the index was written, for entries that git itself lists. */
static struct timespec
index_written(const struct scan *s)
{
	char *path = xasprintf("%s/index", s->place.git_dir);
	struct timespec t = { 0, 0 };
	struct stat st;

	if (stat(path, &st) == 0)
		t = st.st_mtim;
	free(path);
	return t;
}

static int
index_ask(struct scan *s, const char *reason, struct error *err)
{
	static const char *const arguments[] = { "ls-files", "--stage",	    "--debug",
						 "-z",	     "--full-name", NULL };
	struct timespec written = index_written(s);
	struct buf listing = BUF_INIT;

	scan_asked(s, reason);
	if (ask_git(s->place.root, arguments, &listing, err) != 1)
		return error_wrap(err, "git ls-files (%s)", reason);
	if (index_parse_listing(&listing, s->settings.format, &s->index, err) < 0)
		return -1;
	s->index.written = written;
	return 0;
}

static int
index_get(struct scan *s, bool ask_always, struct error *err)
{
	struct error why = ERROR_INIT;

	if (ask_always)
		return index_ask(s, "asked to", err);
	if (index_read(s->place.git_dir, s->settings.format, &s->index, &why) == 0)
		return 0;
	return index_ask(s, why.text, err);
}

static int
disk_walk(struct scan *s, const struct tree_key_options *options, struct error *err)
{
	const struct walk_source source = { &s->place, &s->settings, &s->index,
					    s->objects, options->threads };

	if (walk_tree(&source, &s->walk, err) < 0)
		return -1;
	if (!s->walk.wants_expansion)
		return 0;
	walk_result_release(&s->walk);
	index_release(&s->index);
	if (index_ask(s, "a directory that the sparse index leaves out is there", err) <
	    0)
		return -1;
	return walk_tree(&source, &s->walk, err);
}

int
scan_run(const char *dir, const struct tree_key_options *options, bool is_inner,
	 struct scan *ret_scan, struct error *err)
{
	struct scan s = SCAN_INIT;
	int rc;

	rc = repository_open(&s, dir, is_inner, err);
	if (rc == 1) {
		rc = -1;
		s.objects = objects_new(s.place.common_dir, s.settings.format);
		if (head_get(&s, err) == 0 && index_get(&s, options->ask_git, err) == 0 &&
		    disk_walk(&s, options, err) == 0 && conversion_judge(&s, err) == 0)
			rc = 0;
	}
	if (rc < 0) {
		scan_release(&s);
		return -1;
	}
	*ret_scan = s;
	return 0;
}

void
scan_release(struct scan *s)
{
	walk_result_release(&s->walk);
	index_release(&s->index);
	head_tree_free(s->head_tree);
	objects_free(s->objects);
	settings_release(&s->settings);
	place_release(&s->place);
	free(s->why);
	free(s->asked);
	*s = (struct scan)SCAN_INIT;
}
