/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/provers.h"

#include <stdlib.h>

#include "ipc/mem.h"

struct task {
	struct provers *provers;
	struct prover *prover;
	size_t step;
};

struct provers {
	const struct prover_setup *setup;
	const struct provable *steps;
	const size_t *step_of;
	struct proof *proofs;
};

/* --- what is proved --- */

/* A step's jobs stand together in the plan. */
struct provable *
provable_list(const struct plan *p, size_t *ret_nsteps)
{
	struct provable *steps = xcalloc(p->njobs + 1, sizeof(*steps));
	size_t i, n = 0;

	for (i = 0; i < p->njobs; i++) {
		const struct step *step = p->jobs[i].step;

		if (n == 0 || steps[n - 1].step != step)
			steps[n++] = (struct provable){ .step = step, .first = i };
		steps[n - 1].njobs++;
	}
	*ret_nsteps = n;
	return steps;
}

/* Each has a copy of its own, so they are one group: all may run at once. */
void
provable_plan(const struct plan *p, const struct provable *steps, size_t nsteps,
	      struct plan *ret_plan, size_t **ret_steps)
{
	struct plan plan = { .config = p->config, .tier = p->tier };
	size_t *step_of = xcalloc(nsteps + 1, sizeof(*step_of));
	size_t i;

	plan.root.kind = NODE_GROUP;
	plan.jobs = xcalloc(nsteps + 1, sizeof(*plan.jobs));
	plan.root.children = xcalloc(nsteps + 1, sizeof(*plan.root.children));
	for (i = 0; i < nsteps; i++) {
		const struct step *step = steps[i].step;

		if (step->plant == NULL)
			continue;
		step_of[plan.njobs] = i;
		plan.jobs[plan.njobs] = (struct job){
			.step = step,
			.id = xstrdup(steps[i].njobs == 1 ? p->jobs[steps[i].first].id
							  : step->id),
			.command = xstrdup(step->command),
		};
		plan.root.children[plan.root.nchildren++] =
		    (struct node){ .kind = NODE_JOB, .job = plan.njobs++ };
	}
	*ret_plan = plan;
	*ret_steps = step_of;
}

/* --- the engine --- */

static int
provers_start(void *ctx, const struct engine_order *order, struct task **ret_task,
	      struct error *err)
{
	struct provers *ps = ctx;
	const size_t step = ps->step_of[order->job];
	const struct prover_order po = {
		.setup = ps->setup,
		.first = ps->steps[step].first,
		.njobs = ps->steps[step].njobs,
		.slots = order->slots,
		.token = order->token,
		.hold_fd = order->hold_fd,
	};
	struct prover *prover;
	struct task *t;

	if (prover_start(&po, &prover, err) < 0)
		return -1;
	t = xcalloc(1, sizeof(*t));
	*t = (struct task){ .provers = ps, .prover = prover, .step = step };
	*ret_task = t;
	return 0;
}

static void
provers_prepare(void *ctx)
{
	(void)ctx;
}

static int
provers_poll_fd(const struct task *t)
{
	return prover_pidfd(t->prover);
}

static void
provers_signal(struct task *t, int signo)
{
	prover_signal(t->prover, signo);
}

static void
provers_last_line(const struct task *t, char *text, size_t size)
{
	prover_last_line(t->prover, text, size);
}

static void
provers_kill(struct task *t)
{
	prover_kill(t->prover);
}

static void
provers_end(void *ctx, struct task *t, bool is_cut, struct result *ret_result)
{
	struct provers *ps = ctx;
	struct proof *proof = &ps->proofs[t->step];
	struct result r = RESULT_INIT;

	prover_end(t->prover, proof);
	/* Stopped in the last moment it may have come to a verdict all the same. */
	if (is_cut)
		proof->outcome = PROOF_NOT_RUN;
	r.state = RESULT_DONE;
	r.interrupted = is_cut;
	r.exit_code = proof->exit_code;
	r.ms = proof->ms;
	r.ok = proof->outcome == PROOF_PROVEN;
	prover_free(t->prover);
	free(t);
	*ret_result = r;
}

struct provers *
provers_new(const struct prover_setup *setup, const struct provable *steps,
	    const size_t *step_of, struct proof *proofs)
{
	struct provers *p = xcalloc(1, sizeof(*p));

	*p = (struct provers){ setup, steps, step_of, proofs };
	return p;
}

struct engine
provers_engine(struct provers *p)
{
	return (struct engine){
		.ctx = p,
		.start = provers_start,
		.prepare = provers_prepare,
		.poll_fd = provers_poll_fd,
		.signal = provers_signal,
		.last_line = provers_last_line,
		.kill = provers_kill,
		.end = provers_end,
	};
}

void
provers_free(struct provers *p)
{
	free(p);
}
