/* SPDX-License-Identifier: MIT */
/*
 * Edges: what the dependencies of manifests mean, as edges between workspaces.
 */
#ifndef SUPERVISOR_PROJECT_EDGES_H
#define SUPERVISOR_PROJECT_EDGES_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/project/graph.h"
#include "supervisor/project/workspace.h"

struct edge_list {
	struct edge *items;
	size_t nitems;
	size_t room;
};

#define EDGE_LIST_INIT     \
	{                  \
		NULL, 0, 0 \
	}

void edge_list_add(struct edge_list *l, size_t from, size_t to);
/* Append them all; an edge may come twice, and lead to its own beginning. */
void edges_find(const struct workspace_list *l, struct edge_list *into);
/* Set those of `set`, one for each workspace, that the root itself depends on. */
void edges_of_root(const struct workspace_list *l, bool *set);

#endif
