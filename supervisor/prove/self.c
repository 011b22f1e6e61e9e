/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/self.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/base/json.h"
#include "supervisor/base/text.h"

#define SELF_CONFIG "{ \"verify\": { \"planted\": [\"true\", \"exit 3\"] } }\n"
#define SELF_REPORT ".geonosis/gate-report.json"
#define SELF_SAID "said"

enum {
	SELF_REPORT_MAX = 1 << 20,
	SELF_SAID_MAX = 1 << 16,
};

static int
entry_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static char *
self_make_directory(struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/geonosis-prove-XXXXXX",
			      tmp != NULL && *tmp != '\0' ? tmp : "/tmp");

	if (mkdtemp(dir) == NULL) {
		(void)error_system(err, "--prove: %s", dir);
		free(dir);
		return NULL;
	}
	return dir;
}

static int
self_write_config(const char *dir, struct error *err)
{
	char *path = xasprintf("%s/geonosis.json", dir);
	int rc = file_save(path, SELF_CONFIG, strlen(SELF_CONFIG), err);

	free(path);
	return rc;
}

/* In the child; never returns.  What it says of itself goes to a file. */
static _Noreturn void
child_verify(const char *dir)
{
	char *argv[4];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int said;

	argv[0] = xstrdup("geonosis");
	argv[1] = xstrdup("verify");
	argv[2] = xstrdup("planted");
	argv[3] = NULL;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || chdir(dir) < 0)
		_exit(127);
	said = open(SELF_SAID, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (dup2(said >= 0 ? said : null, 2) < 0)
		_exit(127);
	(void)execv("/proc/self/exe", argv);
	_exit(127);
}

/*
 * Wait for the child; what is to end us ends it, and waits for us behind the mask again.
 * It may wait for a slot, so it can be long.
 */
static int
child_wait(pid_t pid, const sigset_t *watched, int *ret_status)
{
	pid_t got;

	while ((got = waitpid(pid, ret_status, WNOHANG)) == 0) {
		int signo = sigwaitinfo(watched, NULL);

		if (signo <= 0 || signo == SIGCHLD)
			continue;
		(void)kill(pid, SIGTERM);
		while ((got = waitpid(pid, ret_status, 0)) < 0 && errno == EINTR)
			;
		(void)raise(signo);
		break;
	}
	return got < 0 ? -1 : 0;
}

/* The exit code of `verify planted`, as a shell would give it. */
static int
self_verify(const char *dir, const sigset_t *watched, int *ret_code, struct error *err)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return error_system(err, "--prove: fork");
	if (pid == 0)
		child_verify(dir);
	if (child_wait(pid, watched, &status) < 0)
		return error_system(err, "--prove: wait");
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

/* --- judging --- */

/* Parts of one sentence. */
static void
why_add(struct buf *why, const char *text)
{
	buf_printf(why, "%s%s", why->len > 0 ? "; " : "", text);
}

/* The first line of what it said, which may be why it refused. */
static void
why_add_said(const char *dir, struct buf *why)
{
	char *path = xasprintf("%s/" SELF_SAID, dir);
	struct buf said = BUF_INIT;
	struct error err = ERROR_INIT;
	char *line;

	if (file_read(path, SELF_SAID_MAX, &said, &err) == 0 && said.len > 0) {
		line = text_clean(said.data, strcspn(buf_text(&said), "\n"));
		buf_puts(why, "; it said: ");
		buf_puts(why, line);
		free(line);
	}
	buf_release(&said);
	free(path);
}

static bool
step_is(const struct json_object *steps, size_t i, const char *id, bool ok, int64_t code)
{
	const struct json_object *step = json_object_array_get_idx(steps, i);
	const char *got_id = js_get_string(step, "id");
	int64_t got_code;
	bool got_ok;

	return got_id != NULL && strcmp(got_id, id) == 0 &&
	       js_get_bool(step, "ok", &got_ok) && got_ok == ok &&
	       js_get_int(step, "exitCode", &got_code) && got_code == code;
}

static void
self_judge(const char *dir, int code, struct buf *why)
{
	char *path = xasprintf("%s/" SELF_REPORT, dir);
	struct error err = ERROR_INIT;
	struct json_object *report = NULL;
	struct json_object *steps;
	bool ok;

	if (code != 1)
		buf_printf(why, "it exited %d, not 1", code);
	if (js_read(path, SELF_REPORT_MAX, &report, &err) < 0) {
		why_add(why, "its report cannot be read: ");
		buf_puts(why, err.text);
		goto out;
	}
	if (!js_get_bool(report, "ok", &ok) || ok)
		why_add(why, "its report is not red");
	steps = js_get(report, "steps");
	if (steps == NULL || !json_object_is_type(steps, json_type_array) ||
	    json_object_array_length(steps) != 2)
		why_add(why, "its report has not the two steps");
	else if (!step_is(steps, 0, "planted/1", true, 0) ||
		 !step_is(steps, 1, "planted/2", false, 3))
		why_add(why, "its report does not name the step and its code");
out:
	if (why->len > 0)
		why_add_said(dir, why);
	(void)json_object_put(report);
	free(path);
}

int
self_prove(bool *ret_proven, struct buf *why, struct error *err)
{
	static const int endings[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa;
	sigset_t watched, saved;
	char *dir = NULL;
	int rc = -1;
	int code = -1;
	size_t i;

	/* A signal waits until the directory is gone; then it does what it does. */
	(void)sigemptyset(&watched);
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (sigaction(endings[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			(void)sigaddset(&watched, endings[i]);
	/* The child's end is a signal too, and may not be lost. */
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &watched, &saved);
	dir = self_make_directory(err);
	if (dir == NULL)
		goto out;
	if (self_write_config(dir, err) < 0 || self_verify(dir, &watched, &code, err) < 0)
		goto out;
	self_judge(dir, code, why);
	*ret_proven = why->len == 0;
	rc = 0;
out:
	if (dir != NULL)
		(void)nftw(dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
	(void)sigprocmask(SIG_SETMASK, &saved, NULL);
	return rc;
}
