/* SPDX-License-Identifier: MIT */
#include "supervisor/config/cycle.h"

#include <stdlib.h>

#include "ipc/buf.h"
#include "ipc/mem.h"

void
tier_edges_add(struct tier_edges *e, size_t from, size_t to, size_t value)
{
	e->items = xgrow(e->items, e->nitems + 1, &e->room, sizeof(*e->items));
	e->items[e->nitems++] = (struct tier_edge){ from, to, value };
}

void
tier_edges_release(struct tier_edges *e)
{
	free(e->items);
	*e = (struct tier_edges){ NULL, 0, 0 };
}

/* A walk that keeps its own stack: tiers may be nested as deep as the file is long. */
struct cycle_walk {
	const struct tier_edges *edges;
	size_t *at;    /* by tier: its next edge; nitems past the last */
	bool *is_done; /* by tier: nothing below it reaches itself */
	bool *is_open; /* by tier: on the stack */
	size_t *stack;
	size_t depth;
};

static int
cycle_refuse(const struct cycle_walk *w, const struct tier_edge *last,
	     const struct document *d, const struct config *c, struct error *err)
{
	struct buf round = BUF_INIT;
	size_t at = w->depth;

	while (w->stack[at - 1] != last->to)
		at--;
	for (at--; at < w->depth; at++)
		buf_printf(&round, "%s → ", c->tiers[w->stack[at]].name);
	buf_puts(&round, c->tiers[last->to].name);
	(void)document_refuse(d, last->value, err, "a tier that reaches itself: %s",
			      buf_text(&round));
	buf_release(&round);
	return -1;
}

static void
cycle_enter(struct cycle_walk *w, size_t tier)
{
	w->is_open[tier] = true;
	w->stack[w->depth++] = tier;
}

/* The edge that closes a cycle, below the tier, or NULL. */
static const struct tier_edge *
cycle_find(struct cycle_walk *w, size_t tier)
{
	const struct tier_edges *e = w->edges;

	cycle_enter(w, tier);
	while (w->depth > 0) {
		const struct tier_edge *edge;

		tier = w->stack[w->depth - 1];
		edge = w->at[tier] < e->nitems ? &e->items[w->at[tier]] : NULL;
		if (edge == NULL || edge->from != tier) {
			w->is_open[tier] = false;
			w->is_done[tier] = true;
			w->depth--;
			continue;
		}
		w->at[tier]++;
		if (w->is_open[edge->to])
			return edge;
		if (!w->is_done[edge->to])
			cycle_enter(w, edge->to);
	}
	return NULL;
}

int
tier_edges_check(const struct tier_edges *e, const struct document *d,
		 const struct config *c, struct error *err)
{
	struct cycle_walk w = { .edges = e };
	const struct tier_edge *found = NULL;
	int rc = 0;

	w.at = xreallocarray(NULL, c->ntiers + 1, sizeof(*w.at));
	w.stack = xreallocarray(NULL, c->ntiers + 1, sizeof(*w.stack));
	w.is_done = xcalloc(c->ntiers + 1, sizeof(*w.is_done));
	w.is_open = xcalloc(c->ntiers + 1, sizeof(*w.is_open));
	for (size_t i = 0; i < c->ntiers; i++)
		w.at[i] = e->nitems;
	for (size_t i = e->nitems; i > 0; i--)
		w.at[e->items[i - 1].from] = i - 1;
	for (size_t i = 0; i < c->ntiers && found == NULL; i++)
		if (!w.is_done[i])
			found = cycle_find(&w, i);
	if (found != NULL)
		rc = cycle_refuse(&w, found, d, c, err);
	free(w.at);
	free(w.stack);
	free(w.is_done);
	free(w.is_open);
	return rc;
}
