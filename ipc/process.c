/* SPDX-License-Identifier: MIT */
#include "ipc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	PROCESS_DEPTH_MAX = 4096, /* /proc is read without a lock: no endless walk */
	COMPLAINT_MAX = 512,
	ENVIRONMENT_MAX = 8 << 20 /* more than exec takes */
};

/* A question that is being answered. */
struct asking {
	const struct process_question *q;
	pid_t pid;
	int pidfd;
	int out;	/* our end of its stdout */
	int complaints; /* its stderr, in memory */
	int ending;	/* readable when we are to end: nobody else ends its group */
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

/* In the child: never returns; why it failed goes into `told`. */
static _Noreturn void
child_execute(const struct asking *a, char *const env[], int out, int told)
{
	/* exec changes no string; its type is older than const. */
	union {
		const char *const *from;
		char *const *to;
	} argv = { .from = a->q->argv };
	sigset_t none;
	int null, i;

	(void)setpgid(0, 0);
	for (i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 &&
	    dup2(a->complaints, 2) >= 0 && (a->q->dir == NULL || chdir(a->q->dir) == 0)) {
		/* Others than ours too, which may be the caller's caller's. */
		(void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		(void)execvpe(a->q->argv[0], argv.to, env);
	}
	(void)fd_write(told, &errno, sizeof(errno));
	_exit(127);
}

/*
 * In a process group of its own, so that all of it can be ended; where we are killed,
 * itself at least ends with us.
 */
static int
process_spawn(struct asking *a, int out)
{
	char **env = environment_build(a->q->env);
	pid_t parent = getpid();
	int told[2] = { -1, -1 };
	int failed = 0;
	ssize_t n = -1;

	if (pipe2(told, O_CLOEXEC) == 0)
		a->pid = fork();
	if (a->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		child_execute(a, env, out, told[1]);
	}
	failed = errno;
	fd_close(&told[1]);
	free(env);
	if (a->pid > 0) {
		(void)setpgid(a->pid, a->pid);
		failed = 0;
		do {
			n = read(told[0], &failed, sizeof(failed));
		} while (n < 0 && errno == EINTR);
		/* It has said why, and ends. */
		while (n > 0 && waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(&told[0]);
	errno = failed;
	return failed == 0 ? 0 : -1;
}

/* --- the answer --- */

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
	struct pollfd fds[3] = { { .fd = a->pidfd, .events = POLLIN },
				 { .fd = a->out, .events = POLLIN },
				 { .fd = a->ending, .events = POLLIN } };

	while (a->trouble == NULL) {
		int n = poll(fds, 3, clock_timeout_ms(deadline));

		if (n == 0)
			a->trouble = "it takes too long";
		else if (n < 0 && errno != EINTR)
			a->trouble = strerror(errno);
		if (n <= 0)
			continue;
		if (fds[2].revents != 0)
			a->trouble = "interrupted";
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

/*
 * What would end us waits until the group has been ended, and then does what it does: it
 * is not read here.
 */
static int
endings_watch(sigset_t *ret_saved)
{
	static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa;
	sigset_t set;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (sigaction(endings[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			(void)sigaddset(&set, endings[i]);
	(void)sigprocmask(SIG_BLOCK, &set, ret_saved);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int
process_ask(const struct process_question *q, struct buf *ret_answer, struct error *err)
{
	struct asking a = { .q = q,
			    .pid = -1,
			    .pidfd = -1,
			    .out = -1,
			    .complaints = -1,
			    .answer = BUF_INIT };
	int ends[2] = { -1, -1 };
	sigset_t saved;
	int rc = -1;

	a.ending = endings_watch(&saved);

	a.complaints = memfd_create("complaints", MFD_CLOEXEC);
	if (a.complaints < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		(void)error_system(err, "%s: descriptors", q->argv[0]);
		goto out;
	}
	a.out = ends[0];
	(void)fcntl(a.out, F_SETFL, O_NONBLOCK);
	if (process_spawn(&a, ends[1]) < 0) {
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
	fd_close(&a.ending);
	(void)sigprocmask(SIG_SETMASK, &saved, NULL);
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

char *
process_variable(pid_t pid, const char *name)
{
	struct error ignored = ERROR_INIT;
	struct buf environment = BUF_INIT;
	size_t n = strlen(name), at = 0;
	char *value = NULL;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
	(void)file_read(path, ENVIRONMENT_MAX, &environment, &ignored);
	while (value == NULL && at < environment.len) {
		const char *entry = buf_text(&environment) + at;

		if (strncmp(entry, name, n) == 0 && entry[n] == '=')
			value = xstrdup(entry + n + 1);
		at += strlen(entry) + 1;
	}
	buf_release(&environment);
	return value;
}

uint64_t
process_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint64_t)st.st_ino;
}
