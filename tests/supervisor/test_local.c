/* SPDX-License-Identifier: MIT */
/* Real commands under the run's loop: what their results say. */
#include "supervisor/run/local.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/run/run.h"
#include "tests/helper/scratch.h"
#include "tests/supervisor/shape.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct signals signals_now;
static int log_dir_fd = -1;

static void
enter(void)
{
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	children_adopt();
	cr_assert_eq(system("mkdir logs"), 0);
	log_dir_fd = open("logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(signals_open(&signals_now, &err), 0);
}

static void
leave(void)
{
	children_end();
	signals_close(&signals_now);
	fd_close(&log_dir_fd);
	scratch_leave();
}

TestSuite(local, .init = enter, .fini = leave, .timeout = 60);

struct real {
	struct plan plan;
	struct result *results;
	struct run_outcome outcome;
};

/* The shape's jobs a, b, … run those commands. */
static void
run_real(const char *shape, const char *const *commands, unsigned jobs, unsigned retries,
	 const struct run_observer *observer, struct real *r)
{
	static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	static char held[] = "GEONOSIS_HEAVY_SLOT_HELD=stale";
	static char *env[] = { path, held, NULL };
	struct slots_config config = { .budget = 8 };
	struct machine machine = { .share = 8, .is_private = true };
	struct local_options lo = {
		.caller_env = env,
		.run_id = "0123456789abcdef",
		.run_chain = "0123456789abcdef",
		.base = "",
		.log_dir = "logs",
		.log_dir_fd = log_dir_fd,
	};
	struct run_observer nobody = { 0 };
	struct error err = ERROR_INIT;
	struct engine engine;
	struct run_options o = {
		.jobs = jobs,
		.retries = retries,
		.machine = &machine,
		.engine = &engine,
		.signals = &signals_now,
		.observer = observer != NULL ? observer : &nobody,
	};
	struct local *local;

	*r = (struct real){ 0 };
	shape_build(shape, &r->plan);
	r->results = xcalloc(r->plan.njobs, sizeof(*r->results));
	for (size_t i = 0; i < r->plan.njobs; i++) {
		r->results[i] = (struct result)RESULT_INIT;
		free(r->plan.jobs[i].command);
		r->plan.jobs[i].command = xstrdup(commands[i]);
	}
	cr_assert_eq(slots_open_private(&config, &machine.slots, &err), 0, "%s",
		     err.text);
	local = local_new(&r->plan, &lo);
	engine = local_engine(local);
	cr_expect_eq(run_execute(&r->plan, &o, r->results, &r->outcome, &err), 0, "%s",
		     err.text);
	local_free(local);
	slots_free(machine.slots);
}

static void
real_release(struct real *r)
{
	for (size_t i = 0; i < r->plan.njobs; i++)
		result_release(&r->results[i]);
	free(r->results);
	shape_release(&r->plan);
}

struct result_case {
	const char *command;
	bool ok;
	int exit_code;
	int signal;
	unsigned leaked;
	const char *tail;
	const char *environment;
	bool timed_out;
};

static const struct result_case cases[] = {
	{ "true", true, 0, 0, 0, "", NULL, false },
	{ "echo one; echo two", true, 0, 0, 0, "one\ntwo", NULL, false },
	{ "echo one; exit 3", false, 3, 0, 0, "one", NULL, false },
	{ "kill -KILL $$", false, 137, SIGKILL, 0, "", NULL, false },
	{ "sleep 1000 & exit 0", true, 0, 0, 1, "", NULL, false },
	{ "echo getaddrinfo ENOTFOUND registry; exit 1", false, 1, 0, 0,
	  "getaddrinfo ENOTFOUND registry", "getaddrinfo ENOTFOUND registry", false },
	/* Of a red only. */
	{ "echo getaddrinfo ENOTFOUND registry", true, 0, 0, 0,
	  "getaddrinfo ENOTFOUND registry", NULL, false },
	{ "echo connect ECONNREFUSED 127.0.0.1; exit 1", false, 1, 0, 0,
	  "connect ECONNREFUSED 127.0.0.1", NULL, false },
	{ "echo 'Error: Test timed out in 5000ms.'; exit 1", false, 1, 0, 0,
	  "Error: Test timed out in 5000ms.", NULL, true },
	{ "echo 'Error: Test timed out in 5000ms.'", true, 0, 0, 0,
	  "Error: Test timed out in 5000ms.", NULL, false },
};

Test(local, results)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct result_case *c = &cases[i];
		const struct result *res;
		struct real r;

		run_real("a", &c->command, 1, 0, NULL, &r);
		res = &r.results[0];
		cr_expect_eq(r.outcome.ok, c->ok, "%s", c->command);
		cr_expect_eq(res->ok, c->ok, "%s", c->command);
		cr_expect_eq(res->exit_code, c->exit_code, "%s: %d", c->command,
			     res->exit_code);
		cr_expect_eq(res->signal, c->signal, "%s: %d", c->command, res->signal);
		cr_expect_eq(res->leaked, c->leaked, "%s: %u", c->command, res->leaked);
		cr_expect_str_eq(res->tail != NULL ? res->tail : "", c->tail, "%s: %s",
				 c->command, res->tail);
		cr_expect_eq(res->environment == NULL, c->environment == NULL, "%s: %s",
			     c->command, res->environment);
		cr_expect_eq(res->timed_out, c->timed_out, "%s", c->command);
		cr_expect_eq(res->log != NULL, !c->ok, "%s: %s", c->command, res->log);
		cr_expect_null(res->error, "%s: %s", c->command, res->error);
		cr_expect_null(res->log_error, "%s: %s", c->command, res->log_error);
		if (res->timed_out)
			cr_expect_gt(res->cores, 0);
		real_release(&r);
	}
	cr_expect_eq(children_count(), 0, "spares and zombies: %d", children_count());
}

Test(local, log_is_where_it_says)
{
	static const char *const commands[] = { "printf 'x\\0y'; exit 1" };
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;
	struct real r;

	run_real("a", commands, 1, 0, NULL, &r);
	cr_assert_str_eq(r.results[0].log, "logs/a.log");
	cr_expect_eq(file_read("logs/a.log", 100, &b, &err), 0, "%s", err.text);
	cr_expect(b.len == 3 && memcmp(b.data, "x\0y", 3) == 0);
	buf_release(&b);
	real_release(&r);
}

/* The log is the last attempt's; a green one keeps none, whatever it printed. */
Test(local, log_after_a_retry)
{
	static const char *const endings[] = { "exit 0", "echo fine; exit 0",
					       "echo second; exit 1" };

	for (size_t i = 0; i < COUNT(endings); i++) {
		char command[256];
		const char *commands[] = { command };
		struct real r;

		(void)unlink("tried");
		(void)snprintf(command, sizeof(command),
			       "if test -e tried; then %s; fi; echo >tried; "
			       "echo read ECONNRESET; exit 1",
			       endings[i]);
		run_real("a", commands, 1, 1, NULL, &r);
		cr_expect_eq(r.results[0].retried, 1);
		cr_expect_eq(r.results[0].ok, i < 2, "%s", endings[i]);
		if (i < 2) {
			cr_expect_null(r.results[0].log);
			cr_expect_eq(scratch_count("logs"), 0, "%s: a log is left",
				     endings[i]);
		} else {
			cr_expect_eq(system("test \"$(cat logs/a.log)\" = second"), 0);
		}
		real_release(&r);
	}
}

Test(local, environment_of_a_step)
{
	static const char *const commands[] = {
		"echo \"$GEONOSIS_GATE_RUN $GEONOSIS_SLOTS\"; "
		"test -n \"$GEONOSIS_HEAVY_SLOT_HELD\" && "
		"test \"$GEONOSIS_HEAVY_SLOT_HELD\" != stale && echo held",
		"echo \"$GEONOSIS_SLOTS\"",
		"echo \"$GEONOSIS_SLOTS ${GEONOSIS_HEAVY_SLOT_HELD:-none}\"",
		"echo \"${GEONOSIS_BASE-unset}\"",
	};
	struct real r;

	run_real("a b:2 c:0 d", commands, 5, 0, NULL, &r);
	cr_expect_str_eq(r.results[0].tail, "0123456789abcdef 5\nheld", "%s",
			 r.results[0].tail);
	cr_expect_str_eq(r.results[1].tail, "2", "%s", r.results[1].tail);
	cr_expect_str_eq(r.results[2].tail, "5 none", "a light step holds nothing: %s",
			 r.results[2].tail);
	cr_expect_str_eq(r.results[3].tail, "unset", "%s", r.results[3].tail);
	real_release(&r);
}

/* A step that kills its worker: our own trouble, and nothing of the step lives on. */
Test(local, worker_killed_by_its_step)
{
	static const char *const commands[] = {
		"echo before; sleep 1000 & echo $! >child; kill -KILL $PPID; sleep 1000",
		"true",
	};
	int64_t begun = clock_now_ms();
	struct real r;
	char *child;

	run_real("a b", commands, 1, 0, NULL, &r);
	cr_expect_lt(clock_now_ms() - begun, 8000);
	cr_expect_not(r.outcome.ok);
	cr_expect_not(r.results[0].ok);
	cr_expect_eq(r.results[0].exit_code, -1);
	cr_expect_not_null(r.results[0].error);
	cr_expect_eq(r.results[1].state, RESULT_SKIPPED);
	child = scratch_read("child");
	cr_assert_not_null(child);
	cr_expect_eq(kill((pid_t)atoi(child), 0), -1, "its child lives");
	free(child);
	cr_expect_eq(children_count(), 0, "%d zombies", children_count());
	real_release(&r);
}

/* A spare that was killed while it waited costs a job nothing: it is dead by then. */
static void
kill_spares(void *ctx, size_t job, const struct result *r)
{
	(void)ctx;
	(void)job;
	(void)r;
	(void)!system("for p in $(cat /proc/$PPID/task/$PPID/children); do "
		      "test \"$(cat /proc/$p/comm)\" = gn-worker || continue; "
		      "kill -KILL $p; until grep -q '^State:.Z' /proc/$p/status; do :; "
		      "done; echo >>killed; done");
}

Test(local, killed_spare_is_replaced)
{
	static const char *const commands[] = { "echo a", "echo b", "echo c", "echo d" };
	struct run_observer observer = { .job_end = kill_spares };
	struct real r;

	run_real("a b c d", commands, 1, 0, &observer, &r);
	cr_expect(r.outcome.ok);
	cr_expect_eq(access("killed", F_OK), 0, "there was none to kill");
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(r.results[i].tail != NULL ? r.results[i].tail[0] : '?',
			     (char)('a' + i));
	real_release(&r);
}

Test(local, nowhere_to_log_is_told)
{
	static const char *const commands[] = { "echo x; exit 1" };
	struct real r;

	fd_close(&log_dir_fd);
	cr_assert_eq(system("rmdir logs && echo >logs"), 0);
	log_dir_fd = open("logs", O_RDONLY | O_CLOEXEC);
	run_real("a", commands, 1, 0, NULL, &r);
	cr_expect_eq(r.results[0].exit_code, 1);
	cr_expect_null(r.results[0].log);
	cr_expect_not_null(r.results[0].log_error);
	cr_expect_str_eq(r.results[0].tail, "x");
	real_release(&r);
}

static void
interrupt(void *ctx, size_t job, unsigned attempt)
{
	(void)ctx;
	(void)attempt;
	if (job != 1)
		return;
	/* Once both run. */
	cr_assert(await(file_is_there, (char[]){ "a" }, 10000));
	(void)raise(SIGTERM);
}

Test(local, interrupted)
{
	static const char *const commands[] = {
		"trap 'echo bye; exit 0' TERM; echo >a; while :; do sleep 0.02; done",
		"sleep 1000; true",
		"true",
	};
	struct run_observer observer = { .job_start = interrupt };
	int64_t begun = clock_now_ms();
	struct real r;

	run_real("[a b] c", commands, 2, 0, &observer, &r);
	cr_expect_lt(clock_now_ms() - begun, 4000);
	cr_expect_eq(r.outcome.interrupted, SIGTERM);
	cr_expect_not(r.outcome.ok);
	cr_expect_eq(r.results[0].exit_code, 0);
	cr_expect_not(r.results[0].ok, "cut off is not ok");
	cr_expect(r.results[0].interrupted);
	cr_expect_not_null(strstr(r.results[0].tail, "bye"));
	cr_expect_str_eq(r.results[0].log, "logs/a.log");
	cr_expect_eq(r.results[1].signal, SIGTERM);
	cr_expect_eq(r.results[1].exit_code, 143);
	cr_expect_eq(r.results[2].state, RESULT_SKIPPED);
	real_release(&r);
}
