/* SPDX-License-Identifier: MIT */
/*
 * The tree is walked once, with the set of places that all patterns can be at: a state is
 * a pattern and the number of its segments that the directory has used up.  A directory
 * that no pattern can reach is not looked into.
 */
#include "supervisor/project/members.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/paths.h"
#include "supervisor/project/patterns.h"
#include "supervisor/project/segment.h"

enum {
	DIRECTORIES_MAX = 1000000,
	DEPTH_MAX = 500
};

struct state {
	size_t pattern;
	size_t segment;
};

struct state_set {
	struct state *items;
	size_t nitems;
	size_t room;
};

struct walk {
	const struct source *from;
	enum manager manager;
	const char *base;
	struct pattern_set set;
	struct path_list *into;
	size_t ndirectories;
	unsigned depth;
	struct error *err;
};

/* The directories of one directory; read to the end before any is gone into. */
struct listing {
	struct path_list names;
	bool *is_link;
	size_t is_link_room;
};

static int walk_directory(struct walk *w, const char *dir,
			  const struct state_set *states);

void
path_list_add(struct path_list *l, char *path)
{
	l->items = xgrow(l->items, l->nitems + 1, &l->room, sizeof(*l->items));
	l->items[l->nitems++] = path;
}

static int
path_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
path_list_settle(struct path_list *l)
{
	size_t i, n = 0;

	if (l->nitems > 0)
		qsort(l->items, l->nitems, sizeof(*l->items), path_compare);
	for (i = 0; i < l->nitems; i++) {
		if (n > 0 && strcmp(l->items[n - 1], l->items[i]) == 0)
			free(l->items[i]);
		else
			l->items[n++] = l->items[i];
	}
	l->nitems = n;
}

bool
path_list_has(const struct path_list *l, size_t n, const char *path)
{
	return n > 0 &&
	       bsearch(&path, l->items, n, sizeof(*l->items), path_compare) != NULL;
}

void
path_list_release(struct path_list *l)
{
	size_t i;

	for (i = 0; i < l->nitems; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct path_list)PATH_LIST_INIT;
}

static bool
is_deep(const char *segment)
{
	return strcmp(segment, "**") == 0;
}

/* Add a state, and those that `**` standing for nothing leads to. */
static void
state_add(const struct walk *w, struct state_set *set, struct state s)
{
	const struct pattern_path *p = &w->set.wanted[s.pattern];
	size_t i;

	for (;;) {
		for (i = 0; i < set->nitems; i++)
			if (set->items[i].pattern == s.pattern &&
			    set->items[i].segment == s.segment)
				return;
		set->items =
		    xgrow(set->items, set->nitems + 1, &set->room, sizeof(*set->items));
		set->items[set->nitems++] = s;
		if (s.segment == p->nsegments || !is_deep(p->segments[s.segment]))
			return;
		s.segment++;
	}
}

static bool
follows_links(enum manager m)
{
	return m == MANAGER_PNPM || m == MANAGER_YARN;
}

static bool
is_never(enum manager m, const char *name)
{
	if (strcmp(name, "node_modules") == 0)
		return true;
	if (m == MANAGER_PNPM)
		return strcmp(name, "bower_components") == 0;
	return m == MANAGER_YARN &&
	       (strcmp(name, ".git") == 0 || strcmp(name, ".yarn") == 0);
}

static int
walk_fail(struct walk *w, const char *dir, const char *why)
{
	return error_set(w->err, ERROR_DATA, "%s: %s", *dir == '\0' ? "." : dir, why);
}

/* Where the states lead to in a directory of that name. */
static int
states_step(struct walk *w, const struct state_set *states, const char *name,
	    bool is_link, struct state_set *into)
{
	size_t i;

	for (i = 0; i < states->nitems; i++) {
		struct state s = states->items[i];
		const struct pattern_path *p = &w->set.wanted[s.pattern];
		int matches;

		if (s.segment == p->nsegments)
			continue;
		if (is_deep(p->segments[s.segment])) {
			if (*name != '.' && (!is_link || follows_links(w->manager)))
				state_add(w, into, s);
			continue;
		}
		matches = segment_matches(p->segments[s.segment], name, false);
		if (matches < 0)
			return walk_fail(w, name, "a pattern takes too long to match it");
		if (matches > 0)
			state_add(w, into, (struct state){ s.pattern, s.segment + 1 });
	}
	return 0;
}

/* Does the link lead to where we are in already? */
static bool
is_loop(const struct walk *w, const char *dir, const char *path)
{
	char *here = w->from->real(w->from->ctx, dir);
	char *there = w->from->real(w->from->ctx, path);
	bool loop = false;

	if (here != NULL && there != NULL) {
		size_t n = strlen(there);

		loop = strncmp(here, there, n) == 0 &&
		       (n == 0 || here[n] == '/' || here[n] == '\0');
	}
	free(here);
	free(there);
	return loop;
}

/* The directory `name` of a directory, `..` too, without a detour; freed by the caller.
 */
static char *
path_in(const char *dir, const char *name)
{
	const char *slash = strrchr(dir, '/');
	const char *last = slash != NULL ? slash + 1 : dir;

	if (*dir == '\0')
		return xstrdup(name);
	if (strcmp(name, "..") == 0 && strcmp(last, "..") != 0)
		return xstrndup(dir, slash != NULL ? (size_t)(slash - dir) : 0);
	return xasprintf("%s/%s", dir, name);
}

/* A directory as seen from the base of the patterns, or NULL where it is not below. */
static const char *
below_base(const struct walk *w, const char *dir)
{
	if (!path_is_within(dir, w->base))
		return NULL;
	return dir + strlen(w->base) + (*w->base != '\0');
}

/* Go into a directory where a pattern can reach it. */
static int
walk_into(struct walk *w, const char *dir, const struct state_set *states,
	  const char *name, enum source_kind kind)
{
	struct state_set next = { NULL, 0, 0 };
	bool is_link = kind == SOURCE_LINK_TO_DIRECTORY;
	char *path;
	int rc;

	if ((kind != SOURCE_DIRECTORY && !is_link) || is_never(w->manager, name))
		return 0;
	rc = states_step(w, states, name, is_link, &next);
	if (rc == 0 && next.nitems > 0) {
		path = path_in(dir, name);
		if (!is_link || !is_loop(w, dir, path))
			rc = walk_directory(w, path, &next);
		free(path);
	}
	free(next.items);
	return rc;
}

static void
listing_add(void *ctx, const char *name, enum source_kind kind)
{
	struct listing *l = ctx;

	if (kind != SOURCE_DIRECTORY && kind != SOURCE_LINK_TO_DIRECTORY)
		return;
	l->is_link =
	    xgrow(l->is_link, l->names.nitems + 1, &l->is_link_room, sizeof(*l->is_link));
	l->is_link[l->names.nitems] = kind == SOURCE_LINK_TO_DIRECTORY;
	path_list_add(&l->names, xstrdup(name));
}

static int
walk_listed(struct walk *w, const char *dir, const struct state_set *states)
{
	struct listing l = { PATH_LIST_INIT, NULL, 0 };
	size_t i;
	int rc = w->from->list(w->from->ctx, dir, listing_add, &l, w->err);

	for (i = 0; rc == 0 && i < l.names.nitems; i++)
		rc =
		    walk_into(w, dir, states, l.names.items[i],
			      l.is_link[i] ? SOURCE_LINK_TO_DIRECTORY : SOURCE_DIRECTORY);
	path_list_release(&l.names);
	free(l.is_link);
	return rc;
}

/* A name of a pattern is looked up, not looked for. */
static int
walk_named(struct walk *w, const char *dir, const struct state_set *states)
{
	struct path_list names = PATH_LIST_INIT;
	size_t i;
	int rc = 0;

	for (i = 0; i < states->nitems; i++) {
		const struct pattern_path *p = &w->set.wanted[states->items[i].pattern];

		if (states->items[i].segment < p->nsegments)
			path_list_add(&names, pattern_plain_name(
						  p->segments[states->items[i].segment]));
	}
	path_list_settle(&names);
	for (i = 0; rc == 0 && i < names.nitems; i++) {
		const char *name = names.items[i];
		char *path = path_in(dir, name);

		rc = walk_into(w, dir, states, name, w->from->kind(w->from->ctx, path));
		free(path);
	}
	path_list_release(&names);
	return rc;
}

static bool
states_are_names(const struct walk *w, const struct state_set *states)
{
	size_t i;

	for (i = 0; i < states->nitems; i++) {
		const struct pattern_path *p = &w->set.wanted[states->items[i].pattern];

		if (states->items[i].segment < p->nsegments &&
		    segment_is_wild(p->segments[states->items[i].segment]))
			return false;
	}
	return true;
}

/* Is the directory what a whole pattern names? */
static bool
is_named(const struct walk *w, const char *dir, const struct state_set *states)
{
	const char *c = below_base(w, dir);
	size_t i, depth = 1;

	for (; c != NULL && *c != '\0'; c++)
		depth += *c == '/';
	for (i = 0; i < states->nitems; i++) {
		const struct pattern_path *p = &w->set.wanted[states->items[i].pattern];

		if (states->items[i].segment < p->nsegments)
			continue;
		/* Yarn does not look at the directory that it starts from. */
		if (w->manager != MANAGER_YARN || p->nstatic == p->nsegments ||
		    depth > p->nstatic)
			return true;
	}
	return false;
}

static int
directory_consider(struct walk *w, const char *dir, const struct state_set *states)
{
	const char *relative = below_base(w, dir);
	bool is_excluded = false;
	char *manifest;

	if (strcmp(dir, w->base) == 0 || *dir == '\0' || !is_named(w, dir, states))
		return 0;
	if (relative != NULL &&
	    pattern_set_excludes(&w->set, relative, w->manager == MANAGER_YARN,
				 &is_excluded, w->err) < 0)
		return -1;
	if (is_excluded)
		return 0;
	manifest = xasprintf("%s/package.json", dir);
	if (w->from->kind(w->from->ctx, manifest) == SOURCE_FILE)
		path_list_add(w->into, xstrdup(dir));
	free(manifest);
	return 0;
}

static int
walk_directory(struct walk *w, const char *dir, const struct state_set *states)
{
	int rc;

	if (++w->ndirectories > DIRECTORIES_MAX || w->depth == DEPTH_MAX)
		return walk_fail(w, dir, "the patterns reach too many directories");
	if (directory_consider(w, dir, states) < 0)
		return -1;
	w->depth++;
	rc = states_are_names(w, states) ? walk_named(w, dir, states)
					 : walk_listed(w, dir, states);
	w->depth--;
	return rc;
}

int
members_find(const struct source *from, enum manager manager, const char *base,
	     const struct path_list *patterns, struct path_list *into, struct error *err)
{
	struct walk w = { .from = from,
			  .manager = manager,
			  .base = base,
			  .set = PATTERN_SET_INIT,
			  .into = into,
			  .err = err };
	struct state_set states = { NULL, 0, 0 };
	const char **texts = xcalloc(patterns->nitems + 1, sizeof(*texts));
	size_t i;
	int rc;

	for (i = 0; i < patterns->nitems; i++)
		texts[i] = patterns->items[i];
	rc = pattern_set_build(manager, texts, patterns->nitems, &w.set, err);
	free(texts);
	if (rc < 0)
		return -1;
	for (i = 0; i < w.set.nwanted; i++)
		if (w.set.wanted[i].nsegments > 0)
			state_add(&w, &states, (struct state){ i, 0 });
	rc = states.nitems > 0 ? walk_directory(&w, base, &states) : 0;
	free(states.items);
	pattern_set_release(&w.set);
	return rc;
}
