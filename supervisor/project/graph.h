/* SPDX-License-Identifier: MIT */
/*
 * Graph: which workspace depends on which.
 *
 * What a manifest says by name, by alias (`npm:`, `workspace:`) or by path (`file:`,
 * `link:`, `portal:`, `workspace:`) is an edge, whatever the version asked for; where an
 * entry can be read in two ways, both are edges: an edge too many runs a step too many,
 * an edge too few would leave one out.  No workspace has an edge to itself.
 */
#ifndef SUPERVISOR_PROJECT_GRAPH_H
#define SUPERVISOR_PROJECT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/project/workspace.h"

/* `from` depends on `to`: indexes of a workspace list. */
struct edge {
	size_t from;
	size_t to;
};

struct graph {
	size_t nnodes;
	struct edge *edges; /* by from, then to; each once */
	size_t nedges;
	size_t *first; /* nnodes + 1: those of node i are first[i] … first[i + 1] - 1 */
};

#define GRAPH_INIT \
	{          \
		0  \
	}

void graph_build(const struct workspace_list *l, struct graph *ret_graph);
/* A graph of nnodes nodes with these edges, in any order; doubles and loops dropped. */
void graph_from_edges(size_t nnodes, const struct edge *edges, size_t nedges,
		      struct graph *ret_graph);
/*
 * Every node once, dependencies before dependents; where several may come next, the
 * lowest; a cycle begins at its lowest node.  `ret_order` has room for nnodes.
 */
void graph_order(const struct graph *g, size_t *ret_order);
/*
 * What waits for what when only `selected` nodes run, in that order: an edge for each
 * pair of selected nodes of which one depends on the other, directly or through nodes
 * that are not selected, and comes after it in `order`.  So it has no cycle.
 */
void graph_narrow(const struct graph *g, const size_t *order, const bool *selected,
		  struct graph *ret_graph);
/*
 * Add to `set` every node that depends on one of it, however far.  `through` (may be
 * NULL) gets, for each node added, the node of the set that it depends on directly.
 */
void graph_add_dependents(const struct graph *g, bool *set, size_t *through);
void graph_release(struct graph *g);

#endif
