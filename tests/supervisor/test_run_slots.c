/* SPDX-License-Identifier: MIT */
/* Jobs that need slots, and runs of anything at all. */
#include "supervisor/run/run.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/supervisor/made.h"
#include "tests/supervisor/shape.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TestSuite(run_slots, .init = made_enter, .fini = made_leave, .timeout = 60);

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

Test(run_slots, slots)
{
	made_expect_all(scarce, COUNT(scarce));
}

Test(run_slots, slots_that_a_step_is_told)
{
	static const struct run_case k = { .shape = "a b:0 c:2 d:* e:9",
					   .jobs = 3,
					   .budget = 4 };
	static const struct fake_order want[] = {
		{ 3, true, true }, { 3, false, false }, { 2, true, true },
		{ 3, true, true }, { 3, true, true },
	};
	struct made m;

	made_run(&k, &m);
	for (size_t i = 0; i < COUNT(want); i++) {
		cr_expect_eq(m.fake.orders[i].slots, want[i].slots, "%zu: %u", i,
			     m.fake.orders[i].slots);
		cr_expect_eq(m.fake.orders[i].has_hold, want[i].has_hold, "%zu", i);
		cr_expect_eq(m.fake.orders[i].has_token, want[i].has_token, "%zu", i);
	}
	made_release(&m);
}

Test(run_slots, wait_for_slots_is_measured)
{
	static const struct run_case k = {
		.shape = "[a b c:0]", .jobs = 3, .budget = 1, .scripts = "a=w"
	};
	struct made m;

	made_run(&k, &m);
	cr_expect_eq(m.results[0].slot_wait_ms, -1);
	cr_expect_geq(m.results[1].slot_wait_ms, 200);
	cr_expect_lt(m.results[1].slot_wait_ms, 20000);
	cr_expect_eq(m.results[2].slot_wait_ms, -1);
	cr_expect_eq(m.results[1].ms, 5, "it is not part of the step's own time");
	made_release(&m);
}

/* Slots that were free are no wait, however long what is before takes to start. */
Test(run_slots, start_of_another_is_no_wait)
{
	static const struct run_case k = {
		.shape = "[a b c:0]", .jobs = 3, .budget = 2, .scripts = "a=l b=l"
	};
	struct made m;

	made_run(&k, &m);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(m.results[i].slot_wait_ms, -1, "%zu", i);
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

Test(run_slots, random_runs, .timeout = 120)
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
		made_run_plan(&k, plan, 0, true, &m);
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
