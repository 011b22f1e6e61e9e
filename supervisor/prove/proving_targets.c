/* SPDX-License-Identifier: MIT */
/*
 * Targets: the jobs of a step that is planted.  Of a step per workspace they are those
 * that a run over the copy would have and that the plant reaches: a workspace that it
 * took away is none that a run would notice anything in, and one that it made is.
 */
#include "supervisor/prove/proving.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/project/placeholder.h"
#include "supervisor/prove/survey.h"

const struct job *
proving_job(const struct proving *p, size_t i)
{
	return &p->setup->plan->jobs[p->order->first + i];
}

/* The planned job of a workspace, or NULL. */
static const struct job *
planned_job(const struct proving *p, const char *workspace)
{
	size_t i;

	for (i = 0; i < p->order->njobs; i++) {
		const struct job *job = proving_job(p, i);

		if (job->workspace != NULL && strcmp(job->workspace, workspace) == 0)
			return job;
	}
	return NULL;
}

static bool
step_excludes(const struct step *s, const char *workspace)
{
	struct error err = ERROR_INIT;
	bool excludes = false;
	size_t i;

	for (i = 0; i < s->exclude.nitems && !excludes; i++) {
		struct glob *g = NULL;

		excludes = strcmp(s->exclude.items[i], workspace) == 0;
		if (!excludes && glob_compile(s->exclude.items[i], &g, &err) == 0)
			excludes = glob_matches(g, workspace, strlen(workspace));
		glob_free(g);
	}
	return excludes;
}

/* Is it one that only the plant made, and that the step runs over? */
static bool
workspace_is_new(const struct proving *p, const char *workspace)
{
	const char *only = p->setup->only;

	return workspace_list_find(&p->setup->scope->workspaces, workspace) < 0 &&
	       (only == NULL || strchr(only, '@') == NULL) &&
	       !step_excludes(p->step, workspace);
}

static int
new_job(const struct proving *p, const char *workspace, struct job *ret_job,
	struct error *err)
{
	const struct placeholder table[] = {
		{ .name = "workspace", .values = &workspace, .nvalues = 1 },
	};
	char *command = NULL;

	if (placeholder_fill(p->step->command, table, 1, &command, err) < 0)
		return -1;
	*ret_job = (struct job){
		.step = p->step,
		.id = xasprintf("%s@%s", p->step->id, workspace),
		.command = command,
		.workspace = xstrdup(workspace),
	};
	return 0;
}

/* The prover's memory goes with it. */
static int
targets_fill(struct proving *p, const struct survey *s, struct error *err)
{
	size_t i;

	p->targets = xcalloc(s->npaths + 1, sizeof(*p->targets));
	for (i = 0; i < s->npaths; i++) {
		const struct job *job = planned_job(p, s->paths[i]);

		if (job != NULL)
			p->targets[p->ntargets++] = *job;
		else if (!workspace_is_new(p, s->paths[i]))
			continue;
		else if (new_job(p, s->paths[i], &p->targets[p->ntargets], err) < 0)
			return -1;
		else
			p->ntargets++;
	}
	return 0;
}

static int
targets_survey(struct proving *p, const struct changes *changes)
{
	struct survey s = SURVEY_INIT;
	struct error err = ERROR_INIT;
	int rc;

	rc = survey_start(&p->copy, p->setup->scope, changes, &s, &err);
	if (rc == 0) {
		proving_wait(p, s.pidfd, NULL);
		if (p->stopped != 0) {
			survey_release(&s);
			return proving_stop(p);
		}
		rc = survey_finish(&s, &err);
		/* A run would be refused there, and the step not run. */
		if (rc < 0)
			(void)error_wrap(&err, "the workspaces after the plant");
	}
	if (rc == 0)
		rc = targets_fill(p, &s, &err);
	survey_release(&s);
	return rc < 0 ? proving_trouble(p, &err) : 0;
}

int
proving_find_targets(struct proving *p, const struct changes *changes)
{
	size_t i;

	if (p->step->per == STEP_PER_WORKSPACE)
		return targets_survey(p, changes);
	p->targets = xcalloc(p->order->njobs + 1, sizeof(*p->targets));
	for (i = 0; i < p->order->njobs; i++)
		p->targets[p->ntargets++] = *proving_job(p, i);
	return 0;
}
