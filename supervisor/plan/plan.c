/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/plan/planner.h"

/* Tiers within tiers; each costs a few frames of stack here and in the run. */
enum {
	PLAN_DEPTH_MAX = 1000
};

static int plan_items(struct planner *p, const struct tier *t, const struct item *items,
		      size_t n, struct node *into, unsigned depth);

struct node *
node_add(struct node *parent, enum node_kind kind)
{
	size_t have = parent->nchildren;
	struct node *n;

	/* Room for a power of two: what grows by one is copied as often as it grows. */
	if ((have & (have - 1)) == 0)
		parent->children = xreallocarray(
		    parent->children, have > 0 ? 2 * have : 1, sizeof(*parent->children));
	n = &parent->children[parent->nchildren++];
	*n = (struct node){ .kind = kind };
	return n;
}

static void
node_release(struct node *n)
{
	size_t i;

	for (i = 0; i < n->nchildren; i++)
		node_release(&n->children[i]);
	free(n->children);
	*n = (struct node){ .kind = NODE_SEQUENCE };
}

void
node_drop_if_empty(struct node *parent)
{
	struct node *last = &parent->children[parent->nchildren - 1];

	if ((last->kind == NODE_SEQUENCE || last->kind == NODE_GROUP) &&
	    last->nchildren == 0) {
		node_release(last);
		parent->nchildren--;
	}
}

/* Is the job `id` of the step asked for: the step's id names all of its jobs. */
static bool
only_names(const char *only, const struct step *s, const char *id)
{
	return only == NULL || strcmp(only, s->id) == 0 || strcmp(only, id) == 0;
}

int
planner_refuse(struct planner *p, const struct step *s, const char *key, const char *why)
{
	return error_set(p->err, ERROR_CONFIG, "%s:%u:%u: %s%s: %s", CONFIG_FILE,
			 s->place.line, s->place.column, s->path, key, why);
}

static int
job_check(struct planner *p, const struct job *j)
{
	char why[200];

	if (p->plan->njobs > PLAN_JOBS_MAX) {
		(void)snprintf(
		    why, sizeof(why),
		    "the plan of tier \"%s\" has more than %d jobs; make it smaller",
		    p->plan->tier->name, PLAN_JOBS_MAX);
		return planner_refuse(p, j->step, ".command", why);
	}
	if (strlen(j->command) >= p->command_max) {
		(void)snprintf(why, sizeof(why),
			       "the command has %zu bytes, the kernel takes %zu as one "
			       "argument; put it in a script",
			       strlen(j->command), p->command_max - 1);
		return planner_refuse(p, j->step, ".command", why);
	}
	return 0;
}

static void
job_release(struct job *j)
{
	free(j->id);
	free(j->command);
	free(j->nothing);
	free(j->needs);
}

int
plan_job(struct planner *p, struct node *into, struct job *j)
{
	struct plan *plan = p->plan;

	if (!only_names(p->only, j->step, j->id)) {
		job_release(j);
		return 0;
	}
	plan->jobs =
	    xgrow(plan->jobs, plan->njobs + 1, &p->jobs_room, sizeof(*plan->jobs));
	plan->jobs[plan->njobs] = *j;
	node_add(into, NODE_JOB)->job = plan->njobs++;
	return job_check(p, &plan->jobs[plan->njobs - 1]);
}

/* --- steps and tiers --- */

/* A key that is understood and whose machinery this version does not have, or NULL. */
static const char *
step_unavailable(const struct step *s)
{
	if (s->batch != NULL)
		return "batch";
	if (s->turbo != NULL)
		return "turbo";
	return NULL;
}

static int
plan_step(struct planner *p, const struct step *s, struct node *into)
{
	const char *key = step_unavailable(s);
	struct job j = { .step = s };
	char why[100];

	if (key != NULL) {
		(void)snprintf(why, sizeof(why),
			       "%s is not available in this version; leave the step out",
			       key);
		return planner_refuse(p, s, "", why);
	}
	if (s->per == STEP_PER_SHARD)
		return plan_shards(p, s, into);
	if (s->per == STEP_PER_WORKSPACE)
		return plan_workspaces(p, s, into);
	j.id = xstrdup(s->id);
	j.command = xstrdup(s->command);
	return plan_job(p, into, &j);
}

static int
plan_tier(struct planner *p, const struct tier *in, size_t index, struct node *into,
	  unsigned depth)
{
	const struct tier *t = &p->plan->config->tiers[index];
	struct plan *plan = p->plan;
	struct node *sequence;

	if (p->is_planned[index]) {
		plan->repeats = xgrow(plan->repeats, plan->nrepeats + 1, &p->repeats_room,
				      sizeof(*plan->repeats));
		plan->repeats[plan->nrepeats++] =
		    (struct plan_repeat){ .tier = t, .in = in };
		if (p->has_jobs[index])
			node_add(into, NODE_WAIT)->tier = index + 1;
		return 0;
	}
	if (depth >= PLAN_DEPTH_MAX)
		return error_set(
		    p->err, ERROR_CONFIG,
		    "%s:%u:%u: verify.%s: tiers within tiers more than %d deep",
		    CONFIG_FILE, t->place.line, t->place.column, t->name, PLAN_DEPTH_MAX);
	p->is_planned[index] = true;
	sequence = node_add(into, NODE_SEQUENCE);
	sequence->tier = index + 1;
	if (plan_items(p, t, t->items, t->nitems, sequence, depth + 1) < 0)
		return -1;
	p->has_jobs[index] = sequence->nchildren > 0;
	node_drop_if_empty(into);
	return 0;
}

static int
plan_items(struct planner *p, const struct tier *t, const struct item *items, size_t n,
	   struct node *into, unsigned depth)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < n && rc == 0; i++) {
		const struct item *it = &items[i];

		switch (it->kind) {
		case ITEM_STEP:
			rc = plan_step(p, it->step, into);
			break;
		case ITEM_TIER:
			rc = plan_tier(p, t, it->tier, into, depth);
			break;
		case ITEM_GROUP:
			rc = plan_items(p, t, it->members, it->nmembers,
					node_add(into, NODE_GROUP), depth);
			if (rc == 0)
				node_drop_if_empty(into);
			break;
		}
	}
	return rc;
}

/* Nothing has the id that was asked for: name the nearest of those there are. */
static int
only_refuse(const struct config *c, const struct tier *t, const struct scope *scope,
	    const char *only, struct error *err)
{
	struct plan whole = PLAN_INIT;
	const char **ids;
	const char *near;
	size_t i;

	if (plan_build(c, t, scope, NULL, &whole, err) < 0)
		return -1;
	ids = xcalloc(whole.njobs, sizeof(*ids));
	for (i = 0; i < whole.njobs; i++)
		ids[i] = whole.jobs[i].id;
	near = text_nearest(only, ids, whole.njobs);
	if (near == NULL && whole.njobs > 0)
		near = ids[0];
	(void)error_set(err, ERROR_USAGE,
			"--only: tier \"%s\" has no step \"%s\"%s; did you mean \"%s\"? "
			"(geonosis verify %s --dry-run lists them)",
			t->name, only,
			scope->leaves_out ? " in what the change reaches" : "", near,
			t->name);
	free(ids);
	plan_release(&whole);
	return -1;
}

int
plan_build(const struct config *c, const struct tier *t, const struct scope *scope,
	   const char *only, struct plan *ret_plan, struct error *err)
{
	struct plan plan = { .config = c, .tier = t, .root = { .kind = NODE_SEQUENCE } };
	size_t index = (size_t)(t - c->tiers);
	struct planner p = {
		.plan = &plan,
		.scope = scope,
		.only = only,
		/* Linux: MAX_ARG_STRLEN, 32 pages, the final NUL counted. */
		.command_max = (size_t)sysconf(_SC_PAGESIZE) * 32,
		.err = err,
	};
	int rc;

	p.is_planned = xcalloc(c->ntiers, sizeof(*p.is_planned));
	p.has_jobs = xcalloc(c->ntiers, sizeof(*p.has_jobs));
	p.is_planned[index] = true;
	rc = plan_items(&p, t, t->items, t->nitems, &plan.root, 0);
	free(p.is_planned);
	free(p.has_jobs);
	if (rc == 0 && only != NULL && plan.njobs == 0)
		rc = only_refuse(c, t, scope, only, err);
	if (rc < 0) {
		plan_release(&plan);
		return -1;
	}
	*ret_plan = plan;
	return 0;
}

static bool
items_have_workspace_steps(const struct config *c, const struct item *items, size_t n,
			   bool *is_seen)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct item *it = &items[i];

		if (it->kind == ITEM_STEP && it->step->per == STEP_PER_WORKSPACE)
			return true;
		if (it->kind == ITEM_GROUP &&
		    items_have_workspace_steps(c, it->members, it->nmembers, is_seen))
			return true;
		/* Tiers are gone through by the caller, one by one: no recursion by their
		 * names. */
		if (it->kind == ITEM_TIER)
			is_seen[it->tier] = true;
	}
	return false;
}

bool
plan_has_workspace_steps(const struct config *c, const struct tier *t)
{
	bool *is_seen = xcalloc(c->ntiers, sizeof(*is_seen));
	bool *is_done = xcalloc(c->ntiers, sizeof(*is_done));
	bool found = false, more = true;
	size_t i;

	is_seen[t - c->tiers] = true;
	while (more && !found) {
		more = false;
		for (i = 0; i < c->ntiers && !found; i++) {
			if (!is_seen[i] || is_done[i])
				continue;
			is_done[i] = more = true;
			found = items_have_workspace_steps(c, c->tiers[i].items,
							   c->tiers[i].nitems, is_seen);
		}
	}
	free(is_seen);
	free(is_done);
	return found;
}

void
plan_release(struct plan *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->njobs; i++)
		job_release(&p->jobs[i]);
	free(p->jobs);
	free(p->repeats);
	node_release(&p->root);
	*p = (struct plan)PLAN_INIT;
}
