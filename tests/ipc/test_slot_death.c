/* SPDX-License-Identifier: MIT */
/* Slots among processes that are killed, stopped, or meddled with. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/shm.h"
#include "ipc/slot.h"
#include "ipc/slot_list.h"

enum {
	SOON_MS = 5000
};

static void
stop(const struct actor *a)
{
	int status;

	cr_assert_eq(kill(a->pid, SIGSTOP), 0);
	cr_assert_eq(waitpid(a->pid, &status, WUNTRACED), a->pid);
	cr_assert(WIFSTOPPED(status));
}

static void
resume(const struct actor *a)
{
	cr_assert_eq(kill(a->pid, SIGCONT), 0);
}

Test(slot_death, a_killed_holder_leaves_its_slots, .timeout = 60)
{
	struct slots_config config = actor_config(2);
	struct actor waiter = actor_new(&config);

	for (int i = 0; i < 20; i++) {
		struct actor holder = actor_new(&config);

		cr_assert_eq(actor_request(&holder, 0, 2).count, 2);
		cr_assert_eq(actor_request(&waiter, 0, 1).state, SLOT_WAITING);
		actor_kill(&holder);
		cr_assert_eq(actor_wait(&waiter, 0, SOON_MS).rc, 1);
		(void)actor_release(&waiter, 0);
	}
	actor_end(&waiter);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

Test(slot_death, a_killed_waiter_is_in_no_ones_way, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct actor holder = actor_new(&config);
	struct actor dead = actor_new(&config);
	struct actor next = actor_new(&config);

	cr_assert_eq(actor_request(&holder, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_exclusive(&dead, 0).state, SLOT_WAITING);
	cr_assert_eq(actor_request(&next, 0, 1).state, SLOT_WAITING);
	actor_kill(&dead);
	(void)actor_release(&holder, 0);
	cr_assert_eq(actor_wait(&next, 0, SOON_MS).rc, 1);
	actor_end(&next);
	actor_end(&holder);
}

Test(slot_death, a_hold_lasts_until_supervisor_and_worker_are_gone, .timeout = 30)
{
	struct slots_config config = actor_config(3);
	struct actor supervisor = actor_new(&config);
	struct actor other = actor_new(&config);
	struct actor_order fork_one = { .kind = ACTOR_WORKER, .slot = 0, .inside = -1 };
	struct actor_answer hold;
	pid_t worker;

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	hold = actor_request(&supervisor, 0, 2);
	cr_assert_eq(actor_request(&supervisor, 1, 1).count, 1);
	worker = actor_do(&supervisor, fork_one).pid;
	cr_assert_gt(worker, 0);
	cr_assert_eq(actor_request(&other, 0, 1).state, SLOT_WAITING);
	actor_kill(&supervisor);
	cr_assert_eq(actor_wait(&other, 0, SOON_MS).rc, 1, "the other hold is free");
	cr_assert_eq(actor_request(&other, 1, 1).state, SLOT_WAITING);
	cr_assert_eq(actor_wait(&other, 1, 100).rc, 0, "the worker's hold is not");
	cr_assert(slot_token_check(actor_segment(), hold.token).is_live);
	cr_assert_eq(kill(worker, SIGKILL), 0);
	cr_assert_eq(waitpid(worker, NULL, 0), worker);
	cr_assert_eq(actor_wait(&other, 1, SOON_MS).rc, 1);
	cr_assert_not(slot_token_check(actor_segment(), hold.token).is_live);
	actor_end(&other);
}

Test(slot_death, a_released_hold_is_free_although_a_copy_is_open, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct actor supervisor = actor_new(&config);
	struct actor_order fork_one = { .kind = ACTOR_WORKER, .slot = 0, .inside = -1 };
	pid_t worker;

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	cr_assert_eq(actor_request(&supervisor, 0, 1).count, 1);
	worker = actor_do(&supervisor, fork_one).pid;
	(void)actor_release(&supervisor, 0);
	cr_assert_eq(actor_request(&supervisor, 1, 1).count, 1);
	actor_end(&supervisor);
	cr_assert_eq(actor_free_slots(actor_segment()), 1);
	cr_assert_eq(kill(worker, SIGKILL), 0);
	cr_assert_eq(waitpid(worker, NULL, 0), worker);
}

Test(slot_death, a_killed_outer_hold_leaves_the_inner_ones_counted, .timeout = 30)
{
	struct slots_config config = actor_config(2);
	struct actor outer = actor_new(&config);
	struct actor inner, other;

	config.inside = actor_request(&outer, 0, 2).token;
	inner = actor_new(&config);
	config.inside = NULL;
	other = actor_new(&config);
	cr_assert_eq(actor_request(&inner, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_request(&other, 0, 2).state, SLOT_WAITING);
	actor_kill(&outer);
	cr_assert_eq(actor_wait(&other, 0, 100).rc, 0, "three on two slots");
	actor_kill(&inner);
	cr_assert_eq(actor_wait(&other, 0, SOON_MS).rc, 1);
	actor_end(&other);
}

Test(slot_death, what_a_killed_inner_hold_leaves_counts_in_the_outer_one, .timeout = 30)
{
	struct slots_config config = actor_config(3);
	struct actor outer = actor_new(&config);
	struct actor stranger = actor_new(&config);
	struct actor middle, inner, next;

	config.inside = actor_request(&outer, 0, 2).token;
	middle = actor_new(&config);
	next = actor_new(&config);
	config.inside = actor_request(&middle, 0, 2).token;
	inner = actor_new(&config);
	cr_assert_eq(actor_request(&inner, 0, 1).state, SLOT_HELD);
	actor_kill(&middle);
	cr_assert_eq(actor_request(&next, 0, 2).state, SLOT_WAITING);
	cr_assert_eq(actor_wait(&next, 0, 100).rc, 0, "three steps on two slots");
	cr_assert_eq(actor_request(&stranger, 0, 1).state, SLOT_HELD,
		     "the third of the machine is free");
	actor_kill(&inner);
	cr_assert_eq(actor_wait(&next, 0, SOON_MS).rc, 1);
	actor_end(&next);
	actor_end(&stranger);
	actor_end(&outer);
	cr_assert_eq(actor_free_slots(actor_segment()), 3);
}

Test(slot_death, a_stopped_head_of_the_queue_is_passed_over, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct actor holder = actor_new(&config);
	struct actor head = actor_new(&config);
	struct actor next = actor_new(&config);
	struct actor last = actor_new(&config);

	cr_assert_eq(actor_request(&holder, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_request(&head, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(actor_request(&next, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(actor_request(&last, 0, 1).state, SLOT_WAITING);
	stop(&head);
	(void)actor_release(&holder, 0);
	cr_assert_eq(actor_wait(&next, 0, SOON_MS).rc, 1);
	resume(&head);
	cr_assert_eq(actor_poll(&head, 0).state, SLOT_WAITING);
	(void)actor_release(&next, 0);
	cr_assert_eq(actor_wait(&head, 0, SOON_MS).rc, 1, "it kept its place");
	cr_assert_eq(actor_poll(&last, 0).state, SLOT_WAITING);
	actor_kill(&last);
	actor_end(&next);
	actor_end(&head);
	actor_end(&holder);
}

Test(slot_death, a_stopped_holder_keeps_its_slots_and_is_named, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct actor holder = actor_new(&config);
	struct actor next = actor_new(&config);
	struct error err = ERROR_INIT;
	struct slot_list list;

	cr_assert_eq(actor_request(&holder, 0, 1).state, SLOT_HELD);
	stop(&holder);
	cr_assert_eq(actor_request(&next, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(actor_wait(&next, 0, 200).rc, 0);
	cr_assert_eq(slots_look(actor_segment(), &list, &err), 0);
	cr_assert_eq(list.nitems, 2);
	cr_assert_eq(list.items[0].pid, holder.pid);
	cr_assert(list.items[0].is_stopped && !list.items[1].is_stopped);
	slot_list_release(&list);
	actor_kill(&holder);
	cr_assert_eq(actor_wait(&next, 0, SOON_MS).rc, 1);
	actor_end(&next);
}

Test(slot_death, a_stopped_owner_of_the_lock_blocks_no_one_within, .timeout = 30)
{
	struct slots_config config = actor_config(2);
	struct actor owner = actor_new(&config);
	struct actor a = actor_new(&config);
	struct slots *s = actor_seat(2);
	struct actor_answer answer;
	struct actor late;

	cr_assert_eq(actor_request(&a, 0, 1).state, SLOT_HELD);
	(void)actor_do(&owner, (struct actor_order){ .kind = ACTOR_LOCK, .inside = -1 });
	stop(&owner);
	cr_assert_eq(slots_lock_owner(s), owner.pid);
	answer = actor_request(&a, 1, 1);
	cr_assert_eq(answer.state, SLOT_WAITING);
	cr_assert_lt(answer.took_ms, 1000, "%d ms", answer.took_ms);
	answer = actor_poll(&a, 1);
	cr_assert_lt(answer.took_ms, 1000, "%d ms", answer.took_ms);
	answer = actor_release(&a, 0);
	cr_assert_lt(answer.took_ms, 1000, "%d ms", answer.took_ms);
	/* A newcomer gets its seat, and waits for slots. */
	late = actor_new(&config);
	cr_assert_eq(actor_request(&late, 0, 1).state, SLOT_WAITING);
	actor_kill(&owner);
	cr_assert_eq(actor_wait(&a, 1, SOON_MS).rc, 1);
	cr_assert_eq(actor_wait(&late, 0, SOON_MS).rc, 1);
	actor_end(&late);
	actor_end(&a);
	slots_free(s);
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

/* One of many: asks, has, gives back.  Its exit says whether it was served. */
static pid_t
crowd_one(const struct slots_config *config)
{
	struct slot_wish wish = { .want = 1, .least = 1, .label = "crowd" };
	struct error err = ERROR_INIT;
	struct slots *s = NULL;
	struct slot *r = NULL;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (slots_open(config, &s, &err) < 0 || slot_request(s, &wish, &r, &err) < 0 ||
	    slot_wait(r, clock_now_ms() + 60000, -1, &err) != 1)
		_exit(1);
	slots_free(s);
	_exit(0);
}

Test(slot_death, three_hundred_wait_on_a_table_of_256, .timeout = 90)
{
	struct slots_config config = actor_config(2);
	struct slots *s = actor_seat(2);
	struct slot_wish wish = { .exclusive = true };
	struct slot_wish inside = { .want = 1, .least = 1 };
	struct error err = ERROR_INIT;
	struct slot_list list;
	struct slot *r, *step;
	pid_t pids[300];
	int status;

	cr_assert_eq(slot_request(s, &wish, &r, &err), 0);
	cr_assert_eq(slot_state(r), SLOT_HELD);
	for (size_t i = 0; i < 300; i++)
		cr_assert_gt(pids[i] = crowd_one(&config), 0);
	for (int64_t end = clock_now_ms() + 60000; clock_now_ms() < end;) {
		slots_list(s, &list);
		status = list.nitems == 256 - 256 / 8;
		slot_list_release(&list);
		if (status)
			break;
		(void)sched_yield();
	}
	slots_list(s, &list);
	cr_expect_eq(list.nitems, 256 - 256 / 8, "the table is full: %zu", list.nitems);
	slot_list_release(&list);
	/* But there is room for what they all wait for. */
	inside.inside = r;
	cr_assert_eq(slot_request(s, &inside, &step, &err), 0);
	cr_expect_eq(slot_wait(step, clock_now_ms() + SOON_MS, -1, &err), 1);
	slots_free(s);
	for (size_t i = 0; i < 300; i++) {
		cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%zu", i);
	}
	cr_assert_eq(actor_free_slots(actor_segment()), 2);
}

/* An actor that is pid 1 of a pid namespace of its own; needs privilege. */
static bool
actor_in_namespace(const struct slots_config *config, struct actor *ret_actor)
{
	int home = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(home, 0);
	if (unshare(CLONE_NEWPID) < 0) {
		fd_close(&home);
		return false;
	}
	*ret_actor = actor_new(config);
	cr_assert_eq(setns(home, CLONE_NEWPID), 0);
	fd_close(&home);
	return true;
}

Test(slot_death, two_pid_namespaces_share_a_segment, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct error err = ERROR_INIT;
	struct actor holder, waiter;
	struct slot_list list;

	if (!actor_in_namespace(&config, &holder))
		cr_skip_test("no privilege for a pid namespace");
	cr_assert(actor_in_namespace(&config, &waiter));
	cr_assert_eq(actor_request(&holder, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_request(&waiter, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(slots_look(actor_segment(), &list, &err), 0);
	cr_assert_eq(list.nitems, 2);
	cr_assert(list.items[0].is_foreign && list.items[1].is_foreign);
	cr_assert(list.items[0].pid == 1 && list.items[1].pid == 1);
	slot_list_release(&list);
	cr_assert_eq(actor_wait(&waiter, 0, 100).rc, 0);
	actor_kill(&holder);
	cr_assert_eq(actor_wait(&waiter, 0, SOON_MS).rc, 1);
	actor_end(&waiter);
}

static void
segment_write(const void *bytes, size_t n, mode_t mode)
{
	int fd = shm_open(actor_segment(), O_RDWR | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fchmod(fd, mode), 0);
	cr_assert_eq(fd_write(fd, bytes, n), 0);
	fd_close(&fd);
}

Test(slot_death, a_segment_without_its_name_drains, .timeout = 30)
{
	struct slots_config config = actor_config(1);
	struct actor holder = actor_new(&config);
	struct actor waiter = actor_new(&config);
	struct actor late;

	cr_assert_eq(actor_request(&holder, 0, 1).state, SLOT_HELD);
	cr_assert_eq(actor_request(&waiter, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(shm_unlink(actor_segment()), 0);
	/* Whoever waits goes where the new ones are, and is not alone there. */
	cr_assert_eq(actor_wait(&waiter, 0, SOON_MS).rc, 1);
	late = actor_new(&config);
	cr_assert_eq(actor_request(&late, 0, 1).state, SLOT_WAITING);
	cr_assert_eq(actor_request(&holder, 1, 1).state, SLOT_WAITING);
	(void)actor_release(&holder, 0);
	(void)actor_release(&waiter, 0);
	cr_assert_eq(actor_wait(&late, 0, SOON_MS).rc, 1);
	(void)actor_release(&late, 0);
	cr_assert_eq(actor_wait(&holder, 1, SOON_MS).rc, 1);
	actor_end(&late);
	actor_end(&waiter);
	actor_end(&holder);
	cr_assert_eq(actor_free_slots(actor_segment()), 1);
}

Test(slot_death, a_table_damaged_under_live_processes_is_mended, .timeout = 60)
{
	static const struct {
		const char *name;
		int bytes; /* left of it */
		char fill; /* over the header */
	} cases[] = {
		{ "truncated to nothing", 0, 0 },   { "cut within the header", 40, 0 },
		{ "cut behind the header", 70, 0 }, { "header of zeros", -1, 0 },
		{ "header of garbage", -1, 'x' },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slots_config config = actor_config(2);
		struct actor holder = actor_new(&config);
		struct actor waiter = actor_new(&config);
		char garbage[64];
		int fd;

		cr_assert_eq(actor_request(&holder, 0, 2).count, 2);
		cr_assert_eq(actor_request(&waiter, 0, 2).state, SLOT_WAITING);
		fd = shm_open(actor_segment(), O_RDWR, 0);
		memset(garbage, cases[i].fill, sizeof(garbage));
		if (cases[i].bytes >= 0)
			cr_assert_eq(ftruncate(fd, cases[i].bytes), 0);
		else
			cr_assert_eq(pwrite(fd, garbage, sizeof(garbage), 0), 64);
		fd_close(&fd);
		cr_expect_eq(actor_wait(&waiter, 0, 100).rc, 0, "%s", cases[i].name);
		cr_expect_eq(actor_poll(&holder, 0).count, 2, "%s", cases[i].name);
		(void)actor_release(&holder, 0);
		cr_expect_eq(actor_wait(&waiter, 0, SOON_MS).rc, 1, "%s", cases[i].name);
		cr_expect_eq(actor_poll(&waiter, 0).count, 2, "%s", cases[i].name);
		actor_end(&waiter);
		actor_end(&holder);
	}
}

Test(slot_death, a_layout_unknown_is_refused_in_use_and_else_made_anew, .timeout = 30)
{
	struct slots_config config = actor_config(2);
	struct error err = ERROR_INIT;
	struct slots *s = NULL;
	char garbage[5000];
	int fd;

	memset(garbage, 0xa5, sizeof(garbage));
	for (size_t n = 0; n < sizeof(garbage); n = n * 3 + 7) {
		segment_write(garbage, n, 0600);
		cr_assert_eq(slots_open(&config, &s, &err), 0, "%zu: %s", n, err.text);
		slots_free(s);
		cr_assert_eq(actor_free_slots(actor_segment()), 2);
	}
	segment_write(garbage, sizeof(garbage), 0600);
	fd = shm_open(actor_segment(), O_RDWR, 0);
	cr_assert_eq(shm_lock(fd, 4711), 0);
	cr_assert_eq(slots_open(&config, &s, &err), -1);
	cr_assert_eq(err.kind, ERROR_DATA);
	cr_assert_not_null(strstr(err.text, actor_segment()), "%s", err.text);
	fd_close(&fd);
	cr_assert_eq(slots_open(&config, &s, &err), 0, "%s", err.text);
	slots_free(s);
}

Test(slot_death, any_bit_may_be_wrong_when_nobody_is_there, .timeout = 60)
{
	struct slots *s = actor_seat(2);
	unsigned seed = 20;

	slots_free(s);
	for (int i = 0; i < 400; i++) {
		int fd = shm_open(actor_segment(), O_RDWR, 0);
		unsigned char byte;
		off_t at = rand_r(&seed) % 600;

		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte = (unsigned char)(byte ^ 1 << rand_r(&seed) % 8);
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		fd_close(&fd);
		s = actor_seat(2);
		cr_assert_eq(slots_share(s), 2);
		cr_assert_eq(actor_free_slots(actor_segment()), 2, "byte %ld", (long)at);
		slots_free(s);
	}
}
