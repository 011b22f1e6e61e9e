/* SPDX-License-Identifier: MIT */
#include "supervisor/run/turn.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/lock.h"
#include "ipc/process.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LOCK ".geonosis/fast.lock"

static struct signals signals = { .fd = -1 };

static void
enter(void)
{
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	cr_assert_eq(mkdir(".geonosis", 0777), 0);
	cr_assert_eq(signals_open(&signals, &err), 0, "%s", err.text);
	cr_assert_eq(unsetenv(TURN_CHAIN_VARIABLE), 0);
}

static void
leave(void)
{
	signals_close(&signals);
	scratch_leave();
}

TestSuite(turn, .init = enter, .fini = leave, .timeout = 60);

/* --- who else holds it --- */

/* A child that holds the lock with a note of its own, until it is let go. */
struct holder {
	pid_t pid;
	int hold; /* closing it lets go */
};

static struct holder
holder_new(const char *note)
{
	struct error err = ERROR_INIT;
	struct holder h;
	int ready[2], hold[2];
	char c;

	cr_assert_eq(pipe2(ready, O_CLOEXEC) | pipe2(hold, O_CLOEXEC), 0);
	h.pid = fork();
	cr_assert_geq(h.pid, 0);
	if (h.pid == 0) {
		struct turn t;
		int fd = -1;

		(void)close(hold[1]);
		if (note == NULL) {
			turn_init(&t);
			if (turn_take(&t, "fast", &signals, NULL, NULL, &err) != 0)
				_exit(1);
		} else {
			if (lock_open(LOCK, &fd, &err) < 0 || lock_try(fd, &err) != 1)
				_exit(1);
			lock_write_note(fd, note);
		}
		(void)!write(ready[1], "x", 1);
		(void)!read(hold[0], &c, 1);
		_exit(0);
	}
	(void)close(ready[1]);
	(void)close(hold[0]);
	cr_assert_eq(read(ready[0], &c, 1), 1, "the holder has it not");
	(void)close(ready[0]);
	h.hold = hold[1];
	return h;
}

static void
holder_end(struct holder *h)
{
	int status;

	(void)close(h->hold);
	cr_expect_eq(waitpid(h->pid, &status, 0), h->pid);
}

/* Told of a wait: it is remembered, and ended as the test wants it. */
struct told {
	unsigned times;
	pid_t pid;
	char tier[32];
	struct holder *let; /* let go */
	int raise;	    /* or a signal */
	int kill;	    /* of the holder */
};

static void
tell(void *ctx, const char *tier, pid_t pid)
{
	struct told *t = ctx;

	t->times++;
	t->pid = pid;
	(void)snprintf(t->tier, sizeof(t->tier), "%s", tier);
	if (t->raise != 0)
		(void)raise(t->raise);
	else if (t->kill != 0)
		(void)kill(t->let->pid, t->kill);
	else if (t->let != NULL)
		(void)close(t->let->hold);
}

static void
expect_is_taken(void)
{
	struct error err = ERROR_INIT;
	int fd = -1;

	cr_assert_eq(lock_open(LOCK, &fd, &err), 0, "%s", err.text);
	cr_expect_eq(lock_try(fd, &err), 0, "the lock is free");
	fd_close(&fd);
}

static void
expect_is_free(void)
{
	struct error err = ERROR_INIT;
	int fd = -1;

	cr_assert_eq(lock_open(LOCK, &fd, &err), 0, "%s", err.text);
	cr_expect_eq(lock_try(fd, &err), 1, "the lock is taken");
	fd_close(&fd);
}

/* --- ids and chains --- */

Test(turn, ids_are_hexadecimal_and_differ)
{
	struct turn a, b;

	turn_init(&a);
	turn_init(&b);
	cr_expect_eq(strlen(a.id), TURN_ID_SIZE - 1);
	cr_expect_eq(strspn(a.id, "0123456789abcdef"), TURN_ID_SIZE - 1);
	cr_expect_str_neq(a.id, b.id);
	cr_expect_eq(a.fd, -1);
	cr_expect_not(a.waited);
}

Test(turn, chain_is_the_outer_ones_and_its_own)
{
	static const char *const outer[] = { NULL, "", "0123456789abcdef",
					     "0123456789abcdef:fedcba9876543210", "x" };
	struct turn t;

	turn_init(&t);
	for (size_t i = 0; i < COUNT(outer); i++) {
		char want[128];
		char *got;

		if (outer[i] != NULL)
			cr_assert_eq(setenv(TURN_CHAIN_VARIABLE, outer[i], 1), 0);
		got = turn_chain(&t);
		(void)snprintf(want, sizeof(want), "%s%s%s",
			       outer[i] != NULL ? outer[i] : "",
			       outer[i] != NULL && *outer[i] != '\0' ? ":" : "", t.id);
		cr_expect_str_eq(got, want, "%zu", i);
		free(got);
	}
}

Test(turn, chain_does_not_grow_without_end)
{
	char *outer = malloc(1 << 20);
	struct turn t;
	char *got;

	cr_assert_not_null(outer);
	memset(outer, 'a', (1 << 20) - 1);
	outer[(1 << 20) - 1] = '\0';
	cr_assert_eq(setenv(TURN_CHAIN_VARIABLE, outer, 1), 0);
	turn_init(&t);
	got = turn_chain(&t);
	cr_expect_str_eq(got, t.id);
	free(got);
	free(outer);
}

/* --- taking it --- */

Test(turn, taken_where_it_is_free)
{
	struct error err = ERROR_INIT;
	struct told told = { 0 };
	char want[64];
	struct turn t;
	char *note;

	turn_init(&t);
	cr_assert_eq(turn_take(&t, "fast", &signals, tell, &told, &err), 0, "%s",
		     err.text);
	cr_expect_eq(told.times, 0);
	cr_expect_not(t.waited);
	expect_is_taken();
	note = scratch_read(LOCK);
	cr_assert_not_null(note);
	(void)snprintf(want, sizeof(want), "%ld %s %" PRIu64 "\n", (long)getpid(), t.id,
		       process_pid_namespace());
	cr_expect_eq(strncmp(note, want, strlen(want)), 0, "%s", note);
	free(note);
	turn_release(&t);
	expect_is_free();
	turn_release(&t);
}

Test(turn, tiers_do_not_wait_for_each_other)
{
	struct error err = ERROR_INIT;
	struct turn a, b;

	turn_init(&a);
	turn_init(&b);
	cr_expect_eq(turn_take(&a, "fast", &signals, NULL, NULL, &err), 0);
	cr_expect_eq(turn_take(&b, "full", &signals, NULL, NULL, &err), 0);
	turn_release(&a);
	turn_release(&b);
}

Test(turn, second_waits_and_says_for_whom)
{
	struct error err = ERROR_INIT;
	struct holder h = holder_new(NULL);
	struct told told = { .let = &h };
	struct turn t;

	turn_init(&t);
	cr_expect_eq(turn_take(&t, "fast", &signals, tell, &told, &err), 0, "%s",
		     err.text);
	cr_expect_eq(told.times, 1);
	cr_expect_eq(told.pid, h.pid);
	cr_expect_str_eq(told.tier, "fast");
	cr_expect(t.waited);
	expect_is_taken();
	turn_release(&t);
	cr_expect_eq(waitpid(h.pid, NULL, 0), h.pid);
}

Test(turn, holder_that_is_killed_is_not_waited_for)
{
	struct error err = ERROR_INIT;
	struct holder h = holder_new(NULL);
	struct told told = { .let = &h, .kill = SIGKILL };
	struct turn t;

	turn_init(&t);
	cr_expect_eq(turn_take(&t, "fast", &signals, tell, &told, &err), 0, "%s",
		     err.text);
	cr_expect(t.waited);
	turn_release(&t);
	holder_end(&h);
}

Test(turn, signal_ends_the_wait)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };
	struct holder h = holder_new(NULL);

	for (size_t i = 0; i < COUNT(signos); i++) {
		struct error err = ERROR_INIT;
		struct told told = { .raise = signos[i] };
		struct turn t;

		turn_init(&t);
		cr_expect_eq(turn_take(&t, "fast", &signals, tell, &told, &err),
			     signos[i]);
		cr_expect_eq(t.fd, -1);
	}
	expect_is_taken();
	holder_end(&h);
	expect_is_free();
}

/* --- it would wait for itself --- */

static void
expect_refused(const char *name)
{
	struct error err = ERROR_INIT;
	struct told told = { 0 };
	struct turn t;

	turn_init(&t);
	cr_expect_eq(turn_take(&t, "fast", &signals, tell, &told, &err), -1, "%s", name);
	cr_expect_eq(err.kind, ERROR_USAGE, "%s: %s", name, err.text);
	cr_expect_not_null(strstr(err.text, "wait for itself"), "%s: %s", name, err.text);
	cr_expect_eq(strncmp(err.text, "verify fast: ", 13), 0, "%s: %s", name, err.text);
	cr_expect_eq(told.times, 0, "%s", name);
	cr_expect_eq(t.fd, -1, "%s", name);
}

struct chain_case {
	const char *note;  /* of the holder */
	const char *chain; /* in our environment */
	bool refused;
};

static const struct chain_case chains[] = {
	{ "1 00000000000000aa", "00000000000000aa", true },
	{ "1 00000000000000aa", "00000000000000bb:00000000000000aa", true },
	{ "1 00000000000000aa", "00000000000000aa:00000000000000bb", true },
	{ "1 00000000000000aa", "00000000000000bb", false },
	{ "1 00000000000000aa", "", false },
	{ "1 00000000000000a", "00000000000000a0", false }, /* no whole id */
	{ "1 ", "00000000000000aa", false },
	{ "1", "00000000000000aa", false },
	{ "1 a", "00000000000000aa", false },
	{ "", "00000000000000aa", false },
	{ "rubbish", "rubbish", false },
	{ "-1 00000000000000aa", "00000000000000bb", false },
	{ "0 00000000000000aa", "00000000000000bb", false },
	{ "99999999999999999999 00000000000000aa", "00000000000000bb", false },
	{ "\x1b[31m", "\x1b[31m", false },
};

Test(turn, known_by_the_ids_of_enclosing_runs)
{
	for (size_t i = 0; i < COUNT(chains); i++) {
		const struct chain_case *k = &chains[i];
		struct holder h = holder_new(k->note);
		struct told told = { .let = &h };
		struct error err = ERROR_INIT;
		struct turn t;

		cr_assert_eq(setenv(TURN_CHAIN_VARIABLE, k->chain, 1), 0);
		if (k->refused) {
			expect_refused(k->note);
			holder_end(&h);
			continue;
		}
		turn_init(&t);
		cr_expect_eq(turn_take(&t, "fast", &signals, tell, &told, &err), 0,
			     "%zu: %s", i, err.text);
		cr_expect_eq(told.times, 1, "%zu", i);
		cr_expect_geq(told.pid, 0, "%zu", i);
		turn_release(&t);
		cr_expect_eq(waitpid(h.pid, NULL, 0), h.pid);
	}
}

/* As where the environment was scrubbed: the holder is found among the ancestors. */
Test(turn, known_by_its_ancestors)
{
	struct error err = ERROR_INIT;
	struct turn t;
	pid_t pid;
	int status;

	turn_init(&t);
	cr_assert_eq(turn_take(&t, "fast", &signals, NULL, NULL, &err), 0);
	expect_refused("the process itself");
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		struct told told = { 0 };
		struct turn inner;

		/* One that only follows: its parent is no holder. */
		turn_init(&inner);
		_exit(turn_take(&inner, "fast", &signals, tell, &told, &err) == -1 &&
			      err.kind == ERROR_USAGE && told.times == 0
			  ? 0
			  : 1);
	}
	cr_expect_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of the holder");
	turn_release(&t);
}

/* A number of another pid namespace is that of nobody around us. */
Test(turn, numbers_are_of_their_own_namespace)
{
	uint64_t here = process_pid_namespace();
	const struct {
		const char *name;
		pid_t pid;
		uint64_t pid_namespace;
		bool refused;
	} cases[] = {
		{ "an ancestor", getppid(), here, true },
		{ "an ancestor's number elsewhere", getppid(), here + 1, false },
		{ "who did not say where", getppid(), 0, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char note[LOCK_NOTE_MAX];
		struct told told = { 0 };
		struct error err = ERROR_INIT;
		struct holder h;
		struct turn t;

		(void)snprintf(note, sizeof(note), "%ld 00000000000000aa %" PRIu64,
			       (long)cases[i].pid, cases[i].pid_namespace);
		h = holder_new(note);
		if (cases[i].refused) {
			expect_refused(cases[i].name);
			holder_end(&h);
			continue;
		}
		told.let = &h;
		turn_init(&t);
		cr_expect_eq(turn_take(&t, "fast", &signals, tell, &told, &err), 0,
			     "%s: %s", cases[i].name, err.text);
		cr_expect_eq(told.times, 1, "%s", cases[i].name);
		turn_release(&t);
		cr_expect_eq(waitpid(h.pid, NULL, 0), h.pid);
	}
}

/* --- where turns cannot be taken --- */

Test(turn, no_lock_is_no_refusal)
{
	static const char *const made[] = {
		"rm -rf .geonosis; mkdir -p " LOCK,
		"rm -rf .geonosis; mkdir .geonosis; ln -s /tmp/elsewhere " LOCK,
		"rm -rf .geonosis; mkdir .geonosis; mkfifo " LOCK,
		"rm -rf .geonosis",
		"rm -rf .geonosis; : >.geonosis",
	};

	for (size_t i = 0; i < COUNT(made); i++) {
		struct error err = ERROR_INIT;
		struct turn t;

		cr_assert_eq(system(made[i]), 0, "%s", made[i]);
		turn_init(&t);
		cr_expect_eq(turn_take(&t, "fast", &signals, NULL, NULL, &err), -1, "%s",
			     made[i]);
		cr_expect(err.kind != ERROR_NONE && err.kind != ERROR_USAGE, "%s: %s",
			  made[i], err.text);
		cr_expect_not_null(strstr(err.text, LOCK), "%s: %s", made[i], err.text);
		cr_expect_eq(t.fd, -1, "%s", made[i]);
	}
}
