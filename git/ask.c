/* SPDX-License-Identifier: MIT */
/*
 * git's stdout is read to its end before it is waited for; its stderr goes to a file in
 * memory, so that neither can block the other.  When we are killed meanwhile, git ends
 * by its broken pipe or by itself: it has no lock and writes nothing.
 */
#include "git/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	ANSWER_MAX = 1 << 30,
	COMPLAINT_MAX = 4096,
	FETCH_MS = 60000,
	ANSWER_MS = 300000, /* git itself may hang: at a fifo named .gitignore it does */
	CODE_NOT_RUN = 127
};

/*
 * Variables of git that name configuration files, or say how it connects, and so are the
 * user's own.
 */
static bool
is_kept(const char *variable)
{
	static const char *const kept[] = {
		"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=",
		"GIT_ATTR_NOSYSTEM=", "GIT_EXEC_PATH=",	    "GIT_CEILING_DIRECTORIES=",
		"GIT_SSH=",	      "GIT_SSH_COMMAND=",   "GIT_SSL_",
		"GIT_ASKPASS="
	};
	size_t i;

	if (strncmp(variable, "GIT_", 4) != 0)
		return strncmp(variable, "LC_ALL=", 7) != 0 &&
		       strncmp(variable, "LANGUAGE=", 9) != 0;
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	return false;
}

/*
 * The environment of the call; its array is freed by the caller.  Before git knew
 * GIT_NO_LAZY_FETCH, only a protocol that is not allowed keeps it from fetching.
 */
static const char **
environment_build(unsigned flags)
{
	static const char *const ours[] = { "GIT_OPTIONAL_LOCKS=0",
					    "GIT_TERMINAL_PROMPT=0",
					    "GIT_PAGER=cat",
					    "GIT_NO_REPLACE_OBJECTS=1",
					    "LC_ALL=C",
					    "GIT_NO_LAZY_FETCH=1",
					    "GIT_ALLOW_PROTOCOL=" };
	size_t i, n = 0, nours = sizeof(ours) / sizeof(ours[0]);
	const char **env;

	if (flags & ASK_FETCH)
		nours -= 2;
	for (i = 0; environ[i] != NULL; i++)
		continue;
	env = xreallocarray(NULL, i + nours + 1, sizeof(*env));
	for (i = 0; environ[i] != NULL; i++)
		if (is_kept(environ[i]))
			env[n++] = environ[i];
	for (i = 0; i < nours; i++)
		env[n++] = ours[i];
	env[n] = NULL;
	return env;
}

static const char **
arguments_build(const char *dir, const char *const *arguments)
{
	static const char *const before[] = { "git",
					      "--no-pager",
					      "--literal-pathspecs",
					      "-c",
					      "core.fsmonitor=false",
					      "-c",
					      "core.quotePath=false",
					      "-C" };
	size_t i, n = 0;
	const char **argv;

	for (i = 0; arguments[i] != NULL; i++)
		continue;
	argv = xreallocarray(NULL, i + sizeof(before) / sizeof(before[0]) + 2,
			     sizeof(*argv));
	for (i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		argv[n++] = before[i];
	argv[n++] = dir;
	for (i = 0; arguments[i] != NULL; i++)
		argv[n++] = arguments[i];
	argv[n] = NULL;
	return argv;
}

/* The strings are not changed by posix_spawn, whose types are older than const. */
static char *const *
spawn_vector(const char *const *v)
{
	union {
		const char *const *from;
		char *const *to;
	} u = { .from = v };

	return u.to;
}

static int
git_spawn(const char *const argv[], const char *const env[], int out, int complaints,
	  pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int rc;

	(void)sigemptyset(&none);
	(void)sigemptyset(&usual);
	(void)sigaddset(&usual, SIGPIPE);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawn_file_actions_adddup2(&actions, complaints, 2);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &usual);
	(void)posix_spawnattr_setflags(&attributes,
				       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawnp(ret_pid, "git", &actions, &attributes, spawn_vector(argv),
			  spawn_vector(env));
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	errno = rc;
	return rc == 0 ? 0 : -1;
}

/* To the end, or until it is too much, or too late. 0, or -1 with errno. */
static int
answer_read(int fd, int64_t deadline, struct buf *answer)
{
	char chunk[65536];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&p, 1, clock_timeout_ms(deadline)) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : 0;
		if (answer->len + (size_t)got > ANSWER_MAX) {
			errno = EFBIG;
			return -1;
		}
		buf_append(answer, chunk, (size_t)got);
	}
}

/* The line of git's stderr that says what was wrong, cut out of the text. */
static const char *
complaint_find(char *text)
{
	static const char *const signs[] = { "fatal: ", "error: " };
	char *at = text;
	size_t i;

	for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		char *found = strstr(text, signs[i]);

		if (found != NULL && (found == text || found[-1] == '\n')) {
			at = found + strlen(signs[i]);
			break;
		}
	}
	at[strcspn(at, "\r\n")] = '\0';
	return at;
}

/* Wait for git and judge how it ended. */
static int
git_judge(pid_t pid, int complaints, int *ret_code, struct error *err)
{
	char text[COMPLAINT_MAX + 1];
	const char *complaint;
	ssize_t n;
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_system(err, "git: wait");
	if (WIFSIGNALED(status))
		return error_set(err, ERROR_REPO, "git: ended by signal %d",
				 WTERMSIG(status));
	*ret_code = WEXITSTATUS(status);
	if (*ret_code == 0)
		return 0;
	n = pread(complaints, text, COMPLAINT_MAX, 0);
	text[n < 0 ? 0 : n] = '\0';
	complaint = complaint_find(text);
	(void)error_set(err, ERROR_REPO, "git: exit code %d%s%s", *ret_code,
			*complaint == '\0' ? "" : ": ", complaint);
	return *ret_code == CODE_NOT_RUN ? -1 : 0;
}

/* Read what git says and wait for it; it is killed where it says too much. */
static int
git_attend(pid_t pid, int fd, int complaints, unsigned flags, struct buf *answer,
	   int *ret_code, struct error *err)
{
	int64_t deadline = clock_now_ms() + (flags & ASK_FETCH ? FETCH_MS : ANSWER_MS);

	if (answer_read(fd, deadline, answer) == 0)
		return git_judge(pid, complaints, ret_code, err);
	(void)error_system(err, "git: its answer");
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return -1;
}

int
ask_git_code(const char *dir, const char *const *arguments, unsigned flags,
	     struct buf *ret_answer, int *ret_code, struct error *err)
{
	const char **argv = arguments_build(dir, arguments);
	const char **env = environment_build(flags);
	struct buf answer = BUF_INIT;
	int ends[2] = { -1, -1 }, complaints = -1, rc = -1;
	pid_t pid;

	complaints = memfd_create("git-stderr", MFD_CLOEXEC);
	if (complaints < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		(void)error_system(err, "git: descriptors");
		goto out;
	}
	if (git_spawn(argv, env, ends[1], complaints, &pid) < 0) {
		(void)error_system(err, "git");
		goto out;
	}
	fd_close(&ends[1]);
	rc = git_attend(pid, ends[0], complaints, flags, &answer, ret_code, err);
out:
	if (rc == 0)
		*ret_answer = answer;
	else
		buf_release(&answer);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	fd_close(&complaints);
	free(argv);
	free(env);
	return rc;
}

int
ask_git(const char *dir, const char *const *arguments, struct buf *ret_answer,
	struct error *err)
{
	struct buf answer = BUF_INIT;
	int code;

	if (ask_git_code(dir, arguments, 0, &answer, &code, err) < 0)
		return -1;
	if (code == 0)
		*ret_answer = answer;
	else
		buf_release(&answer);
	return code == 0;
}

int
object_ask(const char *dir, const char *kind, const char *hex, struct buf *ret_content,
	   struct error *err)
{
	const char *arguments[] = { "cat-file", kind, hex, NULL };
	struct buf content = BUF_INIT;
	int code;

	if (ask_git_code(dir, arguments, ASK_FETCH, &content, &code, err) < 0)
		return -1;
	if (code == 0)
		*ret_content = content;
	else
		buf_release(&content);
	return code == 0;
}
