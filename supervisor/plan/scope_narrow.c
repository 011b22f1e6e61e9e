/* SPDX-License-Identifier: MIT */
/* What a change reaches, by the workspaces and edges of the tree and of its bases. */
#include "supervisor/plan/scope_part.h"

#include <stdlib.h>
#include <string.h>

#include "git/snapshot.h"
#include "ipc/mem.h"
#include "supervisor/plan/base_source.h"
#include "supervisor/project/affected.h"

/* --- key parts --- */

static const char *
parts_find(const struct mark_parts *parts, const char *name)
{
	size_t i;

	for (i = 0; i < parts->n; i++)
		if (strcmp(parts->items[i].name, name) == 0)
			return parts->items[i].value;
	return NULL;
}

/*
 * The parts of the key that no diff shows and that differ from the base's, or are not
 * known there although the config names them.  The names are borrowed from the request.
 */
static size_t
finder_differing_parts(struct finder *f, const char **ret_names)
{
	const struct mark_parts *now = f->rq->parts;
	bool is_known = f->rq->since == NULL && f->known_parts == 1;
	size_t n = 0, i;

	for (i = 0; i < now->n; i++) {
		const char *name = now->items[i].name, *value;
		bool is_named =
		    (strcmp(name, "keyEnv") == 0 && f->rq->config->key_env.nitems > 0) ||
		    (strcmp(name, "keyFiles") == 0 &&
		     f->rq->config->key_files.nitems > 0);

		/* Of those there may be as many as files. */
		if (mark_part_is_of_file(&now->items[i]))
			continue;
		value = is_known ? parts_find(&f->parts, name) : NULL;
		if (value != NULL ? strcmp(value, now->items[i].value) != 0 : is_named)
			ret_names[n++] = name;
	}
	return n;
}

/* --- what is reached --- */

struct base_workspaces {
	struct snapshot *snapshot;
	struct workspace_list list;
	struct graph graph;
	bool is_known;
};

/*
 * The workspaces of the base and their edges.  Who asks cargo or go about a commit gets
 * no answer: then the tree's own edges are all there are.
 */
static int
finder_read_base(struct finder *f, const char *commit, struct base_workspaces *ret)
{
	struct error why = ERROR_INIT;
	struct source from;

	if (f->s->workspaces.manager == MANAGER_CARGO ||
	    f->s->workspaces.manager == MANAGER_GO)
		return 0;
	if (snapshot_open(&f->repository, commit, f->subdir, &ret->snapshot, &why) < 0)
		goto fail;
	from = source_of_snapshot(ret->snapshot);
	if (workspace_list_read(&from, &ret->list, &why) < 0)
		goto fail;
	graph_build(&ret->list, &ret->graph);
	ret->is_known = true;
	return 0;
fail:
	(void)error_wrap(&why, "the workspaces of the base cannot be read");
	free(f->s->reason); /* what the other base said is no reason now */
	f->s->reason = xstrdup(why.text);
	return -1;
}

/* Is the directory, or one around it, a submodule of the base? */
static bool
is_of_submodule(struct snapshot *s, const char *dir)
{
	struct error ignored = ERROR_INIT;
	enum snapshot_kind kind;
	bool is_one = false;
	char *path = xstrdup(dir);
	char *slash;

	do {
		is_one = snapshot_find(s, path, &kind, &ignored) == 0 &&
			 kind == SNAPSHOT_SUBMODULE;
		slash = strrchr(path, '/');
		if (slash != NULL)
			*slash = '\0';
	} while (!is_one && slash != NULL);
	free(path);
	return is_one;
}

/* Of each workspace of the tree: is it none that the base shows? */
static bool *
base_find_foreign(const struct base_workspaces *base, const struct workspace_list *tree)
{
	bool *foreign = xcalloc(tree->nitems + 1, sizeof(*foreign));
	size_t i;

	for (i = 0; i < tree->nitems; i++)
		foreign[i] = workspace_list_find(&base->list, tree->items[i].path) < 0 &&
			     !is_of_submodule(base->snapshot, tree->items[i].path);
	return foreign;
}

static void
base_workspaces_release(struct base_workspaces *b)
{
	graph_release(&b->graph);
	workspace_list_release(&b->list);
	snapshot_free(b->snapshot);
}

static void
scope_select(struct scope *s, bool is_selected)
{
	size_t i;

	for (i = 0; i < s->workspaces.nitems; i++) {
		free(s->why[i]);
		s->why[i] = NULL;
		s->is_selected[i] = is_selected;
	}
}

/* What one of the bases selects, beside what others do. */
static void
scope_take_answer(struct scope *s, const struct affected_input *in,
		  const struct affected *a)
{
	size_t i;

	for (i = 0; i < a->nselections; i++) {
		if (s->is_selected[i] || a->selections[i].why == WHY_NOT)
			continue;
		s->is_selected[i] = true;
		s->why[i] = affected_reason(in, a, i);
	}
	if (a->all != ALL_NOT)
		scope_run_all(s, a->all_reason);
	else if (a->documents_only)
		scope_run_all(s, "only documents changed");
	else if (a->nothing_changed)
		scope_run_all(s, "nothing changed");
}

static int
finder_select(struct finder *f, struct base_workspaces *base)
{
	struct scope *s = f->s;
	/* The parts, and one for links. */
	const char **names = xcalloc(f->rq->parts->n + 1, sizeof(*names));
	size_t nchanges = s->nchanges + f->aliases.nitems;
	struct change *changes = xcalloc(nchanges, sizeof(*changes));
	struct affected answer = AFFECTED_INIT;
	struct affected_input in = {
		.tree = &s->workspaces,
		.tree_graph = &s->graph,
		.base = base->is_known ? &base->list : NULL,
		.base_graph = base->is_known ? &base->graph : NULL,
		.changes = changes,
		.nchanges = nchanges,
		.documents = (const char *const *)f->rq->config->documents.items,
		.ndocuments = f->rq->config->documents.nitems,
		.key_parts = names,
	};
	bool *foreign = base->is_known ? base_find_foreign(base, &s->workspaces) : NULL;
	size_t i;
	int rc;

	in.foreign = foreign;
	for (i = 0; i < s->nchanges; i++)
		changes[i] = (struct change){ s->changes[i], s->is_cut[i] };
	for (; i < nchanges; i++)
		changes[i].path = f->aliases.items[i - s->nchanges].path;
	in.nkey_parts = finder_differing_parts(f, names);
	if (f->aliases.is_partial)
		names[in.nkey_parts++] = "what many links show";
	rc = affected_find(&in, &answer, f->err);
	if (rc == 0)
		scope_take_answer(s, &in, &answer);
	affected_release(&answer);
	free(foreign);
	free(changes);
	free(names);
	return rc;
}

/* By the workspaces of one commit: 0; 1 they cannot be read, and all run; -1. */
static int
finder_narrow_by(struct finder *f, const char *commit)
{
	struct base_workspaces base = { .list = WORKSPACE_LIST_INIT,
					.graph = GRAPH_INIT };
	int rc = 1;

	if (finder_read_base(f, commit, &base) == 0)
		rc = finder_select(f, &base);
	base_workspaces_release(&base);
	return rc;
}

int
finder_narrow(struct finder *f)
{
	struct scope *s = f->s;
	int rc = 0;
	size_t i;

	scope_select(s, false);
	for (i = 0; i < f->ncommits && rc == 0; i++)
		rc = finder_narrow_by(f, f->commits[i]);
	if (rc != 0)
		scope_select(s, true);
	s->is_narrowed = rc == 0;
	for (i = 0; i < s->workspaces.nitems; i++)
		s->leaves_out = s->leaves_out || !s->is_selected[i];
	return rc < 0 ? -1 : 0;
}
