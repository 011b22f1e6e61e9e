/* SPDX-License-Identifier: MIT */
/* The answer is a file in memory: `0` or `1`, then paths, each with its NUL, or why not.
 */
#include "supervisor/prove/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/reach.h"

/* --- the child --- */

static int
surveyor_look(const struct copy *c, const struct scope *base,
	      const struct changes *changes, struct buf *paths, struct error *err)
{
	struct scope now = SCOPE_INIT;
	bool *is_reached = NULL;
	size_t *order;
	size_t i, n;

	if (copy_enter(c) < 0)
		return error_system(err, "%s", c->dir);
	if (workspace_list_load(".", &now.workspaces, err) < 0)
		return -1;
	n = now.workspaces.nitems;
	graph_build(&now.workspaces, &now.graph);
	if (reach_find(c->ground, base, &now, changes, &is_reached, err) < 0)
		return -1;
	order = xcalloc(n + 1, sizeof(*order));
	graph_order(&now.graph, order);
	for (i = 0; i < n; i++) {
		const char *path = now.workspaces.items[order[i]].path;

		if (is_reached[order[i]])
			buf_append(paths, path, strlen(path) + 1);
	}
	free(order);
	free(is_reached);
	scope_release(&now);
	return 0;
}

static _Noreturn void
surveyor_main(const struct copy *c, const struct scope *base,
	      const struct changes *changes, int answer)
{
	struct buf paths = BUF_INIT;
	struct error err = ERROR_INIT;
	int rc;

	(void)prctl(PR_SET_NAME, "gn-survey");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = surveyor_look(c, base, changes, &paths, &err);
	if (rc < 0) {
		buf_clear(&paths);
		buf_puts(&paths, err.text);
	}
	if (fd_write(answer, rc < 0 ? "1" : "0", 1) < 0 ||
	    fd_write(answer, buf_text(&paths), paths.len) < 0)
		_exit(1);
	_exit(0);
}

/* --- the other side --- */

int
survey_start(const struct copy *c, const struct scope *base,
	     const struct changes *changes, struct survey *ret_survey, struct error *err)
{
	struct survey s = SURVEY_INIT;

	s.answer = memfd_create("geonosis-survey", MFD_CLOEXEC);
	if (s.answer < 0)
		return error_system(err, "survey");
	s.pid = fork();
	if (s.pid == 0)
		surveyor_main(c, base, changes, s.answer);
	if (s.pid > 0)
		s.pidfd = pidfd_open(s.pid, 0);
	if (s.pidfd < 0) {
		(void)error_system(err, "survey");
		survey_release(&s);
		return -1;
	}
	*ret_survey = s;
	return 0;
}

static bool
survey_reap(struct survey *s)
{
	int status = 1;

	while (s->pid > 0 && waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	s->pid = -1;
	fd_close(&s->pidfd);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
survey_take(struct survey *s, const char *text, size_t n)
{
	size_t at = 0, room = 0;

	while (at < n) {
		size_t len = strnlen(text + at, n - at);

		s->paths = xgrow(s->paths, s->npaths + 1, &room, sizeof(*s->paths));
		s->paths[s->npaths++] = xstrndup(text + at, len);
		at += len + 1;
	}
}

int
survey_finish(struct survey *s, struct error *err)
{
	struct stat st;
	char *text, *why;
	bool is_there;
	size_t n;

	if (!survey_reap(s) || fstat(s->answer, &st) < 0 || st.st_size < 1)
		return error_set(err, ERROR_SYSTEM, "survey: it was killed");
	n = (size_t)st.st_size;
	text = mmap(NULL, n, PROT_READ, MAP_SHARED, s->answer, 0);
	if (text == MAP_FAILED)
		return error_system(err, "survey");
	is_there = text[0] == '0';
	if (is_there) {
		survey_take(s, text + 1, n - 1);
	} else {
		why = xstrndup(text + 1, n - 1);
		(void)error_set(err, ERROR_DATA, "%s", why);
		free(why);
	}
	(void)munmap(text, n);
	return is_there ? 0 : -1;
}

void
survey_release(struct survey *s)
{
	size_t i;

	if (s->pid > 0) {
		(void)kill(s->pid, SIGKILL);
		(void)survey_reap(s);
	}
	fd_close(&s->answer);
	for (i = 0; i < s->npaths; i++)
		free(s->paths[i]);
	free(s->paths);
	*s = (struct survey)SURVEY_INIT;
}
