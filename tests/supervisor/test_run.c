/* SPDX-License-Identifier: MIT */
#include "supervisor/run/run.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/mem.h"
#include "tests/supervisor/fake_engine.h"
#include "tests/supervisor/shape.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* One run, and all that is left of it. */
struct made {
	struct plan plan;
	struct fake fake;
	struct result *results;
	struct run_outcome outcome;
};

struct run_case {
	const char *shape;
	const char *scripts;
	unsigned jobs;	 /* 0: 1 */
	unsigned budget; /* slots of the machine; 0: more than enough */
	unsigned retries;
	bool keep_going;
	struct fake_raise raises[FAKE_RAISES_MAX];
	int raise_first; /* a signal that is there before the run */
	const char *transcript;
	bool ok;
	int interrupted;
};

static struct signals signals_now;

static void
enter(void)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(signals_open(&signals_now, &err), 0, "%s", err.text);
}

static void
leave(void)
{
	signals_close(&signals_now);
}

TestSuite(run, .init = enter, .fini = leave, .timeout = 60);

static void
make_of_plan(const struct run_case *k, struct plan plan, int tick_ms, bool is_observed,
	     struct made *m)
{
	struct slots_config config = { .budget = k->budget > 0 ? k->budget : 64 };
	struct machine machine = MACHINE_INIT;
	struct run_options o = {
		.jobs = k->jobs > 0 ? k->jobs : 1,
		.retries = k->retries,
		.keep_going = k->keep_going,
		.machine = &machine,
	};
	struct run_observer observer = { 0 };
	struct error err = ERROR_INIT;
	struct engine engine;

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
	cr_expect_eq(run_execute(&m->plan, &o, &engine, &signals_now, &observer,
				 m->results, &m->outcome, &err),
		     0, "%s", err.text);
	slots_free(machine.slots);
}

static void
make(const struct run_case *k, struct made *m)
{
	struct plan plan;

	shape_build(k->shape, &plan);
	make_of_plan(k, plan, 0, true, m);
}

static void
made_release(struct made *m)
{
	for (size_t i = 0; i < m->plan.njobs; i++)
		result_release(&m->results[i]);
	free(m->results);
	cr_expect_eq(fake_release(&m->fake), 0, "tasks were forgotten");
	shape_release(&m->plan);
}

static void
expect_made(const struct run_case *k)
{
	struct made m;

	make(k, &m);
	cr_expect_str_eq(buf_text(&m.fake.transcript), k->transcript, "%s {%s}: %s",
			 k->shape, k->scripts, buf_text(&m.fake.transcript));
	cr_expect_eq(m.outcome.ok, k->ok, "%s {%s}", k->shape, k->scripts);
	cr_expect_eq(m.outcome.interrupted, k->interrupted, "%s {%s}: %d", k->shape,
		     k->scripts, m.outcome.interrupted);
	made_release(&m);
}

static void
expect_all(const struct run_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_made(&cases[i]);
}

static const struct run_case orders[] = {
	{ .shape = "a b c", .transcript = ">a a+ >b b+ >c c+", .ok = true },
	{ .shape = "", .transcript = "", .ok = true },
	{ .shape = "a b", .jobs = 8, .transcript = ">a a+ >b b+", .ok = true },
	{ .shape = "[a b c]", .transcript = ">a a+ >b b+ >c c+", .ok = true },
	{ .shape = "[a b c]",
	  .jobs = 2,
	  .scripts = "a=g1 b=g0 c=g2",
	  .transcript = ">a >b b+ >c a+ c+",
	  .ok = true },
	{ .shape = "[a b c] d",
	  .jobs = 3,
	  .scripts = "a=g2 b=g1 c=g3",
	  .transcript = ">a >b >c b+ a+ c+ >d d+",
	  .ok = true },
	{ .shape = "[(a b) (c d)]",
	  .jobs = 2,
	  .scripts = "a=g1 c=g0 d=g3 b=g2",
	  .transcript = ">a >c c+ >d a+ >b b+ d+",
	  .ok = true },
	{ .shape = "[a (b [c d]) e] f",
	  .jobs = 9,
	  .scripts = "a=g9 b=g0 c=g2 d=g1 e=g3",
	  .transcript = ">a >b >e b+ >c >d d+ c+ e+ a+ >f f+",
	  .ok = true },
};

Test(run, sequences_and_groups)
{
	expect_all(orders, COUNT(orders));
}

static const struct run_case reds[] = {
	{ .shape = "a b c", .scripts = "a=r", .transcript = ">a a- b. c." },
	{ .shape = "a b c", .scripts = "b=r", .transcript = ">a a+ >b b- c." },
	{ .shape = "a b c", .scripts = "c=r", .transcript = ">a a+ >b b+ >c c-" },
	/* What runs already is let finish; the rest is told in plan order. */
	{ .shape = "[a b] c",
	  .jobs = 2,
	  .scripts = "a=r0 b=g1",
	  .transcript = ">a >b a- b+ c." },
	{ .shape = "[a b c] d",
	  .jobs = 2,
	  .scripts = "a=g1 b=r0",
	  .transcript = ">a >b b- a+ c. d." },
	{ .shape = "[(a x) (b y) c] d",
	  .jobs = 3,
	  .scripts = "a=g1 b=r0 c=g2",
	  .transcript = ">a >b >c b- a+ c+ x. y. d." },
	{ .shape = "[a b c]",
	  .jobs = 3,
	  .scripts = "a=r0 b=r1 c=r2",
	  .transcript = ">a >b >c a- b- c-" },
	/* All the same. */
	{ .shape = "a b c",
	  .scripts = "a=r",
	  .keep_going = true,
	  .transcript = ">a a- >b b+ >c c+" },
	{ .shape = "[a b] c",
	  .jobs = 2,
	  .scripts = "a=r0 b=r1",
	  .keep_going = true,
	  .transcript = ">a >b a- b- >c c+" },
};

Test(run, first_red_stops)
{
	expect_all(reds, COUNT(reds));
}

static const struct run_case retries[] = {
	{ .shape = "a b",
	  .scripts = "a=eg",
	  .retries = 1,
	  .transcript = ">a a~1/1 >a/1 a+ >b b+",
	  .ok = true },
	{ .shape = "a b",
	  .scripts = "a=eeg",
	  .retries = 2,
	  .transcript = ">a a~1/2 >a/1 a~2/2 >a/2 a+ >b b+",
	  .ok = true },
	{ .shape = "a b",
	  .scripts = "a=e",
	  .retries = 2,
	  .transcript = ">a a~1/2 >a/1 a~2/2 >a/2 a- b." },
	{ .shape = "a b", .scripts = "a=e", .transcript = ">a a- b." },
	/* Never any other red. */
	{ .shape = "a", .scripts = "a=r", .retries = 5, .transcript = ">a a-" },
	{ .shape = "a",
	  .scripts = "a=er",
	  .retries = 5,
	  .transcript = ">a a~1/5 >a/1 a-" },
	/* Once stopped, no more. */
	{ .shape = "[a b]",
	  .jobs = 2,
	  .scripts = "a=r0 b=e1",
	  .retries = 5,
	  .transcript = ">a >b a- b-" },
	{ .shape = "[a b]",
	  .jobs = 2,
	  .scripts = "a=r0 b=eg1",
	  .retries = 5,
	  .keep_going = true,
	  .transcript = ">a >b a- b~1/5 >b/1 b+" },
	/* Each job has its own count. */
	{ .shape = "a b",
	  .scripts = "a=eg b=eg",
	  .retries = 1,
	  .transcript = ">a a~1/1 >a/1 a+ >b b~1/1 >b/1 b+",
	  .ok = true },
	{ .shape = "[a b]",
	  .jobs = 2,
	  .scripts = "a=eg b=eg",
	  .retries = 1,
	  .transcript = ">a >b b~1/1 >b/1 a~1/1 >a/1 a+ b+",
	  .ok = true },
};

Test(run, retries_for_the_environment_only)
{
	/* The last two end at one and the same moment: their order is not promised. */
	expect_all(retries, COUNT(retries) - 1);
}

Test(run, retries_of_two_at_once)
{
	struct made m;

	make(&retries[COUNT(retries) - 1], &m);
	cr_expect(m.outcome.ok);
	cr_expect_eq(m.results[0].retried, 1);
	cr_expect_eq(m.results[1].retried, 1);
	made_release(&m);
}

Test(run, retried_is_counted)
{
	static const unsigned want[] = { 0, 2, 3, 1, 0 };
	static const struct run_case k = {
		.shape = "a b c d e",
		.scripts = "a=g b=eeg c=e d=er e=r",
		.retries = 3,
		.keep_going = true,
	};
	struct made m;

	make(&k, &m);
	for (size_t i = 0; i < COUNT(want); i++)
		cr_expect_eq(m.results[i].retried, want[i], "%zu: %u", i,
			     m.results[i].retried);
	made_release(&m);
}

static const struct run_case failures[] = {
	{ .shape = "a b", .scripts = "a=f", .transcript = ">a a! b." },
	{ .shape = "a b",
	  .scripts = "a=f",
	  .keep_going = true,
	  .transcript = ">a a! >b b+" },
	{ .shape = "[a b] c",
	  .jobs = 2,
	  .scripts = "b=f a=g1",
	  .transcript = ">a >b b! a+ c." },
	{ .shape = "a", .scripts = "a=f", .retries = 3, .transcript = ">a a!" },
	{ .shape = "[a b c d]",
	  .jobs = 4,
	  .scripts = "a=f b=f c=f d=f",
	  .keep_going = true,
	  .transcript = ">a a! >b b! >c c! >d d!" },
	{ .shape = "a b",
	  .scripts = "a=ef",
	  .retries = 3,
	  .transcript = ">a a~1/3 >a/1 a! b." },
};

Test(run, no_room_for_another_process_is_a_result)
{
	expect_all(failures, COUNT(failures));
}

/* It is our own trouble: nothing of an attempt before it is told as this one's. */
Test(run, result_of_one_that_could_not_be_started)
{
	for (size_t i = 0; i < 2; i++) {
		struct run_case k = { .shape = "a",
				      .scripts = i == 0 ? "a=f" : "a=ef",
				      .retries = 1 };
		struct made m;

		make(&k, &m);
		cr_expect_eq(m.results[0].state, RESULT_DONE);
		cr_expect_not(m.results[0].ok);
		cr_expect_eq(m.results[0].exit_code, -1, "%s: %d", k.scripts,
			     m.results[0].exit_code);
		cr_expect_str_eq(m.results[0].error, "no room for another");
		cr_expect_null(m.results[0].tail, "%s: %s", k.scripts, m.results[0].tail);
		cr_expect_null(m.results[0].environment, "%s", k.scripts);
		cr_expect_eq(m.results[0].retried, i, "%u", m.results[0].retried);
		made_release(&m);
	}
}

static const struct run_case interrupts[] = {
	{ .shape = "a b",
	  .raise_first = SIGTERM,
	  .interrupted = SIGTERM,
	  .transcript = "a. b." },
	{ .shape = "a b",
	  .raise_first = SIGINT,
	  .keep_going = true,
	  .interrupted = SIGINT,
	  .transcript = "a. b." },
	{ .shape = "a b",
	  .scripts = "a=h",
	  .raises = { { ">a", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a a#15 a^ b." },
	{ .shape = "a b",
	  .scripts = "a=h",
	  .raises = { { ">a", SIGHUP } },
	  .keep_going = true,
	  .interrupted = SIGHUP,
	  .transcript = ">a a#1 a^ b." },
	{ .shape = "[a b c] d",
	  .jobs = 2,
	  .scripts = "a=h0 b=h1",
	  .raises = { { ">b", SIGINT } },
	  .interrupted = SIGINT,
	  .transcript = ">a >b a#2 b#2 a^ b^ c. d." },
	/* A second one kills at once; the first is the one that is told. */
	{ .shape = "a b",
	  .scripts = "a=s",
	  .raises = { { ">a", SIGTERM }, { "a#15", SIGINT } },
	  .interrupted = SIGTERM,
	  .transcript = ">a a#15 a#9 a^ b." },
	{ .shape = "a b",
	  .scripts = "a=s",
	  .raises = { { ">a", SIGINT }, { "a#2", SIGINT } },
	  .interrupted = SIGINT,
	  .transcript = ">a a#2 a#9 a^ b." },
	/* One that had ended by itself was not cut off. */
	{ .shape = "a b",
	  .scripts = "a=g",
	  .raises = { { ">a", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a a+ b." },
	{ .shape = "a b",
	  .scripts = "a=r",
	  .raises = { { ">a", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a a- b." },
	{ .shape = "[a b] c",
	  .jobs = 2,
	  .scripts = "a=g b=h",
	  .raises = { { ">b", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a >b a+ b#15 b^ c." },
	/* It comes with the last job's end: every step is green, and the run is not. */
	{ .shape = "a",
	  .scripts = "a=g",
	  .raises = { { ">a", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a a+" },
	/* After a red. */
	{ .shape = "[a b] c",
	  .jobs = 2,
	  .scripts = "a=r b=h",
	  .raises = { { "a-", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a >b a- b#15 b^ c." },
};

Test(run, interrupted)
{
	expect_all(interrupts, COUNT(interrupts));
}

/* Nothing answers: force, after the grace that tasks have themselves. */
Test(run, deaf_to_a_signal_is_ended_by_force)
{
	static const struct run_case k = {
		.shape = "a b",
		.scripts = "a=k",
		.raises = { { ">a", SIGTERM } },
		.interrupted = SIGTERM,
		.transcript = ">a a#15 a#! a^ b.",
	};
	int64_t begun = clock_now_ms();

	expect_made(&k);
	cr_expect_geq(clock_now_ms() - begun, 5000, "it is given its grace");
	cr_expect_lt(clock_now_ms() - begun, 15000);
}

Test(run, deaf_to_the_second_signal_is_ended_by_force)
{
	static const struct run_case k = {
		.shape = "a b",
		.scripts = "a=k",
		.raises = { { ">a", SIGTERM }, { "a#15", SIGTERM } },
		.interrupted = SIGTERM,
		.transcript = ">a a#15 a#9 a#! a^ b.",
	};
	int64_t begun = clock_now_ms();

	expect_made(&k);
	cr_expect_lt(clock_now_ms() - begun, 6000);
}

/* --- slots --- */

static const struct run_case scarce[] = {
	{ .shape = "[a b c]",
	  .jobs = 3,
	  .budget = 1,
	  .transcript = ">a a+ >b b+ >c c+",
	  .ok = true },
	{ .shape = "[a b c d]",
	  .jobs = 4,
	  .budget = 2,
	  .scripts = "a=g0 b=g1 c=g2 d=g3",
	  .transcript = ">a >b a+ >c b+ >d c+ d+",
	  .ok = true },
	/* What waits for its slots when the run stops never started. */
	{ .shape = "[a b c] d",
	  .jobs = 3,
	  .budget = 1,
	  .scripts = "a=r",
	  .transcript = ">a a- b. c. d." },
	{ .shape = "[a b c] d",
	  .jobs = 3,
	  .budget = 1,
	  .scripts = "a=h",
	  .raises = { { ">a", SIGTERM } },
	  .interrupted = SIGTERM,
	  .transcript = ">a a#15 a^ b. c. d." },
	/* A light one waits for nothing. */
	{ .shape = "[a b:0]",
	  .jobs = 2,
	  .budget = 1,
	  .scripts = "a=g1 b=g0",
	  .transcript = ">a >b b+ a+",
	  .ok = true },
	{ .shape = "[a b c:0]",
	  .jobs = 3,
	  .budget = 1,
	  .scripts = "a=g1 b=g2 c=g0",
	  .transcript = ">a >c c+ a+ >b b+",
	  .ok = true },
	/* A wide one takes what is free. */
	{ .shape = "[a b:8 c]",
	  .jobs = 3,
	  .budget = 2,
	  .scripts = "a=g0 b=g1 c=g2",
	  .transcript = ">a >b a+ >c b+ c+",
	  .ok = true },
	/* A job that waits is told after a moment. */
	{ .shape = "[a b]",
	  .jobs = 2,
	  .budget = 1,
	  .scripts = "a=w",
	  .transcript = ">a b? a+ >b b+",
	  .ok = true },
	/* Attempts keep the slots: nobody comes in between. */
	{ .shape = "[a b]",
	  .jobs = 2,
	  .budget = 1,
	  .scripts = "a=eeg",
	  .retries = 2,
	  .transcript = ">a a~1/2 >a/1 a~2/2 >a/2 a+ >b b+",
	  .ok = true },
	{ .shape = "[a b]",
	  .jobs = 2,
	  .budget = 1,
	  .scripts = "a=f",
	  .keep_going = true,
	  .transcript = ">a a! >b b+" },
};

Test(run, slots)
{
	expect_all(scarce, COUNT(scarce));
}

Test(run, slots_that_a_step_is_told)
{
	static const struct run_case k = { .shape = "a b:0 c:2 d:* e:9",
					   .jobs = 3,
					   .budget = 4 };
	static const struct fake_order want[] = {
		{ 3, true, true }, { 3, false, false }, { 2, true, true },
		{ 3, true, true }, { 3, true, true },
	};
	struct made m;

	make(&k, &m);
	for (size_t i = 0; i < COUNT(want); i++) {
		cr_expect_eq(m.fake.orders[i].slots, want[i].slots, "%zu: %u", i,
			     m.fake.orders[i].slots);
		cr_expect_eq(m.fake.orders[i].has_hold, want[i].has_hold, "%zu", i);
		cr_expect_eq(m.fake.orders[i].has_token, want[i].has_token, "%zu", i);
	}
	made_release(&m);
}

Test(run, wait_for_slots_is_measured)
{
	static const struct run_case k = {
		.shape = "[a b c:0]", .jobs = 3, .budget = 1, .scripts = "a=w"
	};
	struct made m;

	make(&k, &m);
	cr_expect_eq(m.results[0].slot_wait_ms, -1);
	cr_expect_geq(m.results[1].slot_wait_ms, 200);
	cr_expect_lt(m.results[1].slot_wait_ms, 20000);
	cr_expect_eq(m.results[2].slot_wait_ms, -1);
	cr_expect_eq(m.results[1].ms, 5, "it is not part of the step's own time");
	made_release(&m);
}

/* --- the rest --- */

Test(run, nobody_observes)
{
	static const struct run_case k = {
		.shape = "[a b] c d", .jobs = 2, .scripts = "a=eg c=r", .retries = 1
	};
	struct plan plan;
	struct made m;

	shape_build(k.shape, &plan);
	make_of_plan(&k, plan, 0, false, &m);
	cr_expect_not(m.outcome.ok);
	cr_expect_eq(m.results[2].exit_code, 1);
	cr_expect_eq(m.results[3].state, RESULT_SKIPPED);
	made_release(&m);
}

Test(run, skipped_results)
{
	static const struct run_case k = { .shape = "a b", .scripts = "a=r" };
	struct made m;

	make(&k, &m);
	cr_expect_eq(m.results[0].state, RESULT_DONE);
	cr_expect_str_eq(m.results[0].tail, "tail of a");
	cr_expect_eq(m.results[1].state, RESULT_SKIPPED);
	cr_expect_eq(m.results[1].exit_code, -1);
	cr_expect_eq(m.results[1].ms, 0);
	cr_expect_null(m.results[1].tail);
	cr_expect_null(m.results[1].error);
	cr_expect_not(m.results[1].ok);
	cr_expect_not(m.results[1].interrupted);
	made_release(&m);
}

Test(run, ticks_tell_what_is_under_way)
{
	static const struct run_case k = { .shape = "a b", .scripts = "b=t" };
	struct plan plan;
	struct made m;

	shape_build(k.shape, &plan);
	make_of_plan(&k, plan, 5, true, &m);
	cr_expect_eq(m.fake.activity.job, 1);
	cr_expect_not(m.fake.activity.is_waiting);
	cr_expect_str_eq(m.fake.activity.last_line, "last line of b");
	cr_expect_leq(m.fake.activity.since_ms, clock_now_ms());
	made_release(&m);
}

/* Those that wait for slots are under way, too. */
Test(run, ticks_tell_who_waits)
{
	static const struct run_case k = {
		.shape = "[a b]", .jobs = 2, .budget = 1, .scripts = "a=w b=t"
	};
	struct plan plan;
	struct made m;

	shape_build(k.shape, &plan);
	make_of_plan(&k, plan, 5, true, &m);
	cr_expect(m.outcome.ok);
	made_release(&m);
}

/* --- anything at all --- */

/* Where in the transcript a job's word stands; -1: nowhere. */
static long
word_at(const char *text, const char *word)
{
	size_t n = strlen(word);
	const char *p = text;

	while ((p = strstr(p, word)) != NULL) {
		if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return p - text;
		p++;
	}
	return -1;
}

struct span {
	long first_start; /* of a job below it; LONG_MAX: none */
	long last_end;	  /* of those that were started; -1 */
	bool is_whole;	  /* all of them were started */
};

/* Checks that no child of a sequence starts before all before it have ended. */
static struct span
check_node(const struct made *m, const struct node *n)
{
	struct span s = { .first_start = LONG_MAX, .last_end = -1, .is_whole = true };
	const char *text = buf_text(&m->fake.transcript);
	char word[32];

	if (n->kind == NODE_JOB) {
		const char *name = m->plan.jobs[n->job].id;
		long start;

		(void)snprintf(word, sizeof(word), ">%s", name);
		start = word_at(text, word);
		s.is_whole = start >= 0;
		if (start >= 0)
			s.first_start = start;
		for (const char *how = "+-!^."; *how != '\0'; how++) {
			(void)snprintf(word, sizeof(word), "%s%c", name, *how);
			if (word_at(text, word) >= 0)
				s.last_end = word_at(text, word);
		}
		cr_assert_geq(s.last_end, 0, "%s has no end: %s", name, text);
		if (start < 0)
			s.last_end = -1;
		return s;
	}
	for (size_t i = 0; i < n->nchildren; i++) {
		struct span c = check_node(m, &n->children[i]);

		if (n->kind == NODE_SEQUENCE && c.first_start != LONG_MAX) {
			cr_assert(s.is_whole, "started out of order: %s", text);
			cr_assert_gt(c.first_start, s.last_end, "started early: %s",
				     text);
		}
		if (c.first_start < s.first_start)
			s.first_start = c.first_start;
		if (c.last_end > s.last_end)
			s.last_end = c.last_end;
		s.is_whole = s.is_whole && c.is_whole;
	}
	return s;
}

static void
random_scripts(const struct plan *p, unsigned *seed, struct buf *b)
{
	static const char *const what[] = {
		"g", "g", "g", "g", "g", "r", "e", "eg", "f"
	};

	for (size_t i = 0; i < p->njobs; i++)
		buf_printf(b, "%s=%s%d ", p->jobs[i].id,
			   what[(size_t)rand_r(seed) % COUNT(what)], rand_r(seed) % 8);
}

/* Exactly one end for each job, and of the skipped ones all behind the others. */
static void
check_ends(const struct made *m)
{
	const char *text = buf_text(&m->fake.transcript);
	bool ok = true;
	long last = -1;
	char word[32];

	for (size_t i = 0; i < m->plan.njobs; i++) {
		const struct result *r = &m->results[i];

		ok = ok && r->ok && r->state == RESULT_DONE;
		cr_assert_neq(r->state, RESULT_RUNNING);
		(void)snprintf(word, sizeof(word), "%s.", m->plan.jobs[i].id);
		if (r->state != RESULT_SKIPPED)
			continue;
		cr_assert_gt(word_at(text, word), last, "plan order: %s", text);
		last = word_at(text, word);
		cr_assert_null(strpbrk(text + last, ">+-!^"), "not at the end: %s", text);
	}
	cr_assert_eq(m->outcome.ok, ok, "%s", text);
}

Test(run, random_runs, .timeout = 120)
{
	unsigned seed = 7;

	for (int round = 0; round < 1500; round++) {
		struct run_case k = {
			.jobs = 1 + (unsigned)rand_r(&seed) % 6,
			.budget = 1 + (unsigned)rand_r(&seed) % 6,
			.retries = (unsigned)rand_r(&seed) % 3,
			.keep_going = rand_r(&seed) % 2 == 0,
		};
		struct buf scripts = BUF_INIT;
		unsigned at_most = k.jobs < k.budget ? k.jobs : k.budget;
		struct plan plan;
		struct made m;

		shape_random(&seed, 24, 3, &plan);
		random_scripts(&plan, &seed, &scripts);
		k.scripts = buf_text(&scripts);
		make_of_plan(&k, plan, 0, true, &m);
		(void)check_node(&m, &m.plan.root);
		check_ends(&m);
		cr_assert_leq(m.fake.most_at_once, at_most, "%zu at once",
			      m.fake.most_at_once);
		if (k.keep_going)
			cr_assert_null(strchr(buf_text(&m.fake.transcript), '.'));
		made_release(&m);
		buf_release(&scripts);
	}
}
