/* SPDX-License-Identifier: MIT */
/* What is granted to whom, and when: the queue, budgets, nesting. */
#include "ipc/slot.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "ipc/clock.h"
#include "ipc/slot_list.h"

enum {
	SOON_MS = 5000
}; /* a deadline that is only met in case of failure */

Test(slot, takes_what_is_free_in_its_turn)
{
	static const struct {
		const char *name;
		unsigned budget, taken, want, least, got; /* got 0: waits */
	} cases[] = {
		{ "one of one", 1, 0, 1, 1, 1 },
		{ "one of four", 4, 3, 1, 1, 1 },
		{ "none left", 4, 4, 1, 1, 0 },
		{ "all of them", 4, 0, 4, 4, 4 },
		{ "all, of which some are taken", 4, 1, 4, 4, 0 },
		{ "as many as there are", 4, 1, 4, 1, 3 },
		{ "at least two of one", 4, 3, 4, 2, 0 },
		{ "at least two of two", 4, 2, 4, 2, 2 },
		{ "more than the budget", 4, 0, 99, 99, 4 },
		{ "more than the budget, or what there is", 4, 2, 99, 1, 2 },
		{ "more than any budget", 2, 0, 100000, 100000, 2 },
		{ "more at least than wanted", 4, 3, 1, 3, 1 },
		{ "nothing at least", 4, 3, 2, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slots *s = actor_seat(cases[i].budget);
		struct slot *r;

		if (cases[i].taken > 0)
			(void)ask(s, cases[i].taken, cases[i].taken);
		r = ask(s, cases[i].want, cases[i].least);
		cr_expect_eq(slot_count(r), cases[i].got, "%s: %u", cases[i].name,
			     slot_count(r));
		cr_expect_eq(slot_state(r), cases[i].got > 0 ? SLOT_HELD : SLOT_WAITING,
			     "%s", cases[i].name);
		cr_expect_eq(slot_hold_fd(r) >= 0, cases[i].got > 0, "%s", cases[i].name);
		slots_free(s);
	}
}

Test(slot, is_given_back_and_on, .timeout = 20)
{
	struct slots *s = actor_seat(1);
	struct slot *a = ask(s, 1, 1);
	struct slot *b = ask(s, 1, 1);
	struct slot *c = ask(s, 1, 1);
	struct error err = ERROR_INIT;

	cr_assert_eq(slot_state(a), SLOT_HELD);
	cr_assert_eq(slot_state(b), SLOT_WAITING);
	cr_assert_geq(slots_deadline(s), 0);
	slot_release(a);
	cr_assert_leq(slots_deadline(s), clock_now_ms(), "worth looking at once");
	look(s);
	cr_assert_eq(slot_state(b), SLOT_HELD);
	cr_assert_eq(slot_state(c), SLOT_WAITING);
	slot_release(b);
	cr_assert_eq(slot_wait(c, clock_now_ms() + SOON_MS, -1, &err), 1);
	cr_assert_eq(slots_deadline(s), -1);
	slots_free(s);
	cr_assert_eq(actor_free_slots(actor_segment()), 1);
}

Test(slot, nobody_overtakes, .timeout = 20)
{
	struct slots *s = actor_seat(4);
	struct slot *small = ask(s, 1, 1);
	struct slot *wide = ask(s, 4, 4);
	struct slot *late = ask(s, 1, 1);
	struct slot *alone, *last;

	look(s);
	cr_assert_eq(slot_state(wide), SLOT_WAITING);
	cr_assert_eq(slot_state(late), SLOT_WAITING, "three are free, for the wide one");
	slot_release(small);
	look(s);
	cr_assert_eq(slot_count(wide), 4);
	cr_assert_eq(slot_state(late), SLOT_WAITING);
	alone = ask_exclusive(s, NULL);
	last = ask(s, 1, 1);
	slot_release(wide);
	look(s);
	cr_assert_eq(slot_state(late), SLOT_HELD);
	cr_assert_eq(slot_state(alone), SLOT_WAITING);
	cr_assert_eq(slot_state(last), SLOT_WAITING, "behind the exclusive one");
	slot_release(late);
	look(s);
	cr_assert_eq(slot_count(alone), 4, "an exclusive one has the whole budget");
	cr_assert_eq(slot_state(last), SLOT_WAITING);
	slot_release(alone);
	look(s);
	cr_assert_eq(slot_state(last), SLOT_HELD);
	slots_free(s);
}

Test(slot, a_wait_given_up_lets_the_next_by, .timeout = 20)
{
	struct slots *s = actor_seat(2);
	struct slot *a = ask(s, 1, 1);
	struct slot *wide = ask(s, 2, 2);
	struct slot *b = ask(s, 1, 1);

	cr_assert_eq(slot_state(b), SLOT_WAITING);
	slot_release(wide);
	look(s);
	cr_assert_eq(slot_state(b), SLOT_HELD);
	slot_release(a);
	slots_free(s);
}

Test(slot, light_waits_for_nothing_but_an_exclusive_holder, .timeout = 20)
{
	struct slots *s = actor_seat(2);
	struct slot *all = ask(s, 2, 2);
	struct slot *alone = ask_exclusive(s, NULL);
	struct slot *light = ask(s, 0, 0);
	struct slot *inner, *other;
	char token[SLOT_TOKEN_SIZE], outer[SLOT_TOKEN_SIZE];
	struct error err = ERROR_INIT;
	struct slot_wish inside = { .want = 0 };

	cr_assert_eq(slot_state(light), SLOT_HELD, "an exclusive one that waits is none");
	cr_assert_eq(slot_count(light), 0);
	cr_assert_eq(slot_hold_fd(light), -1);
	cr_assert_str_eq(slot_token(light, token), "");
	slot_release(light);
	slot_release(all);
	look(s);
	cr_assert_eq(slot_state(alone), SLOT_HELD);
	light = ask(s, 0, 0);
	other = ask(s, 1, 1);
	cr_assert_eq(slot_state(light), SLOT_WAITING);
	inside.inside = alone;
	cr_assert_eq(slot_request(s, &inside, &inner, &err), 0);
	cr_assert_eq(slot_state(inner), SLOT_HELD, "its own hold is not in its way");
	(void)slot_token(alone, outer);
	cr_assert_str_eq(slot_token(inner, token), outer, "it is inside that one");
	cr_assert_str_eq(slot_token(light, token), "", "it waits");
	slot_release(alone);
	look(s);
	cr_assert_eq(slot_state(light), SLOT_HELD);
	cr_assert_eq(slot_hold_fd(light), -1);
	cr_assert_eq(slot_state(other), SLOT_HELD);
	slots_free(s);
}

Test(slot, is_shared_between_processes, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct actor a = actor_new(&config);
	struct actor b = actor_new(&config);
	struct actor c = actor_new(&config);

	cr_assert_eq(actor_request(&a, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_request(&b, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(actor_exclusive(&c, 0).state, SLOT_WAITING);
	cr_assert_eq(actor_wait(&b, 0, 50).rc, 0, "two hold one slot");
	(void)actor_release(&a, 0);
	cr_assert_eq(actor_wait(&b, 0, SOON_MS).rc, 1);
	cr_assert_eq(actor_wait(&c, 0, 50).rc, 0);
	(void)actor_release(&b, 0);
	cr_assert_eq(actor_wait(&c, 0, SOON_MS).rc, 1);
	cr_assert_eq(actor_request(&a, 0, 1).state, SLOT_WAITING);
	actor_end(&c);
	cr_assert_eq(actor_wait(&a, 0, SOON_MS).rc, 1);
	actor_end(&a);
	actor_end(&b);
	cr_assert_eq(actor_free_slots(actor_segment()), 1);
}

Test(slot, rings_when_there_is_something_to_have, .timeout = 20)
{
	struct slots_config config = actor_config(1);
	struct actor a = actor_new(&config);
	struct slots *s = actor_seat(1);
	struct pollfd bell = { -1, POLLIN, 0 };
	struct slot *r;

	cr_assert_eq(actor_request(&a, 0, 1).state, SLOT_HELD);
	r = ask(s, 1, 1);
	cr_assert_eq(slot_state(r), SLOT_WAITING);
	look(s);
	bell.fd = slots_doorbell_fd(s);
	cr_assert_geq(bell.fd, 0, "no inotify instance left?");
	cr_assert_eq(poll(&bell, 1, 0), 0, "it rings without a cause");
	(void)actor_release(&a, 0);
	cr_assert_eq(poll(&bell, 1, SOON_MS), 1);
	look(s);
	cr_assert_eq(slot_state(r), SLOT_HELD);
	actor_end(&a);
	slots_free(s);
}

Test(slot, wait_ends_at_its_deadline_and_for_another_descriptor, .timeout = 20)
{
	struct slots *s = actor_seat(1);
	struct slot *a = ask(s, 1, 1);
	struct slot *b = ask(s, 1, 1);
	struct error err = ERROR_INIT;
	int64_t start = clock_now_ms();
	int wake[2];

	cr_assert_eq(pipe(wake), 0);
	cr_assert_eq(slot_wait(a, -1, wake[0], &err), 1);
	cr_assert_eq(slot_wait(b, start + 40, wake[0], &err), 0);
	cr_assert_geq(clock_now_ms(), start + 40);
	cr_assert_eq(write(wake[1], "x", 1), 1);
	cr_assert_eq(slot_wait(b, -1, wake[0], &err), 0);
	slots_free(s);
}

Test(slot, budget_is_the_creators_until_it_is_changed, .timeout = 20)
{
	struct slots_config config = actor_config(3);
	struct error err = ERROR_INIT;
	struct slots *s, *other;
	struct slot *a, *b, *c;

	cr_assert_eq(slots_budget_set(actor_segment(), 2, &err), 0, "there is none yet");
	s = actor_seat(2);
	cr_assert_eq(slots_open(&config, &other, &err), 0);
	cr_assert_eq(slots_share(other), 2, "a live segment keeps its budget");
	a = ask(s, 1, 1);
	b = ask(s, 1, 1);
	c = ask(s, 1, 1);
	cr_assert_eq(slot_state(c), SLOT_WAITING);
	cr_assert_eq(slots_budget_set(actor_segment(), 3, &err), 1);
	look(s);
	cr_assert_eq(slot_state(c), SLOT_HELD, "raised: granted at once");
	slot_release(c);
	cr_assert_eq(slots_budget_set(actor_segment(), 1, &err), 1);
	c = ask(other, 5, 5);
	slot_release(a);
	look(other);
	cr_assert_eq(slot_state(c), SLOT_WAITING, "lowered: drains");
	slot_release(b);
	look(other);
	cr_assert_eq(slot_count(c), 1, "a wish beyond the budget is all of it");
	slots_free(s);
	slots_free(other);
	s = actor_seat(4);
	cr_assert_eq(slots_share(s), 4, "nobody was there");
	slots_free(s);
}

Test(slot, heavy_overrides_only_where_nobody_is, .timeout = 20)
{
	static const struct {
		const char *name;
		bool is_live;
		unsigned heavy, share, budget;
	} cases[] = {
		{ "unused, more", false, 9, 9, 9 }, { "unused, less", false, 1, 1, 1 },
		{ "live, more", true, 9, 3, 3 },    { "live, less", true, 2, 2, 3 },
		{ "not set", true, 0, 3, 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slots_config config = actor_config(3);
		struct slots *live = cases[i].is_live ? actor_seat(3) : NULL;
		struct error err = ERROR_INIT;
		struct slot_list list;
		struct slots *s;

		config.heavy = cases[i].heavy;
		cr_assert_eq(slots_open(&config, &s, &err), 0, "%s", err.text);
		slots_list(s, &list);
		cr_expect_eq(slots_share(s), cases[i].share, "%s", cases[i].name);
		cr_expect_eq(list.budget, cases[i].budget, "%s", cases[i].name);
		slot_list_release(&list);
		slots_free(s);
		slots_free(live);
	}
}

Test(slot, a_hold_is_a_pool_for_what_runs_inside, .timeout = 30)
{
	struct slots_config config = actor_config(3);
	struct actor outer = actor_new(&config);
	struct actor other = actor_new(&config);
	struct actor_answer hold = actor_request(&outer, 0, 2);
	struct actor a, b;

	cr_assert_eq(actor_request(&other, 0, 2).state, SLOT_WAITING);
	config.inside = hold.token;
	a = actor_new(&config);
	b = actor_new(&config);
	/* Two nested processes share two slots, past everybody in the queue. */
	cr_assert_eq(actor_request(&a, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_request(&b, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_poll(&a, 0).share, 2);
	cr_assert_eq(actor_request(&a, 1, 9).state, SLOT_WAITING);
	cr_assert_eq(actor_request(&b, 1, 1).state, SLOT_WAITING);
	(void)actor_release(&a, 0);
	cr_assert_eq(actor_wait(&a, 1, 50).rc, 0, "wants both");
	(void)actor_release(&b, 0);
	cr_assert_eq(actor_wait(&a, 1, SOON_MS).rc, 1);
	cr_assert_eq(actor_poll(&a, 1).count, 2, "clamped to the hold");
	(void)actor_release(&a, 1);
	cr_assert_eq(actor_wait(&b, 1, SOON_MS).rc, 1);
	cr_assert_eq(actor_poll(&other, 0).state, SLOT_WAITING);
	/* The hold ends before what runs inside: that counts at the machine now. */
	(void)actor_release(&outer, 0);
	cr_assert_eq(actor_wait(&other, 0, SOON_MS).rc, 1, "three less one are two");
	cr_assert_eq(actor_request(&a, 0, 1).state, SLOT_WAITING, "no pool any more");
	cr_assert_eq(actor_request(&outer, 1, 1).state, SLOT_WAITING);
	(void)actor_release(&b, 1);
	cr_assert_eq(actor_wait(&a, 0, SOON_MS).rc, 1);
	actor_end(&a);
	actor_end(&b);
	actor_end(&other);
	actor_end(&outer);
	cr_assert_eq(actor_free_slots(actor_segment()), 3);
}

Test(slot, nesting_goes_deeper_and_exclusive_only_inside_exclusive, .timeout = 30)
{
	struct slots *s = actor_seat(4);
	struct slot_wish wish = { .want = 2, .least = 2 };
	struct slot *run = ask_exclusive(s, NULL);
	struct slots_config config = actor_config(4);
	struct slot *step, *beside, *inner, *alone;
	struct error err = ERROR_INIT;
	char token[SLOT_TOKEN_SIZE];
	struct slot_inside in;
	struct slots *nested;

	wish.inside = run;
	cr_assert_eq(slot_request(s, &wish, &step, &err), 0);
	cr_assert_eq(slot_request(s, &wish, &beside, &err), 0);
	cr_assert_eq(slot_count(step) + slot_count(beside), 4,
		     "steps of an exclusive run");
	config.inside = slot_token(step, token);
	cr_assert_eq(slots_open(&config, &nested, &err), 0);
	in = slots_inside(nested);
	cr_assert(in.is_live && in.is_exclusive && in.held == 2 && in.pid == getpid());
	inner = ask(nested, 1, 1);
	alone = ask_exclusive(nested, NULL);
	cr_assert_eq(slot_state(inner), SLOT_HELD);
	cr_assert_eq(slot_state(alone), SLOT_WAITING);
	slot_release(inner);
	look(nested);
	cr_assert_eq(slot_count(alone), 2, "the whole of its step's slots");
	slots_free(nested);
	slot_release(beside);
	slot_release(run);
	in = slot_token_check(actor_segment(), token);
	cr_assert(in.is_live && !in.is_exclusive && in.held == 2);
	cr_assert_eq(actor_free_slots(actor_segment()), 0, "a step of it is left");
	slot_release(step);
	cr_assert_eq(actor_free_slots(actor_segment()), 4);
	slots_free(s);
}

Test(slot, a_token_is_checked_against_the_segment, .timeout = 20)
{
	struct slots *s = actor_seat(2);
	struct slot *r = ask(s, 1, 1);
	char token[SLOT_TOKEN_SIZE], longer[SLOT_TOKEN_SIZE + 1];
	char many[4000];
	const char *bad[] = { "",
			      "1",
			      ":",
			      "::",
			      "a:0:1",
			      "-1:\xc3\xa9",
			      "1:2:3:4",
			      "0:0:0",
			      longer,
			      many,
			      "1:0:1",
			      "18446744073709551616:0:1",
			      "1:4294967296:1",
			      " 1:0:1" };

	(void)slot_token(r, token);
	(void)snprintf(longer, sizeof(longer), "%s9", token);
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	cr_assert(slot_token_check(actor_segment(), token).is_live);
	cr_assert_not(slot_token_check("/gn-test-none", token).is_live);
	cr_assert_not(slot_token_check(actor_segment(), NULL).is_live);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(slot_token_check(actor_segment(), bad[i]).is_live, "%.40s",
			      bad[i]);
	slot_release(r);
	cr_assert_not(slot_token_check(actor_segment(), token).is_live);
	r = ask(s, 1, 1);
	cr_assert_not(slot_token_check(actor_segment(), token).is_live,
		      "its entry is somebody else's now");
	slots_free(s);
}

/* A copy of all our descriptors, for as long as the pipe is open. */
static pid_t
fork_copy(int ret_end[2])
{
	pid_t pid;
	char c;

	cr_assert_eq(pipe(ret_end), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)close(ret_end[1]);
		(void)!read(ret_end[0], &c, 1);
		_exit(0);
	}
	return pid;
}

Test(slot, is_known_by_who_has_its_descriptor, .timeout = 20)
{
	char token[SLOT_TOKEN_SIZE], text[SLOT_TOKEN_SIZE] = "untouched";
	const char *segment = actor_segment();
	struct slots *s = actor_seat(4);
	struct slot_wish wish = { .want = 2 };
	struct error err = ERROR_INIT;
	struct slot *outer, *inner;
	int end[2];
	pid_t pid;

	cr_expect_not(slot_token_of_process(segment, getpid(), text), "there is none");
	outer = ask(s, 1, 1);
	cr_expect_not(slot_token_of_process(segment, getpid(), text),
		      "who asked runs in none of its own");
	cr_expect_str_eq(text, "untouched");
	slot_release(outer);
	outer = ask_exclusive(s, NULL);
	wish.inside = outer;
	cr_assert_eq(slot_request(s, &wish, &inner, &err), 0);
	cr_assert(slot_token_of_process(segment, getpid(), text));
	cr_expect_str_eq(text, slot_token(outer, token), "but in an exclusive one");
	pid = fork_copy(end);
	cr_assert(slot_token_of_process(segment, pid, text));
	cr_expect_str_eq(text, slot_token(inner, token), "the innermost");
	slot_release(inner);
	cr_assert(slot_token_of_process(segment, pid, text));
	cr_expect_str_eq(text, slot_token(outer, token), "that is still held");
	slots_free(s);
	cr_expect_not(slot_token_of_process(segment, pid, text), "a copy is no hold");
	(void)close(end[0]);
	(void)close(end[1]);
	cr_expect_eq(waitpid(pid, NULL, 0), pid);
}

Test(slot, what_an_exclusive_run_leaves_when_it_dies_is_alone_yet, .timeout = 20)
{
	struct slot_wish wish = { .want = 1, .least = 1 };
	struct slots *s = actor_seat(3);
	struct slots *others = actor_seat(3);
	struct error err = ERROR_INIT;
	struct slot *run = ask_exclusive(s, NULL);
	struct slot *step, *one, *light;
	int end[2];
	pid_t pid;

	wish.inside = run;
	cr_assert_eq(slot_request(s, &wish, &step, &err), 0);
	one = ask(others, 1, 1);
	light = ask(others, 0, 0);
	slot_drop(run);
	pid = fork_copy(end);
	/* The supervisor is dead, and the worker has the step's hold. */
	slot_drop(step);
	look(others);
	cr_expect_eq(slot_state(one), SLOT_WAITING);
	cr_expect_eq(slot_state(light), SLOT_WAITING);
	(void)close(end[0]);
	(void)close(end[1]);
	cr_expect_eq(waitpid(pid, NULL, 0), pid);
	cr_expect_eq(slot_wait(one, clock_now_ms() + SOON_MS, -1, &err), 1);
	cr_expect_eq(slot_wait(light, clock_now_ms() + SOON_MS, -1, &err), 1);
	slots_free(s);
	slots_free(others);
}

Test(slot, names_who_holds_and_who_waits, .timeout = 20)
{
	struct slots_config config = actor_config(1);
	struct error err = ERROR_INIT;
	struct slot_list list;
	struct buf b = BUF_INIT;
	struct slots *s;

	cr_assert_eq(slots_look(actor_segment(), &list, &err), 0);
	cr_assert_eq(list.budget, 0, "no segment, and it was not made by looking");
	config.directory = "/some/where";
	cr_assert_eq(slots_open(&config, &s, &err), 0);
	(void)ask(s, 1, 1);
	(void)ask_exclusive(s, NULL);
	cr_assert_eq(slots_look(actor_segment(), &list, &err), 0);
	cr_assert_eq(list.nitems, 2);
	cr_assert(list.items[0].is_held && !list.items[1].is_held);
	cr_assert(list.items[1].is_exclusive);
	cr_assert_eq(list.items[1].pid, getpid());
	cr_assert_lt(list.items[0].ticket, list.items[1].ticket);
	cr_assert_str_eq(list.items[0].directory, "/some/where");
	cr_assert_str_eq(list.items[1].label, "full");
	cr_assert_gt(list.items[0].since_ms, clock_wall_ms() - 60000);
	slot_info_to_text(&list.items[0], &b);
	cr_assert_not_null(strstr(buf_text(&b), " in /some/where (fast), 1 slot since "));
	buf_release(&b);
	slot_list_release(&list);
	slots_free(s);
	cr_assert_eq(slots_look(actor_segment(), &list, &err), 0);
	cr_assert_eq(list.nitems, 0);
	slot_list_release(&list);
}

Test(slot, works_on_memory_without_a_name, .timeout = 20)
{
	struct slots_config config = { .budget = 1 };
	struct error err = ERROR_INIT;
	struct slot *a, *b;
	struct slots *s;

	cr_assert_eq(slots_open_private(&config, &s, &err), 0, "%s", err.text);
	a = ask(s, 1, 1);
	b = ask(s, 1, 1);
	cr_assert_eq(slot_state(a), SLOT_HELD);
	cr_assert_eq(slot_state(b), SLOT_WAITING);
	slot_release(a);
	look(s);
	cr_assert_eq(slot_state(b), SLOT_HELD);
	slots_free(s);
}
