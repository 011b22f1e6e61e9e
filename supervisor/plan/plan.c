/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"

/* Tiers within tiers; each costs a few frames of stack here and in the run. */
enum {
	PLAN_DEPTH_MAX = 1000
};

struct planner {
	struct plan *plan;
	size_t jobs_room;
	size_t repeats_room;
	bool *is_planned; /* by tier */
	const char *only;
	size_t command_max; /* bytes that the kernel takes as one argument */
	struct error *err;
};

static int plan_items(struct planner *p, const struct tier *t, const struct item *items,
		      size_t n, struct node *into, unsigned depth);

static struct node *
node_add(struct node *parent, enum node_kind kind)
{
	struct node *n;

	parent->children = xreallocarray(parent->children, parent->nchildren + 1,
					 sizeof(*parent->children));
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

/* An empty sequence or group has nothing to run: it leaves the tree. */
static void
node_drop_if_empty(struct node *parent)
{
	struct node *last = &parent->children[parent->nchildren - 1];

	if (last->kind != NODE_JOB && last->nchildren == 0) {
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

static char *
command_for_shard(const char *command, unsigned shard, unsigned shards)
{
	struct buf b = BUF_INIT;
	const char *p = command;

	while (*p != '\0') {
		if (strncmp(p, "{shard}", 7) == 0) {
			buf_printf(&b, "%u", shard);
			p += 7;
		} else if (strncmp(p, "{shards}", 8) == 0) {
			buf_printf(&b, "%u", shards);
			p += 8;
		} else {
			buf_putc(&b, *p++);
		}
	}
	return buf_steal(&b);
}

/* Takes id and command. */
static int
plan_job(struct planner *p, const struct step *s, struct node *into, char *id,
	 char *command)
{
	struct plan *plan = p->plan;

	if (!only_names(p->only, s, id)) {
		free(id);
		free(command);
		return 0;
	}
	plan->jobs =
	    xgrow(plan->jobs, plan->njobs + 1, &p->jobs_room, sizeof(*plan->jobs));
	plan->jobs[plan->njobs] = (struct job){ .step = s, .id = id, .command = command };
	node_add(into, NODE_JOB)->job = plan->njobs++;
	if (plan->njobs > PLAN_JOBS_MAX)
		return error_set(p->err, ERROR_CONFIG,
				 "%s:%u:%u: %s: the plan of tier \"%s\" has more than %d "
				 "jobs; make it smaller",
				 CONFIG_FILE, s->place.line, s->place.column, s->path,
				 plan->tier->name, PLAN_JOBS_MAX);
	if (strlen(command) >= p->command_max)
		return error_set(p->err, ERROR_CONFIG,
				 "%s:%u:%u: %s: the command has %zu bytes, the kernel "
				 "takes %zu as one "
				 "argument; put it in a script",
				 CONFIG_FILE, s->place.line, s->place.column, s->path,
				 strlen(command), p->command_max - 1);
	return 0;
}

/* A key that is understood and whose machinery this version does not have, or NULL. */
static const char *
step_unavailable(const struct step *s)
{
	if (s->per == STEP_PER_WORKSPACE)
		return "per: \"workspace\"";
	if (s->runner)
		return "runner";
	if (s->jobserver)
		return "jobserver";
	return NULL;
}

static int
plan_step(struct planner *p, const struct step *s, struct node *into)
{
	const char *key = step_unavailable(s);
	struct node *group;
	unsigned i;

	if (key != NULL)
		return error_set(p->err, ERROR_CONFIG,
				 "%s:%u:%u: %s: %s is not available in this version; "
				 "leave the step out",
				 CONFIG_FILE, s->place.line, s->place.column, s->path,
				 key);
	if (s->per != STEP_PER_SHARD)
		return plan_job(p, s, into, xstrdup(s->id), xstrdup(s->command));
	group = node_add(into, NODE_GROUP);
	for (i = 1; i <= s->shards; i++)
		if (plan_job(p, s, group, xasprintf("%s@%u/%u", s->id, i, s->shards),
			     command_for_shard(s->command, i, s->shards)) < 0)
			return -1;
	node_drop_if_empty(into);
	return 0;
}

static int
plan_tier(struct planner *p, const struct tier *in, size_t index, struct node *into,
	  unsigned depth)
{
	const struct tier *t = &p->plan->config->tiers[index];
	struct plan *plan = p->plan;

	if (p->is_planned[index]) {
		plan->repeats = xgrow(plan->repeats, plan->nrepeats + 1, &p->repeats_room,
				      sizeof(*plan->repeats));
		plan->repeats[plan->nrepeats++] =
		    (struct plan_repeat){ .tier = t, .in = in };
		return 0;
	}
	if (depth >= PLAN_DEPTH_MAX)
		return error_set(
		    p->err, ERROR_CONFIG,
		    "%s:%u:%u: verify.%s: tiers within tiers more than %d deep",
		    CONFIG_FILE, t->place.line, t->place.column, t->name, PLAN_DEPTH_MAX);
	p->is_planned[index] = true;
	if (plan_items(p, t, t->items, t->nitems, node_add(into, NODE_SEQUENCE),
		       depth + 1) < 0)
		return -1;
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
only_refuse(const struct config *c, const struct tier *t, const char *only,
	    struct error *err)
{
	struct plan whole = PLAN_INIT;
	const char **ids;
	const char *near;
	size_t i;

	if (plan_build(c, t, NULL, &whole, err) < 0)
		return -1;
	ids = xcalloc(whole.njobs, sizeof(*ids));
	for (i = 0; i < whole.njobs; i++)
		ids[i] = whole.jobs[i].id;
	near = text_nearest(only, ids, whole.njobs);
	if (near == NULL && whole.njobs > 0)
		near = ids[0];
	(void)error_set(err, ERROR_USAGE,
			"--only: tier \"%s\" has no step \"%s\"; did you mean \"%s\"? "
			"(--dry-run lists them)",
			t->name, only, near);
	free(ids);
	plan_release(&whole);
	return -1;
}

int
plan_build(const struct config *c, const struct tier *t, const char *only,
	   struct plan *ret_plan, struct error *err)
{
	struct plan plan = { .config = c, .tier = t, .root = { .kind = NODE_SEQUENCE } };
	size_t index = (size_t)(t - c->tiers);
	struct planner p = {
		.plan = &plan,
		.only = only,
		/* Linux: MAX_ARG_STRLEN, 32 pages, the final NUL counted. */
		.command_max = (size_t)sysconf(_SC_PAGESIZE) * 32,
		.err = err,
	};
	int rc;

	p.is_planned = xcalloc(c->ntiers, sizeof(*p.is_planned));
	p.is_planned[index] = true;
	rc = plan_items(&p, t, t->items, t->nitems, &plan.root, 0);
	free(p.is_planned);
	if (rc == 0 && only != NULL && plan.njobs == 0)
		rc = only_refuse(c, t, only, err);
	if (rc < 0) {
		plan_release(&plan);
		return -1;
	}
	*ret_plan = plan;
	return 0;
}

void
plan_release(struct plan *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->njobs; i++) {
		free(p->jobs[i].id);
		free(p->jobs[i].command);
	}
	free(p->jobs);
	free(p->repeats);
	node_release(&p->root);
	*p = (struct plan)PLAN_INIT;
}
