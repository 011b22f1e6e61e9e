/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/reach.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/project/affected.h"

char *
reach_path(const struct ground *g, const char *path)
{
	const char *rel = g->rel;
	struct buf b = BUF_INIT;

	while (*rel != '\0') {
		size_t n = strcspn(rel, "/");

		if (strncmp(path, rel, n) != 0 || path[n] != '/')
			break;
		path += n + 1;
		rel += n + (rel[n] == '/');
	}
	while (*rel != '\0') {
		buf_puts(&b, "../");
		rel += strcspn(rel, "/");
		rel += *rel == '/';
	}
	buf_puts(&b, path);
	return buf_steal(&b);
}

int
reach_find(const struct ground *g, const struct scope *base, const struct scope *now,
	   const struct changes *c, bool **ret_reached, struct error *err)
{
	size_t i, n = now->workspaces.nitems;
	struct change *changes = xcalloc(c->nkept + 1, sizeof(*changes));
	char **paths = xcalloc(c->nkept + 1, sizeof(*paths));
	struct affected_input in = {
		.tree = &now->workspaces,
		.tree_graph = &now->graph,
		.base = &base->workspaces,
		.base_graph = &base->graph,
		.changes = changes,
		.nchanges = c->nkept,
	};
	struct affected a = AFFECTED_INIT;
	int rc;

	for (i = 0; i < c->nkept; i++) {
		paths[i] = reach_path(g, c->paths[i]);
		changes[i].path = paths[i];
	}
	rc = affected_find(&in, &a, err);
	if (rc == 0) {
		*ret_reached = xcalloc(n + 1, sizeof(**ret_reached));
		for (i = 0; i < n; i++)
			(*ret_reached)[i] =
			    c->count > c->nkept || a.selections[i].why != WHY_NOT;
	}
	affected_release(&a);
	for (i = 0; i < c->nkept; i++)
		free(paths[i]);
	free(paths);
	free(changes);
	return rc;
}
