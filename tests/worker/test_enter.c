/* SPDX-License-Identifier: MIT */
/* A worker goes where its command is to run, or says why it could not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/helper/scratch.h"
#include "worker/worker.h"

extern char **environ;

struct entering {
	const char *dir; /* NULL: it fails */
	int fd; /* of the caller: still there when it enters, gone in the command */
};

static int
enter(void *ctx)
{
	const struct entering *e = ctx;

	if (e->dir == NULL || fcntl(e->fd, F_GETFD) < 0) {
		errno = ENOTEMPTY;
		return -1;
	}
	return chdir(e->dir);
}

static void
prepare(void *ctx, const struct worker_order *order, struct command *ret_command)
{
	(void)ctx;
	(void)order;
	*ret_command = (struct command){
		.text = "ls /proc/self/fd >fds; pwd >where",
		.env = environ,
		.log_name = "",
	};
}

static struct worker_outcome
run(struct entering *e)
{
	const struct worker_setup setup = {
		.prepare = prepare, .ctx = e, .log_dir_fd = -1, .enter = enter
	};
	struct worker_order order = { .job = 0 };
	struct worker_outcome outcome;
	struct error err = ERROR_INIT;
	struct worker *w;

	cr_assert(worker_fork(&setup, &w, &err) == 0, "%s", err.text);
	cr_assert(worker_start(w, &order, -1, &err) == 0, "%s", err.text);
	cr_assert(await_readable(worker_pidfd(w), 20000));
	worker_end(w, &outcome);
	worker_free(w);
	return outcome;
}

Test(worker_enter, the_command_runs_there, .timeout = 30)
{
	struct entering e = { .dir = "/", .fd = open("/", O_RDONLY | O_CLOEXEC) };
	struct worker_outcome outcome;

	e.dir = scratch_enter();
	cr_assert(chdir("/") == 0);
	outcome = run(&e);
	cr_expect(outcome.finished && outcome.started && outcome.exit_code == 0);
	cr_assert(chdir(e.dir) == 0);
	cr_expect(access("where", F_OK) == 0, "it ran elsewhere");
	(void)close(e.fd);
	scratch_leave();
}

Test(worker_enter, a_failure_is_why_it_did_not_start, .timeout = 30)
{
	struct entering e = { .dir = NULL, .fd = -1 };
	struct worker_outcome outcome;

	(void)scratch_enter();
	outcome = run(&e);
	cr_expect(outcome.finished && !outcome.started);
	cr_expect(outcome.start_errno == ENOTEMPTY && outcome.exit_code == -1);
	cr_expect(access("where", F_OK) < 0, "it ran all the same");
	scratch_leave();
}
