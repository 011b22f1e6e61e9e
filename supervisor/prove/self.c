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

#define SELF_CONFIG "{ \"verify\": { \"planted\": [\"true\", \"exit 3\"] } }\n"
#define SELF_REPORT ".geonosis/gate-report.json"

enum {
	SELF_REPORT_MAX = 1 << 20
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

/* In the child; never returns. */
static _Noreturn void
child_verify(const char *dir)
{
	char *argv[4];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	argv[0] = xstrdup("geonosis");
	argv[1] = xstrdup("verify");
	argv[2] = xstrdup("planted");
	argv[3] = NULL;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    chdir(dir) < 0)
		_exit(127);
	(void)execv("/proc/self/exe", argv);
	_exit(127);
}

/* The exit code of `verify planted`, as a shell would give it. */
static int
self_verify(const char *dir, int *ret_code, struct error *err)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return error_system(err, "--prove: fork");
	if (pid == 0)
		child_verify(dir);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_system(err, "--prove: wait");
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
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
		buf_printf(why, "it exited %d, not 1; ", code);
	if (js_read(path, SELF_REPORT_MAX, &report, &err) < 0) {
		buf_printf(why, "its report cannot be read: %s; ", err.text);
		goto out;
	}
	if (!js_get_bool(report, "ok", &ok) || ok)
		buf_puts(why, "its report is not red; ");
	steps = js_get(report, "steps");
	if (steps == NULL || !json_object_is_type(steps, json_type_array) ||
	    json_object_array_length(steps) != 2)
		buf_puts(why, "its report has not the two steps; ");
	else if (!step_is(steps, 0, "planted/1", true, 0) ||
		 !step_is(steps, 1, "planted/2", false, 3))
		buf_puts(why, "its report does not name the step and its code; ");
out:
	(void)json_object_put(report);
	free(path);
}

int
self_prove(bool *ret_proven, struct buf *why, struct error *err)
{
	sigset_t ending, saved;
	char *dir = NULL;
	int rc = -1;
	int code = -1;

	/* A signal waits until the directory is gone; then it does what it does. */
	(void)sigemptyset(&ending);
	(void)sigaddset(&ending, SIGINT);
	(void)sigaddset(&ending, SIGTERM);
	(void)sigaddset(&ending, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ending, &saved);
	dir = self_make_directory(err);
	if (dir == NULL)
		goto out;
	if (self_write_config(dir, err) < 0 || self_verify(dir, &code, err) < 0)
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
