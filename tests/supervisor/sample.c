/* SPDX-License-Identifier: MIT */
#include "tests/supervisor/sample.h"

static char plant[] = "printf debugger >src/planted.ts";
static char expect[] = "no-debugger";

static const struct step steps[] = {
	{ .id = (char[]){ "fast/1" }, .path = (char[]){ "verify.fast[0]" } },
	{ .id = (char[]){ "fast/2" },
	  .path = (char[]){ "verify.fast[1]" },
	  .plant = plant,
	  .expect = expect },
	{ .id = (char[]){ "full/1" }, .path = (char[]){ "verify.full[0].parallel[1]" } },
	{ .id = (char[]){ "full/2" }, .path = (char[]){ "verify.full[1]" } },
};

static struct job jobs[SAMPLE_JOBS] = {
	{ .step = &steps[0],
	  .id = (char[]){ "fast/1" },
	  .command = (char[]){ "pnpm typecheck" } },
	{ .step = &steps[1],
	  .id = (char[]){ "fast/2" },
	  .command = (char[]){ "pnpm lint" } },
	{ .step = &steps[2],
	  .id = (char[]){ "full/1@1/2" },
	  .command = (char[]){ "pnpm e2e --shard=1/2" } },
	{ .step = &steps[2],
	  .id = (char[]){ "full/1@2/2" },
	  .command = (char[]){ "pnpm e2e --shard=2/2" } },
	{ .step = &steps[3],
	  .id = (char[]){ "full/2" },
	  .command = (char[]){ "pnpm build" } },
};

static struct node lane[] = { { NODE_JOB, SAMPLE_TYPECHECK, NULL, 0, 0 },
			      { NODE_JOB, SAMPLE_LINT, NULL, 0, 0 } };
static struct node shards[] = { { NODE_JOB, SAMPLE_E2E_1, NULL, 0, 0 },
				{ NODE_JOB, SAMPLE_E2E_2, NULL, 0, 0 } };
static struct node members[] = { { NODE_SEQUENCE, 0, lane, 2, 0 },
				 { NODE_GROUP, 0, shards, 2, 0 } };
static struct node items[] = { { NODE_GROUP, 0, members, 2, 0 },
			       { NODE_JOB, SAMPLE_BUILD, NULL, 0, 0 } };

static const struct tier tier_fast = { .name = (char[]){ "fast" }, .budget_ms = -1 };
static const struct tier tier_full = { .name = (char[]){ "full" }, .budget_ms = -1 };
static struct plan_repeat repeats[] = { { &tier_fast, &tier_full } };

static const struct plan plan = {
	.tier = &tier_full,
	.jobs = jobs,
	.njobs = SAMPLE_JOBS,
	.root = { NODE_SEQUENCE, 0, items, 2, 0 },
	.repeats = repeats,
	.nrepeats = 1,
};

const struct plan *
sample_plan(void)
{
	return &plan;
}

void
sample_results(struct result results[static SAMPLE_JOBS])
{
	size_t i;

	for (i = 0; i < SAMPLE_JOBS; i++)
		results[i] = (struct result)RESULT_INIT;
}
