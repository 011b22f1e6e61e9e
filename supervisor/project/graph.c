/* SPDX-License-Identifier: MIT */
#include "supervisor/project/graph.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/edges.h"

static int
edge_compare(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

void
graph_from_edges(size_t nnodes, const struct edge *edges, size_t nedges,
		 struct graph *ret_graph)
{
	struct graph g = { .nnodes = nnodes };
	size_t i, n = 0;

	g.edges = xreallocarray(NULL, nedges + 1, sizeof(*g.edges));
	g.first = xcalloc(nnodes + 1, sizeof(*g.first));
	for (i = 0; i < nedges; i++)
		if (edges[i].from != edges[i].to)
			g.edges[n++] = edges[i];
	nedges = n;
	qsort(g.edges, nedges, sizeof(*g.edges), edge_compare);
	for (i = n = 0; i < nedges; i++)
		if (n == 0 || edge_compare(&g.edges[n - 1], &g.edges[i]) != 0)
			g.edges[n++] = g.edges[i];
	g.nedges = n;
	for (i = 0; i < n; i++)
		g.first[g.edges[i].from + 1]++;
	for (i = 0; i < nnodes; i++)
		g.first[i + 1] += g.first[i];
	*ret_graph = g;
}

void
graph_build(const struct workspace_list *l, struct graph *ret_graph)
{
	struct edge_list edges = EDGE_LIST_INIT;

	edges_find(l, &edges);
	graph_from_edges(l->nitems, edges.items, edges.nitems, ret_graph);
	free(edges.items);
}

/* The same nodes, every edge the other way round. */
static void
graph_reverse(const struct graph *g, struct graph *ret_reversed)
{
	struct edge *edges = xreallocarray(NULL, g->nedges + 1, sizeof(*edges));
	size_t i;

	for (i = 0; i < g->nedges; i++)
		edges[i] = (struct edge){ g->edges[i].to, g->edges[i].from };
	graph_from_edges(g->nnodes, edges, g->nedges, ret_reversed);
	free(edges);
}

/* Tarjan's search for strongly connected components, without recursion. */
struct search {
	const struct graph *g;
	size_t *number; /* 0: not seen yet */
	size_t *low;
	size_t *next; /* edge to look at next */
	size_t *stack;
	size_t nstack;
	size_t *path;
	size_t npath;
	bool *is_on_stack;
	size_t *component; /* result */
	size_t ncomponents;
	size_t count;
};

static void
search_enter(struct search *s, size_t node)
{
	s->number[node] = s->low[node] = ++s->count;
	s->next[node] = s->g->first[node];
	s->stack[s->nstack++] = node;
	s->is_on_stack[node] = true;
	s->path[s->npath++] = node;
}

static void
search_leave(struct search *s, size_t node)
{
	size_t member;

	s->npath--;
	if (s->npath > 0 && s->low[node] < s->low[s->path[s->npath - 1]])
		s->low[s->path[s->npath - 1]] = s->low[node];
	if (s->low[node] != s->number[node])
		return;
	do {
		member = s->stack[--s->nstack];
		s->is_on_stack[member] = false;
		s->component[member] = s->ncomponents;
	} while (member != node);
	s->ncomponents++;
}

static void
search_from(struct search *s, size_t start)
{
	search_enter(s, start);
	while (s->npath > 0) {
		size_t node = s->path[s->npath - 1], to;

		if (s->next[node] == s->g->first[node + 1]) {
			search_leave(s, node);
			continue;
		}
		to = s->g->edges[s->next[node]++].to;
		if (s->number[to] == 0)
			search_enter(s, to);
		else if (s->is_on_stack[to] && s->number[to] < s->low[node])
			s->low[node] = s->number[to];
	}
}

/* component[i] for every node; how many there are. */
static size_t
components_find(const struct graph *g, size_t *component)
{
	size_t n = g->nnodes, i;
	size_t *room = xcalloc(n + 1, 5 * sizeof(*room));
	bool *is_on_stack = xcalloc(n + 1, sizeof(*is_on_stack));
	struct search s = { .g = g,
			    .number = room,
			    .low = room + n,
			    .next = room + 2 * n,
			    .stack = room + 3 * n,
			    .path = room + 4 * n,
			    .is_on_stack = is_on_stack,
			    .component = component };

	for (i = 0; i < n; i++)
		if (s.number[i] == 0)
			search_from(&s, i);
	free(room);
	free(is_on_stack);
	return s.ncomponents;
}

/* Nodes that may come next, the lowest first: a heap. */
struct heap {
	size_t *items;
	size_t nitems;
};

static void
swap(size_t *a, size_t *b)
{
	size_t t = *a;

	*a = *b;
	*b = t;
}

static void
heap_add(struct heap *h, size_t node)
{
	size_t i = h->nitems++;

	h->items[i] = node;
	for (; i > 0 && h->items[(i - 1) / 2] > h->items[i]; i = (i - 1) / 2)
		swap(&h->items[i], &h->items[(i - 1) / 2]);
}

static size_t
heap_take(struct heap *h)
{
	size_t least = h->items[0], i = 0, child;

	h->items[0] = h->items[--h->nitems];
	while ((child = 2 * i + 1) < h->nitems) {
		if (child + 1 < h->nitems && h->items[child + 1] < h->items[child])
			child++;
		if (h->items[i] <= h->items[child])
			break;
		swap(&h->items[i], &h->items[child]);
		i = child;
	}
	return least;
}

/*
 * A component is open when all that it depends on is done.  Of a cycle, its lowest node
 * goes first, and the lowest of those left wherever it is stuck again; so what depends on
 * a cycle comes after all of it.
 */
struct ordering {
	struct graph reversed;
	size_t *component;  /* of a node */
	size_t *waits;	    /* node: for how many of its own component it waits */
	bool *is_taken;	    /* node: it is or was in the heap */
	size_t *outside;    /* component: for how many edges it waits */
	size_t *left;	    /* component: how many nodes are not done */
	size_t *queued;	    /* component: how many nodes are in the heap */
	size_t *members;    /* nodes, by component */
	size_t *members_at; /* component: where its members begin; one more for the end */
	struct heap ready;
};

static void
members_sort(struct ordering *o, size_t nnodes, size_t ncomponents)
{
	size_t *at = xcalloc(ncomponents + 1, sizeof(*at));
	size_t i;

	for (i = 0; i < nnodes; i++)
		o->members_at[o->component[i] + 1]++;
	for (i = 0; i < ncomponents; i++) {
		o->left[i] = o->members_at[i + 1];
		o->members_at[i + 1] += o->members_at[i];
		at[i] = o->members_at[i];
	}
	for (i = 0; i < nnodes; i++)
		o->members[at[o->component[i]]++] = i;
	free(at);
}

static void
node_queue(struct ordering *o, size_t node)
{
	if (o->is_taken[node])
		return;
	o->is_taken[node] = true;
	o->queued[o->component[node]]++;
	heap_add(&o->ready, node);
}

/* The lowest node that is not taken yet. */
static void
component_start(struct ordering *o, size_t component)
{
	size_t i;

	for (i = o->members_at[component]; i < o->members_at[component + 1]; i++)
		if (!o->is_taken[o->members[i]]) {
			node_queue(o, o->members[i]);
			return;
		}
}

static void
ordering_begin(struct ordering *o, const struct graph *g)
{
	size_t n = g->nnodes, i, ncomponents;

	graph_reverse(g, &o->reversed);
	o->component = xcalloc(n + 1, sizeof(size_t));
	o->waits = xcalloc(n + 1, sizeof(size_t));
	o->is_taken = xcalloc(n + 1, sizeof(bool));
	o->outside = xcalloc(n + 1, sizeof(size_t));
	o->left = xcalloc(n + 1, sizeof(size_t));
	o->queued = xcalloc(n + 1, sizeof(size_t));
	o->members = xcalloc(n + 1, sizeof(size_t));
	o->members_at = xcalloc(n + 1, sizeof(size_t));
	o->ready.items = xcalloc(n + 1, sizeof(size_t));
	ncomponents = components_find(g, o->component);
	members_sort(o, n, ncomponents);
	for (i = 0; i < g->nedges; i++) {
		const struct edge *e = &g->edges[i];

		if (o->component[e->from] == o->component[e->to])
			o->waits[e->from]++;
		else
			o->outside[o->component[e->from]]++;
	}
	for (i = 0; i < ncomponents; i++)
		if (o->outside[i] == 0)
			component_start(o, i);
}

/* All of a component is done: tell the components that waited for it. */
static void
component_finish(struct ordering *o, size_t component)
{
	const struct graph *r = &o->reversed;
	size_t i, k;

	for (i = o->members_at[component]; i < o->members_at[component + 1]; i++) {
		size_t node = o->members[i];

		for (k = r->first[node]; k < r->first[node + 1]; k++) {
			size_t other = o->component[r->edges[k].to];

			if (other != component && --o->outside[other] == 0)
				component_start(o, other);
		}
	}
}

static void
node_finish(struct ordering *o, size_t node)
{
	const struct graph *r = &o->reversed;
	size_t component = o->component[node], i;

	o->queued[component]--;
	o->left[component]--;
	for (i = r->first[node]; i < r->first[node + 1]; i++) {
		size_t dependent = r->edges[i].to;

		if (o->component[dependent] == component && --o->waits[dependent] == 0)
			node_queue(o, dependent);
	}
	if (o->left[component] == 0)
		component_finish(o, component);
	else if (o->queued[component] == 0)
		component_start(o, component);
}

void
graph_order(const struct graph *g, size_t *ret_order)
{
	struct ordering o = { .component = NULL };
	size_t i;

	ordering_begin(&o, g);
	for (i = 0; i < g->nnodes; i++) {
		ret_order[i] = heap_take(&o.ready);
		node_finish(&o, ret_order[i]);
	}
	graph_release(&o.reversed);
	free(o.component);
	free(o.waits);
	free(o.is_taken);
	free(o.outside);
	free(o.left);
	free(o.queued);
	free(o.members);
	free(o.members_at);
	free(o.ready.items);
}

/* Nodes to be looked at, each once. */
struct frontier {
	size_t *items;
	size_t nitems;
	size_t *seen_by; /* who has put a node in, from 1 */
};

static void
frontier_add(struct frontier *f, size_t node, size_t by)
{
	if (f->seen_by[node] == by)
		return;
	f->seen_by[node] = by;
	f->items[f->nitems++] = node;
}

/* The selected nodes that one reaches through nodes that are not. */
static void
narrow_from(const struct graph *g, size_t from, const size_t *position,
	    const bool *selected, struct frontier *f, struct edge_list *into)
{
	size_t i;

	f->nitems = 0;
	frontier_add(f, from, from + 1);
	while (f->nitems > 0) {
		size_t node = f->items[--f->nitems];

		for (i = g->first[node]; i < g->first[node + 1]; i++) {
			size_t to = g->edges[i].to;

			if (!selected[to])
				frontier_add(f, to, from + 1);
			else if (position[to] < position[from])
				edge_list_add(into, from, to);
		}
	}
}

void
graph_narrow(const struct graph *g, const size_t *order, const bool *selected,
	     struct graph *ret_graph)
{
	size_t *position = xcalloc(g->nnodes + 1, sizeof(*position));
	struct frontier f = { .items = xcalloc(g->nnodes + 1, sizeof(size_t)),
			      .seen_by = xcalloc(g->nnodes + 1, sizeof(size_t)) };
	struct edge_list edges = EDGE_LIST_INIT;
	size_t i;

	for (i = 0; i < g->nnodes; i++)
		position[order[i]] = i;
	for (i = 0; i < g->nnodes; i++)
		if (selected[i])
			narrow_from(g, i, position, selected, &f, &edges);
	graph_from_edges(g->nnodes, edges.items, edges.nitems, ret_graph);
	free(edges.items);
	free(position);
	free(f.items);
	free(f.seen_by);
}

void
graph_add_dependents(const struct graph *g, bool *set, size_t *through)
{
	struct graph reversed;
	size_t *queue = xcalloc(g->nnodes + 1, sizeof(*queue));
	size_t head = 0, tail = 0, i;

	graph_reverse(g, &reversed);
	for (i = 0; i < g->nnodes; i++)
		if (set[i])
			queue[tail++] = i;
	while (head < tail) {
		size_t node = queue[head++];

		for (i = reversed.first[node]; i < reversed.first[node + 1]; i++) {
			size_t dependent = reversed.edges[i].to;

			if (set[dependent])
				continue;
			set[dependent] = true;
			if (through != NULL)
				through[dependent] = node;
			queue[tail++] = dependent;
		}
	}
	graph_release(&reversed);
	free(queue);
}

void
graph_release(struct graph *g)
{
	free(g->edges);
	free(g->first);
	*g = (struct graph)GRAPH_INIT;
}
