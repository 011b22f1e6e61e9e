/* SPDX-License-Identifier: MIT */
#include "supervisor/project/affected.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/base/text.h"
#include "supervisor/project/edges.h"
#include "supervisor/project/paths.h"

struct globs {
	struct glob **items;
	size_t nitems;
};

static void
globs_release(struct globs *g)
{
	size_t i;

	for (i = 0; i < g->nitems; i++)
		glob_free(g->items[i]);
	free(g->items);
}

static int
globs_compile(const struct affected_input *in, struct globs *ret_globs, struct error *err)
{
	struct globs g = { .items = xcalloc(in->ndocuments + 1, sizeof(*g.items)) };
	struct error inner = ERROR_INIT;

	for (; g.nitems < in->ndocuments; g.nitems++)
		if (glob_compile(in->documents[g.nitems], &g.items[g.nitems], &inner) <
		    0) {
			(void)error_set(err, ERROR_CONFIG, "documents[%zu]: %s", g.nitems,
					inner.text);
			globs_release(&g);
			return -1;
		}
	*ret_globs = g;
	return 0;
}

static bool
globs_match(const struct globs *g, const char *path)
{
	size_t i, n = strlen(path);

	for (i = 0; i < g->nitems; i++)
		if (glob_matches(g->items[i], path, n))
			return true;
	return false;
}

/* What geonosis itself writes, at any depth. */
static bool
is_own(const char *path)
{
	const char *c = path;

	for (;;) {
		size_t n = strcspn(c, "/");

		if (n == 9 && strncmp(c, ".geonosis", 9) == 0)
			return true;
		if (c[n] == '\0')
			return false;
		c += n + 1;
	}
}

/* A text as one line of a message. */
static char *
shown(const char *text)
{
	return text_clean(text, strlen(text));
}

static void
all_set(struct affected *a, enum affected_all all, const char *before, const char *name,
	const char *after)
{
	char *clean;

	if (a->all != ALL_NOT)
		return;
	clean = shown(name);
	a->all = all;
	a->all_reason = xasprintf("%s%s%s", before, clean, after);
	free(clean);
}

/*
 * Does a change lie in that directory?  A workspace that is deleted has at least its
 * manifest there; one that a sparse checkout leaves out has nothing, and is not gone.
 * (Where its pattern is gone, the file that had it is a change in no workspace.)
 */
static bool
directory_has_change(const struct affected_input *in, const char *dir)
{
	size_t n = strlen(dir);
	size_t i;

	for (i = 0; i < in->nchanges; i++)
		if (strncmp(in->changes[i].path, dir, n) == 0 &&
		    in->changes[i].path[n] == '/')
			return true;
	return false;
}

/* A workspace of the base that the tree does not have as it was. */
static void
base_compare(const struct affected_input *in, struct affected *a)
{
	size_t i;

	for (i = 0; in->base != NULL && i < in->base->nitems; i++) {
		const struct workspace *old = &in->base->items[i];
		long now = workspace_list_find(in->tree, old->path);

		if (now < 0 && !directory_has_change(in, old->path))
			continue;
		if (now < 0)
			all_set(a, ALL_GONE, "the workspace ", old->path, " is gone");
		else if (strcmp(in->tree->items[now].name, old->name) != 0)
			all_set(a, ALL_RENAMED, "the workspace ", old->path,
				" has another name");
	}
}

/*
 * A submodule, or what else changed as one path, in which workspaces lie: what they were
 * is not known, nor who depended on them by another name.
 */
static void
opaque_compare(const struct affected_input *in, struct affected *a)
{
	size_t i, k;

	for (i = 0; in->base != NULL && i < in->tree->nitems; i++) {
		const char *path = in->tree->items[i].path;

		if (workspace_list_find(in->base, path) >= 0)
			continue;
		for (k = 0; k < in->nchanges; k++) {
			size_t n = strlen(in->changes[k].path);

			/* An untracked repository is named with a slash. */
			n -= n > 0 && in->changes[k].path[n - 1] == '/';
			if (n > 0 && strncmp(path, in->changes[k].path, n) == 0 &&
			    (path[n] == '/' || path[n] == '\0'))
				all_set(a, ALL_OPAQUE, "", path,
					" changed as a whole: what it was is not known");
		}
	}
}

static enum change_kind
change_kind_of(const struct affected_input *in, const struct globs *documents,
	       const struct change *c, long *ret_owner)
{
	char *path;
	enum change_kind kind = CHANGE_NOBODYS;

	*ret_owner = -1;
	if (is_own(c->path))
		return CHANGE_IGNORED;
	path = path_resolve("", c->path);
	if (path != NULL && globs_match(documents, path)) {
		kind = CHANGE_DOCUMENT;
	} else if (c->is_cut) {
		kind = CHANGE_IGNORED;
	} else if (path != NULL) {
		*ret_owner = workspace_list_owner(in->tree, path);
		kind = *ret_owner >= 0 ? CHANGE_WORKSPACE : CHANGE_NOBODYS;
	}
	free(path);
	return kind;
}

static void
changes_sort(const struct affected_input *in, const struct globs *documents,
	     struct affected *a)
{
	size_t i, nreal = 0, ndocuments = 0;

	for (i = 0; i < in->nchanges; i++) {
		long owner;

		a->kinds[i] = change_kind_of(in, documents, &in->changes[i], &owner);
		ndocuments += a->kinds[i] == CHANGE_DOCUMENT;
		nreal += a->kinds[i] == CHANGE_WORKSPACE || a->kinds[i] == CHANGE_NOBODYS;
		if (a->kinds[i] == CHANGE_NOBODYS)
			all_set(a, ALL_PATH, "", in->changes[i].path,
				" changed and is in no workspace");
		if (owner >= 0 && a->selections[owner].why == WHY_NOT)
			a->selections[owner] =
			    (struct selection){ .why = WHY_PATH, .change = i };
	}
	a->nothing_changed = nreal == 0 && ndocuments == 0;
	a->documents_only = nreal == 0 && ndocuments > 0;
}

/*
 * A workspace that git ignores, or that lies outside: neither does the base have it, nor
 * is it new.
 */
static void
unseen_select(const struct affected_input *in, struct affected *a)
{
	size_t i;

	for (i = 0; in->foreign != NULL && i < a->nselections; i++) {
		if (!in->foreign[i] || a->selections[i].why != WHY_NOT ||
		    directory_has_change(in, in->tree->items[i].path))
			continue;
		a->selections[i].why = WHY_UNSEEN;
		a->nothing_changed = false;
		a->documents_only = false;
	}
}

/* The edges of the tree, and those of the base between workspaces that still are. */
static void
graph_unite(const struct affected_input *in, struct graph *ret_graph)
{
	struct edge_list edges = EDGE_LIST_INIT;
	const struct graph *g = in->tree_graph;
	size_t i;

	for (i = 0; i < g->nedges; i++)
		edge_list_add(&edges, g->edges[i].from, g->edges[i].to);
	g = in->base != NULL ? in->base_graph : NULL;
	for (i = 0; g != NULL && i < g->nedges; i++) {
		long from =
		    workspace_list_find(in->tree, in->base->items[g->edges[i].from].path);
		long to =
		    workspace_list_find(in->tree, in->base->items[g->edges[i].to].path);

		if (from >= 0 && to >= 0)
			edge_list_add(&edges, (size_t)from, (size_t)to);
	}
	graph_from_edges(in->tree->nitems, edges.items, edges.nitems, ret_graph);
	free(edges.items);
}

static void
dependents_select(const struct affected_input *in, struct affected *a)
{
	size_t n = a->nselections, i;
	bool *set = xcalloc(n + 1, sizeof(*set));
	size_t *through = xcalloc(n + 1, sizeof(*through));
	struct graph united;

	graph_unite(in, &united);
	for (i = 0; i < n; i++)
		set[i] = a->selections[i].why != WHY_NOT;
	graph_add_dependents(&united, set, through);
	for (i = 0; i < n; i++)
		if (set[i] && a->selections[i].why == WHY_NOT)
			a->selections[i] = (struct selection){ .why = WHY_DEPENDS,
							       .through = through[i] };
	graph_release(&united);
	free(set);
	free(through);
}

/*
 * What lies at the top, a config that all are checked by, may use what the root depends
 * on; as a change there it reaches all.
 */
static void
root_compare(const struct affected_input *in, struct affected *a)
{
	bool *set = xcalloc(a->nselections + 1, sizeof(*set));
	size_t i;

	edges_of_root(in->tree, set);
	for (i = 0; i < a->nselections; i++)
		if (set[i] && a->selections[i].why != WHY_NOT)
			all_set(a, ALL_ROOT, "", in->tree->items[i].path,
				" is reached, and the root depends on it");
	free(set);
}

int
affected_find(const struct affected_input *in, struct affected *ret_affected,
	      struct error *err)
{
	struct affected a = AFFECTED_INIT;
	struct globs documents;
	size_t i;

	if (globs_compile(in, &documents, err) < 0)
		return -1;
	a.nselections = in->tree->nitems;
	a.selections = xcalloc(a.nselections + 1, sizeof(*a.selections));
	a.nkinds = in->nchanges;
	a.kinds = xcalloc(a.nkinds + 1, sizeof(*a.kinds));
	base_compare(in, &a);
	opaque_compare(in, &a);
	for (i = 0; i < in->nkey_parts; i++)
		all_set(&a, ALL_KEY_PART, "", in->key_parts[i],
			" differs, or is not known");
	changes_sort(in, &documents, &a);
	unseen_select(in, &a);
	dependents_select(in, &a);
	root_compare(in, &a);
	for (i = 0; a.all != ALL_NOT && i < a.nselections; i++)
		if (a.selections[i].why == WHY_NOT)
			a.selections[i].why = WHY_ALL;
	globs_release(&documents);
	*ret_affected = a;
	return 0;
}

char *
affected_reason(const struct affected_input *in, const struct affected *a,
		size_t workspace)
{
	const struct selection *s = &a->selections[workspace];
	char *clean, *reason;

	switch (s->why) {
	case WHY_PATH:
		clean = shown(in->changes[s->change].path);
		reason = xasprintf("%s changed", clean);
		break;
	case WHY_DEPENDS:
		clean = shown(in->tree->items[s->through].path);
		reason = xasprintf("depends on %s", clean);
		break;
	case WHY_UNSEEN:
		return xstrdup("git sees nothing of it");
	case WHY_ALL:
		return xstrdup(a->all_reason);
	default:
		return NULL;
	}
	free(clean);
	return reason;
}

void
affected_release(struct affected *a)
{
	free(a->selections);
	free(a->all_reason);
	free(a->kinds);
	*a = (struct affected)AFFECTED_INIT;
}
