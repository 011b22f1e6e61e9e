/* SPDX-License-Identifier: MIT */
/*
 * The plan's tree once more, with what changes beside it.  `open` counts the jobs
 * below a node that have not ended, and the waits; `idle` the jobs that have not
 * started; `first` skips children that are over, so that a long sequence costs no
 * search.
 */
#include "supervisor/run/schedule.h"

#include <stdlib.h>

#include "ipc/mem.h"

struct entry {
	struct entry *parent;
	struct entry *children;
	size_t nchildren;
	size_t first; /* NODE_SEQUENCE: children before it are over */
	/*
	 * NODE_GROUP: from each child the next that may have something idle (itself at
	 * first, with one more at the end), shortened as it is walked: what has started
	 * is passed over once.
	 */
	size_t *next;
	size_t open;
	size_t idle;
	enum node_kind kind;
	size_t job;
	size_t tier;		 /* as the node has it */
	struct entry *waits;	 /* that are over when this is */
	struct entry *next_wait; /* in the list that it is in */
};

struct schedule {
	const struct plan *plan;
	struct entry root;
	struct entry **by_job;
	struct entry **by_tier; /* NULL where it has no node */
	size_t ntiers;
	size_t tiers_room;
};

/* What a tier's number leads to; made when first asked for. */
static struct entry **
schedule_tier(struct schedule *s, size_t tier)
{
	s->by_tier = xgrow(s->by_tier, tier + 1, &s->tiers_room, sizeof(*s->by_tier));
	while (s->ntiers <= tier)
		s->by_tier[s->ntiers++] = NULL;
	return &s->by_tier[tier];
}

static void
entry_fill(struct schedule *s, struct entry *e, const struct node *n,
	   struct entry *parent)
{
	size_t i;

	*e = (struct entry){
		.parent = parent, .kind = n->kind, .job = n->job, .tier = n->tier
	};
	if (n->kind == NODE_SEQUENCE && n->tier > 0)
		*schedule_tier(s, n->tier) = e;
	if (n->kind == NODE_WAIT)
		return;
	if (n->kind == NODE_JOB) {
		e->open = e->idle = 1;
		s->by_job[n->job] = e;
		return;
	}
	e->nchildren = n->nchildren;
	e->children = xcalloc(n->nchildren, sizeof(*e->children));
	for (i = 0; i < n->nchildren; i++) {
		entry_fill(s, &e->children[i], &n->children[i], e);
		e->open += e->children[i].open;
	}
	e->idle = e->open;
	if (n->kind != NODE_GROUP)
		return;
	e->next = xcalloc(n->nchildren + 1, sizeof(*e->next));
	for (i = 0; i <= n->nchildren; i++)
		e->next[i] = i;
}

/* Every wait joins the list of what it waits for, and is open in all around it. */
static void
entry_link_waits(struct schedule *s, struct entry *e)
{
	struct entry *target;
	size_t i;

	for (i = 0; i < e->nchildren; i++)
		entry_link_waits(s, &e->children[i]);
	if (e->kind != NODE_WAIT)
		return;
	target = *schedule_tier(s, e->tier);
	if (target == NULL || target->open == 0)
		return;
	e->next_wait = target->waits;
	target->waits = e;
	for (; e != NULL; e = e->parent)
		e->open++;
}

/* One thing less is open in an entry and in all around it; likewise for each wait that
 * this lets go. */
static void
entry_close(struct entry *e)
{
	struct entry *pending = NULL, *last;

	while (e != NULL) {
		for (; e != NULL; e = e->parent) {
			if (--e->open > 0 || e->waits == NULL)
				continue;
			for (last = e->waits; last->next_wait != NULL;)
				last = last->next_wait;
			last->next_wait = pending;
			pending = e->waits;
			e->waits = NULL;
		}
		e = pending;
		pending = e != NULL ? e->next_wait : NULL;
	}
}

static void
entry_release(struct entry *e)
{
	size_t i;

	for (i = 0; i < e->nchildren; i++)
		entry_release(&e->children[i]);
	free(e->children);
	free(e->next);
}

struct schedule *
schedule_new(const struct plan *p)
{
	struct schedule *s = xcalloc(1, sizeof(*s));

	s->plan = p;
	s->by_job = xcalloc(p->njobs, sizeof(*s->by_job));
	entry_fill(s, &s->root, &p->root, NULL);
	entry_link_waits(s, &s->root);
	return s;
}

/* What a job of a step that runs per workspace waits for, beside the tree's own order. */
static bool
job_may_start(const struct schedule *s, const struct job *j)
{
	size_t i;

	for (i = 0; i < j->nneeds; i++)
		if (s->by_job[j->needs[i]]->open > 0)
			return false;
	return true;
}

static struct entry *entry_next(const struct schedule *s, struct entry *e);

/* The first child from i on that has something idle; nchildren where none has. */
static size_t
group_next(struct entry *e, size_t i)
{
	for (;;) {
		while (e->next[i] != i) {
			e->next[i] = e->next[e->next[i]];
			i = e->next[i];
		}
		if (i == e->nchildren || e->children[i].idle > 0)
			return i;
		e->next[i] = i + 1;
	}
}

static struct entry *
sequence_next(const struct schedule *s, struct entry *e)
{
	while (e->first < e->nchildren && e->children[e->first].open == 0)
		e->first++;
	return e->first < e->nchildren ? entry_next(s, &e->children[e->first]) : NULL;
}

static struct entry *
entry_next(const struct schedule *s, struct entry *e)
{
	size_t i;

	if (e->idle == 0)
		return NULL;
	if (e->kind == NODE_JOB)
		return job_may_start(s, &s->plan->jobs[e->job]) ? e : NULL;
	if (e->kind == NODE_SEQUENCE)
		return sequence_next(s, e);
	for (i = group_next(e, 0); i < e->nchildren; i = group_next(e, i + 1)) {
		struct entry *found = entry_next(s, &e->children[i]);

		if (found != NULL)
			return found;
	}
	return NULL;
}

bool
schedule_next(struct schedule *s, size_t *ret_job)
{
	struct entry *e = entry_next(s, &s->root);

	if (e == NULL)
		return false;
	*ret_job = e->job;
	for (; e != NULL; e = e->parent)
		e->idle--;
	return true;
}

void
schedule_done(struct schedule *s, size_t job)
{
	entry_close(s->by_job[job]);
}

size_t
schedule_left(const struct schedule *s)
{
	return s->root.idle;
}

void
schedule_free(struct schedule *s)
{
	if (s == NULL)
		return;
	entry_release(&s->root);
	free(s->by_job);
	free(s->by_tier);
	free(s);
}
