/* SPDX-License-Identifier: MIT */
/* Holds inside of holds: what is lent to whom, and what an exclusive one has alone. */
#include "ipc/slot.h"

#include <criterion/criterion.h>

#include "actor.h"
#include "ipc/clock.h"
#include "ipc/process.h"

enum {
	SOON_MS = 5000
}; /* a deadline that is only met in case of failure */

Test(slot_lend, is_lent_to_whom_one_waits_for, .timeout = 20)
{
	struct slots_config config = actor_config(2);
	struct actor other = actor_new(&config);
	struct slots *s = actor_seat(2);
	struct slot *hold = ask(s, 2, 2);
	uint64_t here = process_pid_namespace();
	struct error err = ERROR_INIT;
	char token[SLOT_TOKEN_SIZE];
	struct slots *inner;
	bool is_stuck = true;

	cr_assert_eq(actor_request(&other, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(slots_lend(s, other.pid, here, &is_stuck, &err), 0);
	cr_assert_not(is_stuck);
	cr_assert_eq(actor_poll(&other, 0).state, SLOT_WAITING, "we are in no hold");
	config.inside = slot_token(hold, token);
	cr_assert_eq(slots_open(&config, &inner, &err), 0);
	cr_assert_eq(slots_lend(inner, INT32_MAX, here, &is_stuck, &err), 0);
	cr_assert_eq(actor_poll(&other, 0).state, SLOT_WAITING, "nobody's number");
	cr_assert_eq(slots_lend(inner, other.pid, here + 1, &is_stuck, &err), 0);
	cr_assert_eq(actor_poll(&other, 0).state, SLOT_WAITING, "of another namespace");
	cr_assert_eq(slots_lend(inner, other.pid, here, &is_stuck, &err), 0);
	cr_assert_eq(actor_wait(&other, 0, SOON_MS).rc, 1, "of the hold");
	/* The hold ends: what was lent counts at the machine. */
	slot_release(hold);
	hold = ask(s, 2, 2);
	cr_assert_eq(slot_state(hold), SLOT_WAITING);
	(void)actor_release(&other, 0);
	look(s);
	cr_assert_eq(slot_count(hold), 2);
	slots_free(inner);
	slots_free(s);
	actor_end(&other);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

static void
lend(struct slots *s, const struct actor *to)
{
	struct error err = ERROR_INIT;
	bool is_stuck;

	cr_assert_eq(slots_lend(s, to->pid, process_pid_namespace(), &is_stuck, &err), 0);
	cr_assert_not(is_stuck);
}

/*
 * A run that has the machine waits for another one, lends to it, and the step that lent
 * ends first: the other run has the machine inside of that run's and goes on there.  At
 * the machine it would wait for the run to end that waits for it.
 */
Test(slot_lend, what_was_lent_is_of_the_outer_hold_when_the_lender_ends, .timeout = 20)
{
	struct slots_config config = actor_config(2);
	struct actor borrower = actor_new(&config);
	struct actor stranger = actor_new(&config);
	struct slots *s = actor_seat(2);
	struct slot *machine = ask_exclusive(s, NULL);
	struct slots *run = seat_inside(2, machine);
	struct slot *step = ask(run, 1, 1);
	struct slots *inner = seat_inside(2, step);
	struct actor_order light = { .kind = ACTOR_REQUEST, .slot = 1, .inside = 0 };

	cr_assert_eq(actor_exclusive(&borrower, 0).state, SLOT_WAITING);
	cr_assert_eq(actor_request(&stranger, 0, 1).state, SLOT_WAITING);
	lend(inner, &borrower);
	cr_assert_eq(actor_wait(&borrower, 0, SOON_MS).rc, 1);
	slot_release(step);
	cr_assert_eq(actor_do(&borrower, light).state, SLOT_HELD, "a light step of its");
	step = ask(run, 1, 1);
	cr_assert_eq(slot_state(step), SLOT_WAITING, "an exclusive one is inside");
	(void)actor_release(&borrower, 0);
	look(run);
	cr_assert_eq(slot_count(step), 1);
	cr_assert_eq(actor_wait(&stranger, 0, 100).rc, 0, "the machine is taken");
	slot_release(machine);
	cr_assert_eq(actor_wait(&stranger, 0, SOON_MS).rc, 1);
	slots_free(inner);
	slots_free(run);
	slots_free(s);
	actor_end(&borrower);
	actor_end(&stranger);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

/* One that still waits goes back to where it asked, however deep it was lent. */
Test(slot_lend, who_waits_for_what_was_lent_waits_at_home_when_the_lender_ends,
     .timeout = 20)
{
	static const bool at_machine[] = { true, false };

	for (size_t i = 0; i < 2; i++) {
		struct slots_config config = actor_config(1);
		struct slots *s = actor_seat(1);
		struct slot *hold = ask(s, 1, 1);
		struct slots *run = seat_inside(1, hold);
		struct slot *step = ask(run, 1, 1);
		struct slots *inner = seat_inside(1, step);
		struct slot *busy = ask(inner, 1, 1);
		char token[SLOT_TOKEN_SIZE];
		struct actor borrower;

		config.inside = at_machine[i] ? NULL : slot_token(hold, token);
		borrower = actor_new(&config);
		cr_assert_eq(slot_count(busy), 1);
		cr_assert_eq(actor_request(&borrower, 0, 1).state, SLOT_WAITING);
		lend(inner, &borrower);
		cr_assert_eq(actor_wait(&borrower, 0, 100).rc, 0, "it is busy");
		slot_release(step);
		cr_assert_eq(actor_wait(&borrower, 0, 100).rc, 0, "it is busy yet");
		slot_release(busy);
		if (at_machine[i]) {
			cr_assert_eq(actor_wait(&borrower, 0, 100).rc, 0,
				     "nobody lends to it any more");
			slot_release(hold);
		}
		cr_assert_eq(actor_wait(&borrower, 0, SOON_MS).rc, 1, "%zu", i);
		slots_free(inner);
		slots_free(run);
		slots_free(s);
		actor_end(&borrower);
	}
}

/*
 * It waits in a hold that ours is no part of, for one who waits in ours for it: each
 * holds what the other one needs, and none of them is inside of what the other one has.
 */
Test(slot_lend, is_lent_to_one_that_waits_in_another_hold, .timeout = 20)
{
	struct slots_config config = actor_config(2);
	struct slots *s = actor_seat(2);
	struct slot *holds[] = { ask(s, 1, 1), ask(s, 1, 1) };
	struct slots *runs[2], *inner[2];
	struct slot *busy[2];
	struct actor waits[2];
	char token[SLOT_TOKEN_SIZE];

	for (size_t i = 0; i < 2; i++) {
		config.inside = slot_token(holds[i], token);
		waits[i] = actor_new(&config);
		runs[i] = seat_inside(2, holds[i]);
		busy[i] = ask(runs[i], 1, 1);
		inner[i] = seat_inside(2, busy[i]);
		cr_assert_eq(actor_request(&waits[i], 0, 1).state, SLOT_WAITING);
	}
	for (size_t i = 0; i < 2; i++) {
		lend(inner[i], &waits[1 - i]);
		cr_expect_eq(actor_wait(&waits[1 - i], 0, SOON_MS).rc, 1, "%zu", i);
	}
	for (size_t i = 0; i < 2; i++) {
		actor_end(&waits[i]);
		slots_free(inner[i]);
		slots_free(runs[i]);
	}
	slots_free(s);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

/* Only what is free is lent there: behind others it might wait for us. */
Test(slot_lend, is_not_lent_elsewhere_what_others_use, .timeout = 20)
{
	struct slots_config config = actor_config(2);
	struct slots *s = actor_seat(2);
	struct slot *one = ask(s, 1, 1), *two = ask(s, 1, 1);
	struct slots *in_one = seat_inside(2, one), *in_two = seat_inside(2, two);
	struct slot *busy = ask(in_one, 1, 1), *used = ask(in_two, 1, 1);
	char token[SLOT_TOKEN_SIZE];
	struct actor waits;

	config.inside = slot_token(one, token);
	waits = actor_new(&config);
	cr_assert_eq(actor_request(&waits, 0, 1).state, SLOT_WAITING);
	lend(in_two, &waits);
	slot_release(busy);
	cr_assert_eq(actor_wait(&waits, 0, SOON_MS).rc, 1, "where it asked");
	cr_assert_eq(slot_count(used), 1);
	slots_free(in_one);
	slots_free(in_two);
	slots_free(s);
	actor_end(&waits);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

/* Whom the borrower waits for, having lent to that one what it has, is helped as well. */
Test(slot_lend, is_lent_to_whom_the_borrower_has_lent, .timeout = 20)
{
	struct slots_config config = actor_config(2);
	struct actor run = actor_new(&config);
	struct actor third = actor_new(&config);
	struct actor_order both = {
		.kind = ACTOR_REQUEST, .want = 2, .least = 2, .inside = -1
	};
	struct actor_answer hold = actor_request(&run, 0, 2);
	struct error err = ERROR_INIT;
	struct slots *in_run, *in_step;
	struct slot *step;

	config.inside = hold.token;
	cr_assert_eq(slots_open(&config, &in_run, &err), 0, "%s", err.text);
	step = ask(in_run, 1, 1);
	in_step = seat_inside(2, step);
	cr_assert_eq(actor_do(&third, both).state, SLOT_WAITING);
	lend(in_run, &third);
	cr_assert_eq(actor_wait(&third, 0, 100).rc, 0, "one of both is used");
	lend(in_step, &run);
	cr_assert_eq(actor_wait(&third, 0, SOON_MS).rc, 1);
	slots_free(in_step);
	slots_free(in_run);
	actor_end(&third);
	actor_end(&run);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

/*
 * Two steps of an exclusive run, in each an exclusive run: each has its step alone, and
 * not the machine.  Light steps of the two that waited for the other run would do so for
 * ever.
 */
Test(slot_lend, a_light_one_waits_for_whom_is_exclusive_beside_it, .timeout = 20)
{
	struct slots *s = actor_seat(2);
	struct slot *machine = ask_exclusive(s, NULL);
	struct slots *run = seat_inside(2, machine);
	struct slot *steps[] = { ask(run, 1, 1), ask(run, 1, 1) };
	struct slots *inner[2];
	struct slot *alone[2], *light;

	for (size_t i = 0; i < 2; i++) {
		inner[i] = seat_inside(2, steps[i]);
		alone[i] = ask_exclusive(inner[i], NULL);
		cr_assert_eq(slot_state(alone[i]), SLOT_HELD);
	}
	for (size_t i = 0; i < 2; i++) {
		struct slot_wish wish = { .inside = alone[i] };
		struct error err = ERROR_INIT;

		cr_assert_eq(slot_request(inner[i], &wish, &light, &err), 0);
		cr_expect_eq(slot_state(light), SLOT_HELD, "inside %zu", i);
		wish.inside = NULL;
		cr_assert_eq(slot_request(inner[i], &wish, &light, &err), 0);
		cr_expect_eq(slot_state(light), SLOT_WAITING, "beside %zu", i);
	}
	for (size_t i = 0; i < 2; i++)
		slots_free(inner[i]);
	slots_free(run);
	slots_free(s);
}

/* An exclusive run inside of an exclusive one ends, and its step does not. */
Test(slot_lend, nobody_starts_beside_what_an_inner_exclusive_run_left, .timeout = 20)
{
	struct slots *s = actor_seat(2);
	struct slot *machine = ask_exclusive(s, NULL);
	struct slots *run = seat_inside(2, machine);
	struct slot *alone = ask_exclusive(run, NULL);
	struct slot_wish wish = { .want = 1, .inside = alone };
	struct error err = ERROR_INIT;
	struct slot *left, *next;

	cr_assert_eq(slot_request(run, &wish, &left, &err), 0);
	cr_assert_eq(slot_count(left), 1);
	slot_release(alone);
	next = ask(run, 1, 1);
	cr_expect_eq(slot_state(next), SLOT_WAITING);
	slot_release(left);
	look(run);
	cr_expect_eq(slot_count(next), 1);
	slots_free(run);
	slots_free(s);
}
