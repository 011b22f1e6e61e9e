/* SPDX-License-Identifier: MIT */
#include "supervisor/run/run.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "ipc/clock.h"
#include "tests/supervisor/made.h"
#include "tests/supervisor/shape.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TestSuite(run, .init = made_enter, .fini = made_leave, .timeout = 60);

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
	made_expect_all(orders, COUNT(orders));
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
	made_expect_all(reds, COUNT(reds));
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
	made_expect_all(retries, COUNT(retries) - 1);
}

Test(run, retries_of_two_at_once)
{
	struct made m;

	made_run(&retries[COUNT(retries) - 1], &m);
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

	made_run(&k, &m);
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
	made_expect_all(failures, COUNT(failures));
}

/* Where there is no room for so many at once, fewer go, and none is red for it. */
static const struct run_case crowded[] = {
	{ .shape = "[a b c d e] f",
	  .jobs = 5,
	  .scripts = "a=g1 b=g2 c=n3 d=n4 e=n5",
	  .transcript = ">a >b a+ >c b+ >d c+ >e d+ e+ >f f+",
	  .ok = true },
	{ .shape = "[a b c d]",
	  .jobs = 4,
	  .scripts = "a=g1 b=r2 c=n3 d=n4",
	  .transcript = ">a >b a+ >c b- c+ d." },
	{ .shape = "[a b c]",
	  .jobs = 3,
	  .scripts = "a=g1 b=r2 c=n3",
	  .keep_going = true,
	  .transcript = ">a >b a+ >c b- c+" },
	{ .shape = "[a b (c d)]",
	  .jobs = 3,
	  .scripts = "a=g1 b=g2 c=n3 d=n4",
	  .transcript = ">a >b a+ >c b+ c+ >d d+",
	  .ok = true },
};

Test(run, no_room_for_so_many_at_once)
{
	made_expect_all(crowded, COUNT(crowded));
}

/* It is our own trouble: nothing of an attempt before it is told as this one's. */
Test(run, result_of_one_that_could_not_be_started)
{
	for (size_t i = 0; i < 2; i++) {
		struct run_case k = { .shape = "a",
				      .scripts = i == 0 ? "a=f" : "a=ef",
				      .retries = 1 };
		struct made m;

		made_run(&k, &m);
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
	made_expect_all(interrupts, COUNT(interrupts));
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

	made_expect(&k);
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

	made_expect(&k);
	cr_expect_lt(clock_now_ms() - begun, 6000);
}

Test(run, nobody_observes)
{
	static const struct run_case k = {
		.shape = "[a b] c d", .jobs = 2, .scripts = "a=eg c=r", .retries = 1
	};
	struct plan plan;
	struct made m;

	shape_build(k.shape, &plan);
	made_run_plan(&k, plan, 0, false, &m);
	cr_expect_not(m.outcome.ok);
	cr_expect_eq(m.results[2].exit_code, 1);
	cr_expect_eq(m.results[3].state, RESULT_SKIPPED);
	made_release(&m);
}

Test(run, skipped_results)
{
	static const struct run_case k = { .shape = "a b", .scripts = "a=r" };
	struct made m;

	made_run(&k, &m);
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
	made_run_plan(&k, plan, 5, true, &m);
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
	made_run_plan(&k, plan, 5, true, &m);
	cr_expect(m.outcome.ok);
	made_release(&m);
}
