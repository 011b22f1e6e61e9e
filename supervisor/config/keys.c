/* SPDX-License-Identifier: MIT */
#include "supervisor/config/keys.h"

#include <string.h>

#include "supervisor/base/text.h"
#include "supervisor/config/config.h"

const struct step_key step_keys[STEP_KEYS] = {
	[STEP_COMMAND] = { "command", KEY_TEXT, offsetof(struct step, command), NULL,
			   "A shell command, or exactly the name of a tier." },
	[STEP_PER] = { "per", KEY_PER, offsetof(struct step, per), NULL,
		       "Run once a workspace ({workspace}) or once a shard ({shard})." },
	[STEP_EXCLUDE] = { "exclude", KEY_PATHS, offsetof(struct step, exclude), NULL,
			   "Workspaces, as paths or globs, that are left out." },
	[STEP_SHARDS] = { "shards", KEY_SHARDS, offsetof(struct step, shards), NULL,
			  "How many pieces the step is cut into." },
	[STEP_BATCH] = { "batch", KEY_TEXT, offsetof(struct step, batch), NULL,
			 "A command that runs once over all {workspaces}." },
	[STEP_ALSO] = { "also", KEY_PATHS, offsetof(struct step, also), NULL,
			"Paths that always ride with the batch." },
	[STEP_COUNTS] = { "counts", KEY_WORD, offsetof(struct step, counts),
			  "vitest-json",
			  "The report that the batch writes to {report}." },
	[STEP_GRAPH] = { "graph", KEY_WORD, offsetof(struct step, graph), "vitest",
			 "Narrow the batch by the runner's own import graph." },
	[STEP_TURBO] = { "turbo", KEY_TEXT, offsetof(struct step, turbo), NULL,
			 "The turbo task that stands for the command where turbo is." },
	[STEP_FORCE] = { "force", KEY_FLAG, offsetof(struct step, force), NULL,
			 "Run the turbo task whatever its cache has." },
	[STEP_PROVES] = { "proves", KEY_PROVES, offsetof(struct step, plant), NULL,
			  "How the step can be made to fail." },
	[STEP_HISTORY] = { "history", KEY_FLAG, offsetof(struct step, history), NULL,
			   "The step reads git history: its copy is a repository." },
	[STEP_RUNNER] = { "runner", KEY_FLAG, offsetof(struct step, runner), NULL,
			  "The step runs tests." },
	[STEP_FAILURE_MARK] = { "failureMark", KEY_REGEX,
				offsetof(struct step, failure_mark), NULL,
				"A regex that the step's own failure lines match." },
	[STEP_SLOTS] = { "slots", KEY_SLOTS, offsetof(struct step, slots_kind), NULL,
			 "How many slots of the machine the step takes." },
	[STEP_JOBSERVER] = { "jobserver", KEY_FLAG, offsetof(struct step, jobserver),
			     NULL,
			     "Hand the slots to the step as a GNU make jobserver." },
};

const struct step_rule step_rules[] = {
	{ STEP_SHARDS, NULL, STEP_PER, "shard",
	  "only a sharded step is cut into pieces" },
	{ STEP_PER, "shard", STEP_SHARDS, NULL, "it says how many pieces" },
	{ STEP_EXCLUDE, NULL, STEP_PER, "workspace", "it leaves workspaces out" },
	{ STEP_BATCH, NULL, STEP_PER, "workspace", "it runs over workspaces" },
	{ STEP_TURBO, NULL, STEP_PER, "workspace", "turbo runs a task in workspaces" },
	{ STEP_ALSO, NULL, STEP_BATCH, NULL, "its paths ride with the batch" },
	{ STEP_COUNTS, NULL, STEP_BATCH, NULL, "it reads the batch's report" },
	{ STEP_GRAPH, NULL, STEP_BATCH, NULL, "it narrows the batch" },
	{ STEP_FORCE, NULL, STEP_TURBO, NULL, "it passes turbo's cache by" },
	{ STEP_HISTORY, NULL, STEP_PROVES, NULL, "it is about the copy that is planted" },
	{ STEP_JOBSERVER, NULL, STEP_SLOTS, NULL, "it hands the step's slots on" },
};
const size_t nstep_rules = sizeof(step_rules) / sizeof(step_rules[0]);

const struct step_light_rule step_light_rules[] = {
	{ STEP_JOBSERVER, "a light step holds no slot to hand on" },
	{ STEP_TURBO, "turbo runs as many tasks at once as the step holds slots" },
};
const size_t nstep_light_rules = sizeof(step_light_rules) / sizeof(step_light_rules[0]);

const struct root_key root_keys[ROOT_KEYS] = {
	[ROOT_VERIFY] = { "verify", "The tiers: of each the list of its steps." },
	[ROOT_BUDGETS] = { "budgets",
			   "Milliseconds that a tier may take before a WARN." },
	[ROOT_CAPS] = { "caps", "What every run of this directory stays under." },
	[ROOT_DOCUMENTS] = { "documents", "Globs of files that select no workspace." },
	[ROOT_VERSION_FILES] = { "versionFiles",
				 "Files in which a new version number is no change." },
	[ROOT_KEY_ENV] = { "keyEnv", "Environment variables that a verdict depends on." },
	[ROOT_KEY_FILES] = { "keyFiles", "Ignored files that a verdict depends on." },
};

enum step_key_id
step_key_find(const char *name)
{
	size_t i = 0;

	while (i < STEP_KEYS && strcmp(step_keys[i].name, name) != 0)
		i++;
	return (enum step_key_id)i;
}

enum root_key_id
root_key_find(const char *name)
{
	size_t i = 0;

	while (i < ROOT_KEYS && strcmp(root_keys[i].name, name) != 0)
		i++;
	return (enum root_key_id)i;
}

const char *
step_key_nearest(const char *name)
{
	const char *names[STEP_KEYS + 1];
	size_t n = 0;

	for (; n < STEP_KEYS; n++)
		names[n] = step_keys[n].name;
	names[n++] = "parallel";
	return text_nearest(name, names, n);
}

const char *
root_key_nearest(const char *name)
{
	const char *names[ROOT_KEYS], *near;
	size_t given = strlen(name), meant, longer;

	for (size_t i = 0; i < ROOT_KEYS; i++)
		names[i] = root_keys[i].name;
	near = text_nearest(name, names, ROOT_KEYS);
	if (near == NULL)
		return NULL;
	/*
	 * Here others have keys of their own: `version` is no slip for `versionFiles`.
	 * So a common beginning is not enough.
	 */
	meant = strlen(near);
	longer = given > meant ? given : meant;
	return (given > meant ? given - meant : meant - given) * 3 <= longer ? near
									     : NULL;
}
