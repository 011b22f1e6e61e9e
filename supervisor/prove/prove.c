/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/signals.h"
#include "supervisor/prove/offspring.h"
#include "supervisor/prove/proof_report.h"
#include "supervisor/prove/surroundings.h"
#include "supervisor/report/place.h"
#include "supervisor/run/logs.h"
#include "supervisor/run/run.h"
#include "supervisor/run/turn.h"
#include "worker/worker.h"

enum {
	PROVE_END_LIMIT_MS = 3000
};

struct prove {
	const struct prove_request *request;
	const struct prove_observer *observer;
	struct config config;
	const struct tier *tier;
	struct scope scope;
	struct plan plan;
	struct plan run_plan; /* one job for each step that is proved */
	size_t *step_of;      /* of its jobs */
	struct provable *steps;
	struct proof *proofs;
	bool *is_over; /* steps */
	size_t told;   /* steps whose proof was told: a prefix */
	struct ground ground;
	struct storage storage;
	struct report_place *place;
	struct signals signals;
	struct machine machine;
	struct jobs jobs;
	struct turn turn;
	struct prove_view view;
	char *report_path;
};

static void
prove_warn(const struct prove *p, const char *text)
{
	if (p->observer->warn != NULL)
		p->observer->warn(p->observer->ctx, text);
}

size_t
prove_count(const struct prove_view *v, enum proof_outcome outcome)
{
	size_t i, n = 0;

	for (i = 0; i < v->nsteps; i++)
		n += v->proofs[i].outcome == outcome;
	return n;
}

/* --- load, plan --- */

/* A step that proves its own tier would do so for ever, each time in a copy of a copy. */
static int
prove_check_nesting(const char *tier, struct error *err)
{
	const char *chain = getenv(SURROUNDINGS_VARIABLE);
	size_t n = strlen(tier);

	while (chain != NULL && *chain != '\0') {
		size_t len = strcspn(chain, ":");

		if (len == n && strncmp(chain, tier, n) == 0)
			return error_set(
			    err, ERROR_USAGE,
			    "verify prove %s: this was started by a step that is "
			    "being proved in that tier, and would go on for ever; "
			    "prove another tier in that step",
			    tier);
		chain += len + (chain[len] == ':');
	}
	return 0;
}

/* Every workspace: which of them a plant reaches is known when it has been planted. */
static int
prove_scope(struct prove *p, struct error *err)
{
	struct scope *s = &p->scope;
	size_t i;

	if (!plan_has_workspace_steps(&p->config, p->tier))
		return 0;
	if (workspace_list_load(".", &s->workspaces, err) < 0)
		return -1;
	graph_build(&s->workspaces, &s->graph);
	s->is_selected = xcalloc(s->workspaces.nitems + 1, sizeof(*s->is_selected));
	s->why = xcalloc(s->workspaces.nitems + 1, sizeof(*s->why));
	for (i = 0; i < s->workspaces.nitems; i++)
		s->is_selected[i] = true;
	return 0;
}

static void
prove_list_steps(struct prove *p)
{
	struct prove_view *v = &p->view;
	size_t i;

	p->steps = provable_list(&p->plan, &v->nsteps);
	p->proofs = xcalloc(v->nsteps + 1, sizeof(*p->proofs));
	p->is_over = xcalloc(v->nsteps + 1, sizeof(*p->is_over));
	for (i = 0; i < v->nsteps; i++) {
		p->proofs[i] = (struct proof)PROOF_INIT;
		if (p->steps[i].step->plant == NULL) {
			p->proofs[i].outcome = PROOF_UNPROVEN;
			p->is_over[i] = true;
		}
	}
	v->steps = p->steps;
	v->proofs = p->proofs;
	provable_plan(&p->plan, p->steps, v->nsteps, &p->run_plan, &p->step_of);
}

static int
prove_load(struct prove *p, struct error *err)
{
	size_t i;

	if (config_load(".", &p->config, err) < 0)
		return -1;
	p->tier = config_tier(&p->config, p->request->tier, err);
	if (p->tier == NULL || prove_check_nesting(p->tier->name, err) < 0 ||
	    prove_scope(p, err) < 0 ||
	    plan_build(&p->config, p->tier, &p->scope, p->request->only, &p->plan, err) <
		0)
		return -1;
	for (i = 0; i < p->config.warnings.nitems; i++)
		prove_warn(p, p->config.warnings.items[i]);
	prove_list_steps(p);
	return 0;
}

static void
prove_unload(struct prove *p)
{
	size_t i;

	for (i = 0; p->proofs != NULL && i < p->view.nsteps; i++)
		proof_release(&p->proofs[i]);
	free(p->proofs);
	free(p->is_over);
	free(p->steps);
	free(p->step_of);
	p->proofs = NULL;
	p->is_over = NULL;
	p->steps = NULL;
	p->step_of = NULL;
	plan_release(&p->run_plan);
	plan_release(&p->plan);
	scope_release(&p->scope);
	config_release(&p->config);
}

static int
prove_look_again(struct prove *p, struct error *err)
{
	prove_unload(p);
	if (prove_load(p, err) < 0)
		return -1;
	return jobs_decide(p->request->jobs, p->config.caps_heavy, &p->machine, &p->jobs,
			   err);
}

/* --- the machine, the report --- */

static int
prove_sit(struct prove *p, struct error *err)
{
	char *warning;

	if (signals_open(&p->signals, err) < 0 ||
	    machine_open(&p->machine, &warning, err) < 0)
		return -1;
	if (warning != NULL)
		prove_warn(p, warning);
	free(warning);
	return jobs_decide(p->request->jobs, p->config.caps_heavy, &p->machine, &p->jobs,
			   err);
}

static int
prove_open_report(struct prove *p, struct error *err)
{
	const char *path =
	    p->request->report_path != NULL ? p->request->report_path : PROVE_REPORT_PATH;

	if (report_place_open(path, &p->place, err) < 0)
		return -1;
	p->report_path =
	    path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", p->ground.dir, path);
	p->view.report_path = p->report_path;
	return 0;
}

static int
prove_save(const struct prove *p,
	   int (*save)(struct report_place *, const char *, size_t, struct error *),
	   struct error *err)
{
	struct buf text = BUF_INIT;
	int rc;

	proof_report_format(&p->view, &text);
	rc = save(p->place, text.data, text.len, err);
	buf_release(&text);
	return rc;
}

/* --- the run --- */

static void
prove_tell_proofs(struct prove *p)
{
	for (; p->told < p->view.nsteps && p->is_over[p->told]; p->told++)
		if (p->observer->proof != NULL)
			p->observer->proof(p->observer->ctx, &p->view, p->told);
}

static void
tell_wait(void *ctx, size_t job, const char *holders)
{
	const struct prove *p = ctx;
	char *reason;

	if (p->observer->wait == NULL)
		return;
	reason = xasprintf("for a slot, held by %s", holders);
	p->observer->wait(p->observer->ctx, &p->view, p->step_of[job], reason);
	free(reason);
}

static void
tell_start(void *ctx, size_t job, unsigned attempt)
{
	const struct prove *p = ctx;

	(void)attempt;
	if (p->observer->step_start != NULL)
		p->observer->step_start(p->observer->ctx, &p->view, p->step_of[job]);
}

static void
tell_end(void *ctx, size_t job, const struct result *r)
{
	struct prove *p = ctx;
	struct proof *proof = &p->proofs[p->step_of[job]];

	/* It could not even be started. */
	if (r->state == RESULT_DONE && r->error != NULL) {
		proof->outcome = PROOF_NOT_PROVEN;
		proof->reason = PROOF_TROUBLE;
		proof->detail = xstrdup(r->error);
	}
	p->is_over[p->step_of[job]] = true;
	prove_tell_proofs(p);
}

/* The caller's variables, and those of this run. */
static void
prove_fill_environment(const struct prove *p, struct environment *e)
{
	const char *outer = getenv(SURROUNDINGS_VARIABLE);
	char *chain = turn_chain(&p->turn);
	char *proving =
	    xasprintf("%s%s%s", outer != NULL ? outer : "",
		      outer != NULL && *outer != '\0' ? ":" : "", p->tier->name);

	environment_fill(e, environ);
	environment_set(e, TURN_CHAIN_VARIABLE, chain);
	environment_set(e, SURROUNDINGS_VARIABLE, proving);
	free(proving);
	free(chain);
}

static int
prove_run_steps(struct prove *p, const struct prover_setup *setup,
		struct run_outcome *ret_outcome, struct error *err)
{
	const struct run_observer observer = {
		.ctx = p,
		.job_wait = tell_wait,
		.job_start = tell_start,
		.job_end = tell_end,
	};
	struct result *results = xcalloc(p->run_plan.njobs + 1, sizeof(*results));
	struct provers *provers = provers_new(setup, p->steps, p->step_of, p->proofs);
	const struct engine engine = provers_engine(provers);
	const struct run_options options = {
		.jobs = p->jobs.count,
		.keep_going = true,
		.machine = &p->machine,
		.engine = &engine,
		.signals = &p->signals,
		.observer = &observer,
	};
	size_t i;
	int rc;

	for (i = 0; i < p->run_plan.njobs; i++)
		results[i] = (struct result)RESULT_INIT;
	/* What a prover left that was killed comes to us, and ends with its copy. */
	worker_adopt_orphans();
	rc = run_execute(&p->run_plan, &options, results, ret_outcome, err);
	for (i = 0; i < p->run_plan.njobs; i++)
		result_release(&results[i]);
	free(results);
	provers_free(provers);
	offspring_end_run(p->turn.id, PROVE_END_LIMIT_MS);
	return rc;
}

static int
prove_run(struct prove *p, struct run_outcome *ret_outcome, struct error *err)
{
	struct environment env = ENVIRONMENT_INIT;
	struct prover_setup setup = {
		.ground = &p->ground,
		.storage = &p->storage,
		.plan = &p->plan,
		.scope = &p->scope,
		.run_id = p->turn.id,
		.log_dir_fd = -1,
		.only = p->request->only,
		.want_baseline = p->request->want_baseline,
	};
	char *logs = xasprintf("%s@prove", p->tier->name);
	struct error ignored = ERROR_INIT;
	char *log_dir = NULL;
	int rc;

	prove_fill_environment(p, &env);
	setup.env = env.vars;
	/* Without logs there are the tails. */
	(void)logs_open(logs, &log_dir, &setup.log_dir_fd, &ignored);
	setup.log_dir = log_dir != NULL ? log_dir : "";
	rc = prove_run_steps(p, &setup, ret_outcome, err);
	fd_close(&setup.log_dir_fd);
	environment_release(&env);
	free(log_dir);
	free(logs);
	return rc;
}

/* --- the turn --- */

static void
tell_turn_wait(void *ctx, const char *name, pid_t pid)
{
	const struct prove *p = ctx;
	char *reason;

	(void)name;
	if (p->observer->wait == NULL)
		return;
	reason = xasprintf("for the proving of \"%s\" in this directory (pid %ld) to end",
			   p->tier->name, (long)pid);
	p->observer->wait(p->observer->ctx, &p->view, SIZE_MAX, reason);
	free(reason);
}

static int
help_turn(void *ctx, const char *name, pid_t pid, uint64_t pid_namespace,
	  struct error *err)
{
	const struct prove *p = ctx;

	(void)name;
	if (machine_lend(&p->machine, pid, pid_namespace, err) == 0)
		return 0;
	return error_wrap(err, "verify prove %s", p->tier->name);
}

/* Two at once would empty each other's logs.  0; the signal that ended the wait; -1. */
static int
prove_take_turn(struct prove *p, struct error *err)
{
	char *name = xasprintf("%s@prove", p->tier->name);
	struct error why = ERROR_INIT;
	int rc = dir_make(".geonosis", &why);

	p->turn.help = help_turn;
	if (rc == 0)
		rc = turn_take(&p->turn, name, &p->signals, tell_turn_wait, p, &why);
	free(name);
	if (rc >= 0)
		return rc;
	if (why.kind == ERROR_USAGE) {
		*err = why;
		return -1;
	}
	(void)error_wrap(&why, "two that prove this tier do not wait for each other");
	prove_warn(p, why.text);
	return 0;
}

/* --- the story --- */

static int
prove_begin(struct prove *p, struct error *err)
{
	p->view.started_ms = clock_wall_ms();
	p->view.unfinished = true;
	if (prove_save(p, report_place_begin, err) < 0)
		return -1;
	if (p->observer->start != NULL)
		p->observer->start(p->observer->ctx, &p->view);
	prove_tell_proofs(p);
	return 0;
}

static int
prove_finish(struct prove *p, const struct run_outcome *o, struct error *err)
{
	size_t i;

	for (i = 0; i < p->view.nsteps; i++)
		p->is_over[i] = true;
	prove_tell_proofs(p);
	p->view.unfinished = false;
	p->view.interrupted = o->interrupted;
	p->view.finished_ms = clock_wall_ms();
	if (p->view.finished_ms < p->view.started_ms)
		p->view.finished_ms = p->view.started_ms;
	if (prove_save(p, report_place_save, err) < 0)
		return -1;
	if (p->observer->end != NULL)
		p->observer->end(p->observer->ctx, &p->view);
	return 0;
}

static void
prove_close_storage(struct prove *p)
{
	struct error why = ERROR_INIT;

	if (storage_close(&p->storage, &why) < 0)
		prove_warn(p, why.text);
}

static int
prove_all(struct prove *p, struct prove_verdict *ret_verdict, struct error *err)
{
	struct run_outcome outcome = { .ok = true };
	int rc;

	if (prove_load(p, err) < 0 || ground_find(&p->ground, err) < 0 ||
	    prove_sit(p, err) < 0 || prove_open_report(p, err) < 0)
		return -1;
	rc = prove_take_turn(p, err);
	if (rc != 0) {
		*ret_verdict = (struct prove_verdict){ .interrupted = rc > 0 ? rc : 0 };
		return rc < 0 ? -1 : 0;
	}
	/* Who was waited for may have taken long: what is proven is the tree of now. */
	if (p->turn.waited && prove_look_again(p, err) < 0)
		return -1;
	if (p->run_plan.njobs > 0 && storage_open(p->ground.tmp, &p->storage, err) < 0)
		return -1;
	if (prove_begin(p, err) < 0)
		return -1;
	if (p->run_plan.njobs > 0)
		rc = prove_run(p, &outcome, err);
	prove_close_storage(p);
	if (rc < 0 || prove_finish(p, &outcome, err) < 0)
		return -1;
	*ret_verdict = (struct prove_verdict){
		.ok = prove_count(&p->view, PROOF_NOT_PROVEN) == 0,
		.interrupted = outcome.interrupted,
	};
	return 0;
}

static void
prove_release(struct prove *p)
{
	prove_close_storage(p);
	prove_unload(p);
	machine_close(&p->machine);
	turn_release(&p->turn);
	signals_close(&p->signals);
	report_place_free(p->place);
	free(p->report_path);
	ground_release(&p->ground);
}

int
prove_execute(const struct prove_request *rq, const struct prove_observer *o,
	      struct prove_verdict *ret_verdict, struct error *err)
{
	struct prove p = {
		.request = rq,
		.observer = o,
		.config = CONFIG_INIT,
		.scope = SCOPE_INIT,
		.plan = PLAN_INIT,
		.run_plan = PLAN_INIT,
		.ground = GROUND_INIT,
		.storage = STORAGE_INIT,
		.signals = { .fd = -1 },
	};
	int rc;

	turn_init(&p.turn);
	p.view.plan = &p.plan;
	p.view.jobs = &p.jobs;
	p.view.want_baseline = rq->want_baseline;
	rc = prove_all(&p, ret_verdict, err);
	prove_release(&p);
	return rc;
}
