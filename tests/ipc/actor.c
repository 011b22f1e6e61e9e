/* SPDX-License-Identifier: MIT */
#include "actor.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/shm.h"
#include "ipc/slot_list.h"
#include "ipc/slot_seat.h"

static void
segment_remove(void)
{
	(void)shm_unlink(actor_segment());
}

const char *
actor_segment(void)
{
	static char name[64];
	static pid_t owner;

	if (name[0] == '\0') {
		owner = getpid();
		(void)snprintf(name, sizeof(name), "/gn-test-%ld", (long)owner);
		(void)shm_unlink(name);
		(void)atexit(segment_remove);
	}
	return name;
}

struct slots_config
actor_config(unsigned budget)
{
	return (struct slots_config){ .segment = actor_segment(), .budget = budget };
}

struct slots *
actor_seat(unsigned budget)
{
	struct slots_config config = actor_config(budget);
	struct error err = ERROR_INIT;
	struct slots *s = NULL;

	cr_assert_eq(slots_open(&config, &s, &err), 0, "%s", err.text);
	return s;
}

struct slot *
ask(struct slots *s, unsigned want, unsigned least)
{
	struct slot_wish wish = { .want = want, .least = least, .label = "fast" };
	struct error err = ERROR_INIT;
	struct slot *r = NULL;

	cr_assert_eq(slot_request(s, &wish, &r, &err), 0, "%s", err.text);
	return r;
}

struct slot *
ask_exclusive(struct slots *s, const struct slot *inside)
{
	struct slot_wish wish = { .exclusive = true, .inside = inside, .label = "full" };
	struct error err = ERROR_INIT;
	struct slot *r = NULL;

	cr_assert_eq(slot_request(s, &wish, &r, &err), 0, "%s", err.text);
	return r;
}

void
look(struct slots *s)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(slots_poll(s, &err), 0, "%s", err.text);
}

struct slots *
seat_inside(unsigned budget, const struct slot *hold)
{
	struct slots_config config = actor_config(budget);
	struct error err = ERROR_INIT;
	char token[SLOT_TOKEN_SIZE];
	struct slots *s;

	config.inside = slot_token(hold, token);
	cr_assert_eq(slots_open(&config, &s, &err), 0, "%s", err.text);
	return s;
}

static pid_t
actor_worker(struct slots *s, struct slot *keep)
{
	pid_t pid = fork();

	if (pid == 0) {
		slots_leave(s, keep);
		/* The supervisor's death does not end it, the test's does not either:
		 * it is up to the test, with an alarm as the last resort. */
		(void)prctl(PR_SET_PDEATHSIG, 0);
		(void)alarm(60);
		for (int fd = 0; fd < 64; fd++)
			if (fd != slot_hold_fd(keep))
				(void)close(fd);
		for (;;)
			(void)pause();
	}
	return pid;
}

static void
actor_obey(struct slots *s, struct slot *slots[], const struct actor_order *o,
	   struct actor_answer *ret_answer)
{
	struct actor_answer *a = ret_answer;
	struct error err = ERROR_INIT;
	int64_t start = clock_now_ms();
	struct slot_wish wish = {
		.want = o->want,
		.least = o->least,
		.exclusive = o->exclusive,
		.inside = o->inside >= 0 ? slots[o->inside] : NULL,
		.label = "actor",
	};

	switch (o->kind) {
	case ACTOR_REQUEST:
		a->rc = slot_request(s, &wish, &slots[o->slot], &err);
		break;
	case ACTOR_WAIT:
		a->rc = slot_wait(slots[o->slot], clock_now_ms() + o->ms, -1, &err);
		break;
	case ACTOR_POLL:
		a->rc = slots_poll(s, &err);
		break;
	case ACTOR_RELEASE:
		slot_release(slots[o->slot]);
		slots[o->slot] = NULL;
		break;
	case ACTOR_WORKER:
		a->pid = actor_worker(s, slots[o->slot]);
		break;
	case ACTOR_LOCK:
		a->rc = shm_lock_patient(s->fd, TABLE_LOCK, 1000);
		break;
	}
	a->took_ms = (int)(clock_now_ms() - start);
	a->share = slots_share(s);
	(void)snprintf(a->text, sizeof(a->text), "%.255s", err.text);
	if (slots[o->slot] != NULL) {
		a->state = slot_state(slots[o->slot]);
		a->count = slot_count(slots[o->slot]);
		(void)slot_token(slots[o->slot], a->token);
	}
}

static void
actor_play(const struct slots_config *config, int orders, int answers)
{
	struct slot *slots[ACTOR_SLOTS] = { NULL };
	struct actor_answer answer;
	struct error err = ERROR_INIT;
	struct actor_order order;
	struct slots *s = NULL;

	memset(&answer, 0, sizeof(answer));
	answer.rc = slots_open(config, &s, &err);
	(void)snprintf(answer.text, sizeof(answer.text), "%.255s", err.text);
	(void)fd_write(answers, &answer, sizeof(answer));
	while (answer.rc >= 0 && read(orders, &order, sizeof(order)) == sizeof(order)) {
		memset(&answer, 0, sizeof(answer));
		actor_obey(s, slots, &order, &answer);
		(void)fd_write(answers, &answer, sizeof(answer));
	}
	slots_free(s);
	_exit(0);
}

static struct actor_answer
actor_answer(struct actor *a)
{
	struct actor_answer answer;
	ssize_t got = read(a->answers, &answer, sizeof(answer));

	cr_assert_eq(got, (ssize_t)sizeof(answer), "the actor %ld is gone", (long)a->pid);
	return answer;
}

struct actor
actor_new(const struct slots_config *config)
{
	struct actor a = { 0 };
	struct actor_answer answer;
	int orders[2], answers[2];

	cr_assert_eq(pipe2(orders, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(answers, O_CLOEXEC), 0);
	a.pid = fork();
	cr_assert_geq(a.pid, 0);
	if (a.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Not the ends of other actors' pipes: they would never see the end. */
		for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
			if (fd != orders[0] && fd != answers[1])
				(void)close(fd);
		actor_play(config, orders[0], answers[1]);
	}
	(void)close(orders[0]);
	(void)close(answers[1]);
	a.orders = orders[1];
	a.answers = answers[0];
	answer = actor_answer(&a);
	cr_assert_eq(answer.rc, 0, "%s", answer.text);
	return a;
}

struct actor_answer
actor_do(struct actor *a, struct actor_order order)
{
	struct actor_answer answer;

	cr_assert_eq(fd_write(a->orders, &order, sizeof(order)), 0);
	answer = actor_answer(a);
	cr_assert_geq(answer.rc, 0, "%s", answer.text);
	return answer;
}

struct actor_answer
actor_request(struct actor *a, unsigned slot, unsigned want)
{
	return actor_do(a, (struct actor_order){ .kind = ACTOR_REQUEST,
						 .slot = slot,
						 .want = want,
						 .least = want,
						 .inside = -1 });
}

struct actor_answer
actor_exclusive(struct actor *a, unsigned slot)
{
	return actor_do(a, (struct actor_order){ .kind = ACTOR_REQUEST,
						 .slot = slot,
						 .exclusive = true,
						 .inside = -1 });
}

struct actor_answer
actor_wait(struct actor *a, unsigned slot, int ms)
{
	return actor_do(a,
			(struct actor_order){
			    .kind = ACTOR_WAIT, .slot = slot, .inside = -1, .ms = ms });
}

struct actor_answer
actor_poll(struct actor *a, unsigned slot)
{
	return actor_do(
	    a, (struct actor_order){ .kind = ACTOR_POLL, .slot = slot, .inside = -1 });
}

struct actor_answer
actor_release(struct actor *a, unsigned slot)
{
	return actor_do(
	    a, (struct actor_order){ .kind = ACTOR_RELEASE, .slot = slot, .inside = -1 });
}

static void
actor_reap(struct actor *a)
{
	fd_close(&a->orders);
	fd_close(&a->answers);
	(void)waitpid(a->pid, NULL, 0);
	a->pid = 0;
}

void
actor_kill(struct actor *a)
{
	cr_assert_gt(a->pid, 1);
	(void)kill(a->pid, SIGKILL);
	actor_reap(a);
}

void
actor_end(struct actor *a)
{
	actor_reap(a);
}

unsigned
actor_free_slots(const char *segment)
{
	struct slots_config config = { .segment = segment };
	struct slot_list list;
	struct slot_wish wish = { .want = SLOT_BUDGET_MAX, .least = 1 };
	struct error err = ERROR_INIT;
	struct slots *s = NULL;
	struct slot *r = NULL;
	unsigned n;

	/* Where nobody is, whoever comes sets the budget: leave it as it is. */
	cr_assert_eq(slots_look(segment, &list, &err), 0, "%s", err.text);
	config.budget = list.budget;
	slot_list_release(&list);
	cr_assert_eq(slots_open(&config, &s, &err), 0, "%s", err.text);
	cr_assert_eq(slot_request(s, &wish, &r, &err), 0, "%s", err.text);
	n = slot_count(r);
	slots_free(s);
	return n;
}
