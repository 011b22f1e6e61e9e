/* SPDX-License-Identifier: MIT */
/* Steps of more than one job: one a shard, one a workspace. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/plan/planner.h"
#include "supervisor/project/placeholder.h"

/* --- shards --- */

static int
plan_shard(struct planner *p, const struct step *s, struct node *into, unsigned shard)
{
	struct job j = { .step = s };
	char number[16], count[16];
	const char *one = number, *all = count;
	const struct placeholder table[] = {
		{ .name = "shard", .values = &one, .nvalues = 1 },
		{ .name = "shards", .values = &all, .nvalues = 1 },
	};

	(void)snprintf(number, sizeof(number), "%u", shard);
	(void)snprintf(count, sizeof(count), "%u", s->shards);
	if (placeholder_fill(s->command, table, 2, &j.command, p->err) < 0)
		return error_wrap(p->err, "%s:%u:%u: %s", CONFIG_FILE, s->place.line,
				  s->place.column, s->path);
	j.id = xasprintf("%s@%u/%u", s->id, shard, s->shards);
	return plan_job(p, into, &j);
}

int
plan_shards(struct planner *p, const struct step *s, struct node *into)
{
	struct node *group = node_add(into, NODE_GROUP);
	unsigned i;

	for (i = 1; i <= s->shards; i++)
		if (plan_shard(p, s, group, i) < 0)
			return -1;
	node_drop_if_empty(into);
	return 0;
}

/* --- workspaces --- */

/* Workspaces that the step leaves out; an exclusion that matches none is refused, and
 * those that leave none. */
static int
step_exclude(struct planner *p, const struct step *s, bool *ret_is_out)
{
	const struct workspace_list *l = &p->scope->workspaces;
	size_t i, k;

	for (i = 0; i < s->exclude.nitems; i++) {
		const char *pattern = s->exclude.items[i];
		struct glob *g = NULL;
		bool matched = false;
		char key[40], why[300];

		if (glob_compile(pattern, &g, p->err) < 0)
			return -1;
		for (k = 0; k < l->nitems; k++) {
			const char *path = l->items[k].path;

			if (strcmp(pattern, path) != 0 &&
			    !glob_matches(g, path, strlen(path)))
				continue;
			matched = true;
			ret_is_out[k] = true;
		}
		glob_free(g);
		if (matched)
			continue;
		(void)snprintf(key, sizeof(key), ".exclude[%zu]", i);
		(void)snprintf(why, sizeof(why),
			       "\"%.200s\" matches no workspace; take it out", pattern);
		return planner_refuse(p, s, key, why);
	}
	for (i = 0; i < l->nitems; i++)
		if (!ret_is_out[i])
			return 0;
	return planner_refuse(p, s, ".exclude",
			      "it leaves no workspace, so the step measures nothing; "
			      "take the step out");
}

static int
plan_workspace(struct planner *p, const struct step *s, struct node *into, size_t w)
{
	const struct workspace *ws = &p->scope->workspaces.items[w];
	const char *path = ws->path;
	const struct placeholder table[] = {
		{ .name = "workspace", .values = &path, .nvalues = 1 },
	};
	struct job j = { .step = s, .workspace = path, .why = p->scope->why[w] };

	if (placeholder_fill(s->command, table, 1, &j.command, p->err) < 0)
		return error_wrap(p->err, "%s:%u:%u: %s", CONFIG_FILE, s->place.line,
				  s->place.column, s->path);
	j.id = xasprintf("%s@%s", s->id, path);
	return plan_job(p, into, &j);
}

/*
 * Dependencies before dependents: a job waits for those of the workspaces that its own
 * depends on, also through ones that do not run.  Jobs of this step begin at `first`;
 * `job_of` has the job of each workspace, or SIZE_MAX.
 */
static void
plan_link(struct planner *p, const size_t *order, const bool *is_in, const size_t *job_of)
{
	const struct workspace_list *l = &p->scope->workspaces;
	struct graph narrow = GRAPH_INIT;
	size_t w, e;

	graph_narrow(&p->scope->graph, order, is_in, &narrow);
	for (w = 0; w < l->nitems; w++) {
		struct job *j;

		if (job_of[w] == SIZE_MAX)
			continue;
		j = &p->plan->jobs[job_of[w]];
		j->needs =
		    xcalloc(narrow.first[w + 1] - narrow.first[w], sizeof(*j->needs));
		for (e = narrow.first[w]; e < narrow.first[w + 1]; e++)
			if (job_of[narrow.edges[e].to] != SIZE_MAX)
				j->needs[j->nneeds++] = job_of[narrow.edges[e].to];
	}
	graph_release(&narrow);
}

/* The step stands in the report though it has nothing to run. */
static int
plan_nothing(struct planner *p, const struct step *s, struct node *into, bool is_excluded)
{
	struct job j = { .step = s,
			 .id = xstrdup(s->id),
			 .command = xstrdup(s->command) };

	if (is_excluded)
		j.nothing = xstrdup("no workspace is affected that it does not exclude");
	else
		j.nothing = xasprintf("no workspace is affected: %s",
				      p->scope->reason != NULL ? p->scope->reason
							       : "no change reaches one");
	return plan_job(p, into, &j);
}

/* A job for each workspace that is in, in the graph's order, and what each waits for. */
static int
plan_each(struct planner *p, const struct step *s, struct node *into, const bool *is_in)
{
	size_t n = p->scope->workspaces.nitems;
	size_t *order = xcalloc(n, sizeof(*order));
	size_t *job_of = xcalloc(n, sizeof(*job_of));
	int rc = 0;
	size_t i;

	for (i = 0; i < n; i++)
		job_of[i] = SIZE_MAX;
	graph_order(&p->scope->graph, order);
	for (i = 0; i < n && rc == 0; i++) {
		size_t before = p->plan->njobs;

		if (is_in[order[i]])
			rc = plan_workspace(p, s, into, order[i]);
		if (rc == 0 && p->plan->njobs > before)
			job_of[order[i]] = before;
	}
	if (rc == 0)
		plan_link(p, order, is_in, job_of);
	free(order);
	free(job_of);
	return rc;
}

int
plan_workspaces(struct planner *p, const struct step *s, struct node *into)
{
	size_t n = p->scope->workspaces.nitems;
	struct node *group;
	bool *is_in, any_selected = false, any_in = false;
	int rc;
	size_t i;

	if (n == 0)
		return planner_refuse(
		    p, s, ".per",
		    "\"workspace\" measures nothing here: there is no workspace "
		    "(package.json \"workspaces\", pnpm-workspace.yaml, Cargo.toml "
		    "[workspace], go.work)");
	group = node_add(into, NODE_GROUP);
	is_in = xcalloc(n, sizeof(*is_in)); /* out, until it is turned round */
	rc = step_exclude(p, s, is_in);
	for (i = 0; i < n; i++) {
		any_selected = any_selected || p->scope->is_selected[i];
		is_in[i] = !is_in[i] && p->scope->is_selected[i];
		any_in = any_in || is_in[i];
	}
	if (rc == 0)
		rc = plan_each(p, s, group, is_in);
	if (rc == 0 && !any_in)
		rc = plan_nothing(p, s, group, any_selected);
	node_drop_if_empty(into);
	free(is_in);
	return rc;
}
