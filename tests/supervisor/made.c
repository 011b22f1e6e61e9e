/* SPDX-License-Identifier: MIT */
#include "tests/supervisor/made.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "tests/supervisor/shape.h"

static struct signals signals_now;

void
made_enter(void)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(signals_open(&signals_now, &err), 0, "%s", err.text);
}

void
made_leave(void)
{
	signals_close(&signals_now);
}

void
made_run_plan(const struct run_case *k, struct plan plan, int tick_ms, bool is_observed,
	      struct made *m)
{
	struct slots_config config = { .budget = k->budget > 0 ? k->budget : 64 };
	struct machine machine = MACHINE_INIT;
	struct run_observer observer = { 0 };
	struct error err = ERROR_INIT;
	struct engine engine;
	struct run_options o = {
		.jobs = k->jobs > 0 ? k->jobs : 1,
		.retries = k->retries,
		.keep_going = k->keep_going,
		.machine = &machine,
		.engine = &engine,
		.signals = &signals_now,
		.observer = &observer,
	};

	*m = (struct made){ .plan = plan };
	m->results = xcalloc(m->plan.njobs, sizeof(*m->results));
	for (size_t i = 0; i < m->plan.njobs; i++)
		m->results[i] = (struct result)RESULT_INIT;
	m->fake = (struct fake){ .plan = &m->plan, .scripts = k->scripts };
	memcpy(m->fake.raises, k->raises, sizeof(k->raises));
	cr_assert_eq(slots_open_private(&config, &machine.slots, &err), 0, "%s",
		     err.text);
	machine.share = config.budget;
	machine.is_private = true;
	engine = fake_engine(&m->fake);
	if (is_observed)
		observer = fake_observer(&m->fake);
	observer.tick_ms = tick_ms;
	if (k->raise_first != 0)
		(void)raise(k->raise_first);
	cr_expect_eq(run_execute(&m->plan, &o, m->results, &m->outcome, &err), 0, "%s",
		     err.text);
	slots_free(machine.slots);
}

void
made_run(const struct run_case *k, struct made *m)
{
	struct plan plan;

	shape_build(k->shape, &plan);
	made_run_plan(k, plan, 0, true, m);
}

void
made_release(struct made *m)
{
	for (size_t i = 0; i < m->plan.njobs; i++)
		result_release(&m->results[i]);
	free(m->results);
	cr_expect_eq(fake_release(&m->fake), 0, "tasks were forgotten");
	shape_release(&m->plan);
}

void
made_expect(const struct run_case *k)
{
	struct made m;

	made_run(k, &m);
	cr_expect_str_eq(buf_text(&m.fake.transcript), k->transcript, "%s {%s}: %s",
			 k->shape, k->scripts, buf_text(&m.fake.transcript));
	cr_expect_eq(m.outcome.ok, k->ok, "%s {%s}", k->shape, k->scripts);
	cr_expect_eq(m.outcome.interrupted, k->interrupted, "%s {%s}: %d", k->shape,
		     k->scripts, m.outcome.interrupted);
	made_release(&m);
}

void
made_expect_all(const struct run_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		made_expect(&cases[i]);
}
