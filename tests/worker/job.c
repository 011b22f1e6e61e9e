/* SPDX-License-Identifier: MIT */
#include "tests/worker/job.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "tests/helper/scratch.h"
#include "worker/session.h"

static void
seen_feed(void *ctx, const char *bytes, size_t n)
{
	struct job_seen *s = ctx;
	size_t room = JOB_OUTPUT_MAX - s->len;

	s->bytes += n;
	memcpy(s->output + s->len, bytes, n < room ? n : room);
	s->len += n < room ? n : room;
}

static void
seen_end(void *ctx)
{
	struct job_seen *s = ctx;
	struct rusage ru;

	s->ends++;
	(void)getrusage(RUSAGE_SELF, &ru);
	s->max_rss_kib = ru.ru_maxrss;
	s->cpu_ms = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000 +
		    (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000;
}

static void
job_prepare(void *ctx, const struct worker_order *order, struct command *ret_command)
{
	static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	static char *env[] = { path, NULL };
	struct job *j = ctx;

	j->seen->order = *order;
	j->seen->worker = getpid();
	*ret_command = (struct command){
		.text = j->text,
		.env = j->options.env != NULL ? j->options.env : env,
		.log_name = "x.log",
	};
	if (!j->options.is_unwatched)
		ret_command->watch =
		    (struct watch){ .ctx = j->seen, .feed = seen_feed, .end = seen_end };
}

void
job_fork(struct job *j, const char *text, const struct job_options *o)
{
	struct worker_setup setup = { .prepare = job_prepare, .ctx = j };
	struct error err = ERROR_INIT;

	*j = (struct job){ .text = text, .options = JOB_OPTIONS_INIT };
	if (o != NULL)
		j->options = *o;
	j->seen = mmap(NULL, sizeof(*j->seen), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(j->seen, MAP_FAILED);
	setup.log_dir_fd = j->options.log_dir_fd;
	cr_assert_eq(worker_fork(&setup, &j->worker, &err), 0, "%s", err.text);
}

void
job_start(struct job *j)
{
	struct worker_order order = { .job = 42, .attempt = 3, .slots = 7 };
	struct error err = ERROR_INIT;

	cr_assert_eq(worker_start(j->worker, &order, j->options.hold_fd, &err), 0, "%s",
		     err.text);
}

void
job_wait(struct job *j, int ms, struct worker_outcome *ret_outcome)
{
	cr_assert(await_readable(worker_pidfd(j->worker), ms), "%s: no end within %d ms",
		  j->text, ms);
	worker_end(j->worker, ret_outcome);
}

void
job_release(struct job *j)
{
	worker_free(j->worker);
	if (j->seen != NULL)
		(void)munmap(j->seen, sizeof(*j->seen));
	*j = (struct job){ 0 };
}

void
job_run(const char *text, const struct job_options *o, int ms, struct job *j,
	struct worker_outcome *ret_outcome)
{
	job_fork(j, text, o);
	job_start(j);
	job_wait(j, ms, ret_outcome);
}

pid_t
job_pid(const char *path)
{
	char copy[256];
	char *text;
	pid_t pid;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	cr_assert(await(file_is_there, copy, 10000), "%s is not written", path);
	text = scratch_read(path);
	pid = (pid_t)strtol(text, NULL, 10);
	free(text);
	cr_assert_gt(pid, 1, "%s", path);
	return pid;
}

static bool
session_is_empty(void *ctx)
{
	return session_signal(*(pid_t *)ctx, 0).alive == 0;
}

bool
session_is_over(pid_t session, int ms)
{
	return await(session_is_empty, &session, ms);
}

static bool
process_is_dead(void *ctx)
{
	char path[64];
	char *text, *p;
	bool is_dead;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", *(pid_t *)ctx);
	text = scratch_read(path);
	if (text == NULL)
		return true;
	p = strrchr(text, ')');
	is_dead = p == NULL || p[2] == 'Z' || p[2] == 'X';
	free(text);
	return is_dead;
}

bool
process_is_over(pid_t pid, int ms)
{
	return await(process_is_dead, &pid, ms);
}
