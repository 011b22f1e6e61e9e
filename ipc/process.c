/* SPDX-License-Identifier: MIT */
#include "ipc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	PROCESS_DEPTH_MAX = 4096, /* /proc is read without a lock: no endless walk */
	COMPLAINT_MAX = 512
};

/* A question that is being answered. */
struct asking {
	const struct process_question *q;
	pid_t pid;
	int pidfd;
	int out;	/* our end of its stdout */
	int complaints; /* its stderr, in memory */
	struct buf answer;
	const char *trouble; /* why it was killed, or NULL */
};

/* Is the variable of an environment entry set by one of `ours`? */
static bool
is_replaced(const char *entry, const char *const *ours)
{
	size_t n = strcspn(entry, "=") + 1;

	for (; ours != NULL && *ours != NULL; ours++)
		if (strncmp(*ours, entry, n) == 0)
			return true;
	return false;
}

/* The array is freed by the caller, its strings are borrowed. */
static char **
environment_build(const char *const *ours)
{
	size_t i, n = 0, room = 1;
	char **env;

	for (i = 0; environ[i] != NULL; i++)
		room++;
	for (i = 0; ours != NULL && ours[i] != NULL; i++)
		room++;
	env = xreallocarray(NULL, room, sizeof(*env));
	for (i = 0; environ[i] != NULL; i++)
		if (!is_replaced(environ[i], ours))
			env[n++] = environ[i];
	for (i = 0; ours != NULL && ours[i] != NULL; i++) {
		union {
			const char *from;
			char *to;
		} u = { .from = ours[i] };

		env[n++] = u.to;
	}
	env[n] = NULL;
	return env;
}

static int
process_spawn(const struct process_question *q, int out, int complaints, pid_t *ret_pid)
{
	/* posix_spawn changes no string; its types are older than const. */
	union {
		const char *const *from;
		char *const *to;
	} argv = { .from = q->argv };
	char **env = environment_build(q->env);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&usual);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawn_file_actions_adddup2(&actions, complaints, 2);
	(void)posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	if (q->dir != NULL)
		(void)posix_spawn_file_actions_addchdir_np(&actions, q->dir);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &usual);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
							POSIX_SPAWN_SETSIGDEF |
							POSIX_SPAWN_SETPGROUP);
	rc = posix_spawnp(ret_pid, q->argv[0], &actions, &attributes, argv.to, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	free(env);
	errno = rc;
	return rc == 0 ? 0 : -1;
}

/* Take what can be read now.  False at the end, or when it says too much. */
static bool
answer_take(struct asking *a)
{
	char chunk[16384];

	for (;;) {
		ssize_t got = read(a->out, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		if (a->answer.len + (size_t)got > a->q->max) {
			a->trouble = "it says too much";
			return false;
		}
		buf_append(&a->answer, chunk, (size_t)got);
	}
}

/* Listen until it has ended, or is to be ended. */
static void
answer_await(struct asking *a)
{
	int64_t deadline = clock_now_ms() + a->q->timeout_ms;
	struct pollfd fds[2] = { { .fd = a->pidfd, .events = POLLIN },
				 { .fd = a->out, .events = POLLIN } };

	while (a->trouble == NULL) {
		int n = poll(fds, 2, clock_timeout_ms(deadline));

		if (n == 0)
			a->trouble = "it takes too long";
		else if (n < 0 && errno != EINTR)
			a->trouble = strerror(errno);
		if (n <= 0)
			continue;
		if (fds[1].revents != 0 && !answer_take(a))
			fds[1].fd = -1;
		if (fds[0].revents != 0) {
			/* What it wrote before its end is there already. */
			if (fds[1].fd >= 0)
				(void)answer_take(a);
			return;
		}
	}
}

/* End what is left of it, reap it, and judge how it went. */
static int
answer_judge(struct asking *a, struct error *err)
{
	const char *name = a->q->argv[0];
	char text[COMPLAINT_MAX + 1];
	int status = 0;
	ssize_t n;

	(void)kill(-a->pid, SIGKILL);
	while (waitpid(a->pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_system(err, "%s: wait", name);
	if (a->trouble != NULL)
		return error_set(err, ERROR_DATA, "%s: %s", name, a->trouble);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		return error_set(err, ERROR_DATA, "%s: ended by signal %d", name,
				 WTERMSIG(status));
	n = pread(a->complaints, text, COMPLAINT_MAX, 0);
	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return error_set(err, ERROR_DATA, "%s: exit code %d%s%s", name,
			 WEXITSTATUS(status), *text == '\0' ? "" : ": ", text);
}

int
process_ask(const struct process_question *q, struct buf *ret_answer, struct error *err)
{
	struct asking a = {
		.q = q, .pidfd = -1, .out = -1, .complaints = -1, .answer = BUF_INIT
	};
	int ends[2] = { -1, -1 };
	int rc = -1;

	a.complaints = memfd_create("complaints", MFD_CLOEXEC);
	if (a.complaints < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		(void)error_system(err, "%s: descriptors", q->argv[0]);
		goto out;
	}
	a.out = ends[0];
	(void)fcntl(a.out, F_SETFL, O_NONBLOCK);
	if (process_spawn(q, ends[1], a.complaints, &a.pid) < 0) {
		(void)error_system(err, "%s", q->argv[0]);
		goto out;
	}
	fd_close(&ends[1]);
	a.pidfd = (int)syscall(SYS_pidfd_open, a.pid, 0);
	if (a.pidfd < 0)
		a.trouble = strerror(errno);
	answer_await(&a);
	rc = answer_judge(&a, err);
out:
	if (rc == 0)
		*ret_answer = a.answer;
	else
		buf_release(&a.answer);
	fd_close(&a.out);
	fd_close(&ends[1]);
	fd_close(&a.pidfd);
	fd_close(&a.complaints);
	return rc;
}

pid_t
process_parent(pid_t pid)
{
	char path[40], text[512];
	int parent = 0;
	const char *p;
	char state;
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	/* Its name, in parentheses, may hold anything. */
	p = strrchr(text, ')');
	if (p == NULL || sscanf(p + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
		return 0;
	return parent;
}

bool
process_descends(pid_t pid, pid_t ancestor)
{
	int i;

	for (i = 0; i < PROCESS_DEPTH_MAX && pid > 0; i++) {
		if (pid == ancestor)
			return true;
		pid = process_parent(pid);
	}
	return false;
}

uint64_t
process_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint64_t)st.st_ino;
}
