/* SPDX-License-Identifier: MIT */
#include "supervisor/run/schedule.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "tests/supervisor/shape.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- the same, naively --- */

enum state {
	IDLE,
	STARTED,
	ENDED,
};

static const struct node *
node_of_tier(const struct node *n, size_t tier)
{
	const struct node *found = NULL;

	if (n->kind == NODE_SEQUENCE && n->tier == tier)
		return n;
	for (size_t i = 0; i < n->nchildren && found == NULL; i++)
		found = node_of_tier(&n->children[i], tier);
	return found;
}

static bool
node_is_over(const struct node *root, const struct node *n, const enum state *states)
{
	if (n->kind == NODE_JOB)
		return states[n->job] == ENDED;
	if (n->kind == NODE_WAIT)
		return node_is_over(root, node_of_tier(root, n->tier), states);
	for (size_t i = 0; i < n->nchildren; i++)
		if (!node_is_over(root, &n->children[i], states))
			return false;
	return true;
}

/* The first job in plan order that may start; -1: none. */
static long
node_first(const struct node *root, const struct node *n, const enum state *states)
{
	if (n->kind == NODE_JOB)
		return states[n->job] == IDLE ? (long)n->job : -1;
	for (size_t i = 0; i < n->nchildren; i++) {
		long job = node_first(root, &n->children[i], states);

		if (job >= 0)
			return job;
		if (n->kind == NODE_SEQUENCE &&
		    !node_is_over(root, &n->children[i], states))
			return -1;
	}
	return -1;
}

static size_t
count_idle(const enum state *states, size_t n)
{
	size_t idle = 0;

	for (size_t i = 0; i < n; i++)
		idle += states[i] == IDLE;
	return idle;
}

/* A random one of those that run; SIZE_MAX: none. */
static size_t
pick_running(const enum state *states, size_t n, unsigned *seed)
{
	size_t running = 0, at;

	for (size_t i = 0; i < n; i++)
		running += states[i] == STARTED;
	if (running == 0)
		return SIZE_MAX;
	at = (size_t)rand_r(seed) % running;
	for (size_t i = 0; i < n; i++)
		if (states[i] == STARTED && at-- == 0)
			return i;
	return SIZE_MAX;
}

/* Start and end at random, and compare at each step; every job runs once. */
static void
compare(const struct plan *p, unsigned *seed)
{
	enum state *states = xcalloc(p->njobs, sizeof(*states));
	struct schedule *s = schedule_new(p);
	char *shape = shape_text(p);
	size_t ended = 0;

	while (ended < p->njobs) {
		size_t over;

		cr_assert_eq(schedule_left(s), count_idle(states, p->njobs), "%s", shape);
		if (rand_r(seed) % 2 == 0) {
			long want = node_first(&p->root, &p->root, states);
			size_t job = SIZE_MAX;
			bool got = schedule_next(s, &job);

			cr_assert_eq(got ? (long)job : -1, want, "%s", shape);
			if (got)
				states[job] = STARTED;
			else
				cr_assert_eq(job, SIZE_MAX,
					     "written where there is none");
			continue;
		}
		over = pick_running(states, p->njobs, seed);
		if (over == SIZE_MAX) {
			cr_assert_geq(node_first(&p->root, &p->root, states), 0,
				      "%s is stuck", shape);
			continue;
		}
		states[over] = ENDED;
		schedule_done(s, over);
		ended++;
	}
	cr_assert_eq(schedule_left(s), 0);
	cr_assert_not(schedule_next(s, &ended));
	schedule_free(s);
	free(states);
	free(shape);
}

Test(schedule, random_trees, .timeout = 60)
{
	unsigned seed = 42;

	for (int round = 0; round < 3000; round++) {
		struct plan p;

		shape_random(&seed, 40, 4, &p);
		compare(&p, &seed);
		shape_release(&p);
	}
}

struct order_case {
	const char *shape;
	const char *text;
};

/* `>abc` those start now; `b` it ends. */
static const struct order_case orders[] = {
	{ "a b c", ">a a >b b >c c >" },
	{ "[a b c]", ">abc b > a > c >" },
	{ "a [b c] d", ">a a >bc c > b >d d >" },
	{ "[(a b) (c d)] e", ">ac c >d a >b d > b >e e >" },
	{ "[(a b) c] d", ">ac a >b c > b >d" },
	{ "[[a b] (c [d e])] f", ">abc c >de a > b > d > e >f" },
	{ "() [] ([]) a () b []", ">a a >b b >" },
	{ "[() (a)] [[]] b", ">a a >b" },
	{ "(a)", ">a a >" },
	{ "", ">" },
	{ "[]", ">" },
	/* A tier that is met again is waited for, in whatever it stands. */
	{ "[((a)1 b) (<1 c)] d", ">a a >bc b > c >d d >" },
	{ "[(a)1 ([<1 b] c)] d", ">ab b > a >c c >d d >" },
	{ "[((a)1 b)2 (<1 <2)3 (<3 c)] (<2 d)", ">a a >b b >c c >d d >" },
	{ "()1 <1 a <1", ">a a >" },
	{ "[(a [b (c d)]) (e f) g] h", ">aeg a >bc c >d g > e >f d > f > b >h" },
};

static size_t
job_named(const struct plan *p, char name)
{
	for (size_t i = 0; i < p->njobs; i++)
		if (p->jobs[i].id[0] == name)
			return i;
	cr_assert_fail("no job %c", name);
	return 0;
}

Test(schedule, orders)
{
	for (size_t i = 0; i < COUNT(orders); i++) {
		const struct order_case *k = &orders[i];
		struct buf got = BUF_INIT;
		struct schedule *s;
		struct plan p;

		shape_build(k->shape, &p);
		s = schedule_new(&p);
		for (const char *t = k->text; *t != '\0'; t++) {
			size_t job;

			if (*t == '>') {
				buf_putc(&got, '>');
				while (schedule_next(s, &job))
					buf_puts(&got, p.jobs[job].id);
				t += strcspn(t, " ") - 1;
			} else {
				buf_putc(&got, *t);
				if (*t != ' ')
					schedule_done(s, job_named(&p, *t));
			}
		}
		cr_expect_str_eq(buf_text(&got), k->text, "%s: %s", k->shape,
				 buf_text(&got));
		buf_release(&got);
		schedule_free(s);
		shape_release(&p);
	}
	schedule_free(NULL);
}

/*
 * As many as a plan may have; the first of a group takes longest.  It must not cost more
 * than the processes it is for.
 */
static void
run_many(enum node_kind kind)
{
	enum {
		MANY = PLAN_JOBS_MAX
	};
	struct plan p = { .njobs = MANY, .root = { .kind = kind, .nchildren = MANY } };
	clock_t begun = clock();
	struct schedule *s;
	size_t job, first;
	int ms;

	p.jobs = xcalloc(MANY, sizeof(*p.jobs));
	p.root.children = xcalloc(MANY, sizeof(*p.root.children));
	for (size_t i = 0; i < MANY; i++)
		p.root.children[i] = (struct node){ .kind = NODE_JOB, .job = i };
	s = schedule_new(&p);
	cr_assert(schedule_next(s, &first));
	if (kind == NODE_SEQUENCE)
		schedule_done(s, first);
	while (schedule_next(s, &job))
		schedule_done(s, job);
	if (kind == NODE_GROUP)
		schedule_done(s, first);
	cr_expect_eq(schedule_left(s), 0);
	ms = (int)((clock() - begun) / (CLOCKS_PER_SEC / 1000));
	cr_expect_lt(ms, 2000, "%s: %d ms", kind == NODE_GROUP ? "group" : "sequence",
		     ms);
	schedule_free(s);
	free(p.root.children);
	free(p.jobs);
}

Test(schedule, long_sequence, .timeout = 120)
{
	run_many(NODE_SEQUENCE);
}

Test(schedule, wide_group_whose_first_takes_longest, .timeout = 120)
{
	run_many(NODE_GROUP);
}

Test(schedule, deep_tree)
{
	struct buf b = BUF_INIT;
	struct schedule *s;
	struct plan p;
	size_t job;

	for (int i = 0; i < 2000; i++)
		buf_puts(&b, i % 2 == 0 ? "(" : "[");
	buf_puts(&b, "a");
	for (int i = 1999; i >= 0; i--)
		buf_puts(&b, i % 2 == 0 ? ")" : "]");
	buf_puts(&b, " b");
	shape_build(b.data, &p);
	s = schedule_new(&p);
	cr_assert(schedule_next(s, &job));
	cr_expect_eq(job, 0);
	cr_expect_not(schedule_next(s, &job));
	schedule_done(s, 0);
	cr_assert(schedule_next(s, &job));
	cr_expect_eq(job, 1);
	schedule_free(s);
	shape_release(&p);
	buf_release(&b);
}
