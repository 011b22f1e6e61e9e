/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/ask.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/process.h"

enum {
	HISTORY_EXCLUDE_MAX = 1 << 20,
	HISTORY_ANSWER_MAX = 1 << 20,
	HISTORY_TIMEOUT_MS = 600000,
};

#define HISTORY_NAME "geonosis"
#define HISTORY_EMAIL "geonosis@localhost"

/* The copy is ours whoever owns the files, and git's configuration cannot say so. */
const char *const *
history_variables(void)
{
	static const char *const variables[] = {
		"GIT_CONFIG_GLOBAL",
		"/dev/null",
		"GIT_CONFIG_SYSTEM",
		"/dev/null",
		"GIT_CONFIG_NOSYSTEM",
		"1",
		"GIT_AUTHOR_NAME",
		HISTORY_NAME,
		"GIT_AUTHOR_EMAIL",
		HISTORY_EMAIL,
		"GIT_COMMITTER_NAME",
		HISTORY_NAME,
		"GIT_COMMITTER_EMAIL",
		HISTORY_EMAIL,
		"GIT_CONFIG_COUNT",
		"1",
		"GIT_CONFIG_KEY_0",
		"safe.directory",
		"GIT_CONFIG_VALUE_0",
		"*",
		NULL,
	};

	return variables;
}

/* --- the host's --- */

/* `100644 <id> 0\t<path>`, each with its NUL: the paths of submodules. */
static void
modules_parse(const struct buf *listing, struct buf *modules)
{
	const char *p = buf_text(listing), *end = p + listing->len;

	for (; p < end; p += strlen(p) + 1) {
		const char *path = strchr(p, '\t');

		if (path != NULL && strncmp(p, "160000 ", 7) == 0)
			buf_append(modules, path + 1, strlen(path + 1) + 1);
	}
}

void
history_read(const struct ground *g, struct history *ret_history)
{
	static const char *const forced[] = { "ls-files",	    "-z", "-c", "-i",
					      "--exclude-standard", NULL };
	static const char *const listing[] = { "ls-files", "-z", "--stage", NULL };
	struct history h = HISTORY_INIT;
	struct buf entries = BUF_INIT;
	struct error err = ERROR_INIT;
	char *path;

	if (g->git_dir == NULL)
		return;
	/* Without them the commit has a few files less, or git says what is wrong. */
	path = xasprintf("%s/info/exclude", g->common_dir);
	(void)file_read(path, HISTORY_EXCLUDE_MAX, &h.exclude, &err);
	(void)ask_git(g->root, forced, &h.forced, &err);
	if (ask_git(g->root, listing, &entries, &err) == 1)
		modules_parse(&entries, &h.modules);
	buf_release(&entries);
	free(path);
	*ret_history = h;
}

void
history_release(struct history *h)
{
	buf_release(&h->exclude);
	buf_release(&h->forced);
	buf_release(&h->modules);
}

/* --- the copy's --- */

static void
environment_clear_git(void)
{
	const char *const *v;
	size_t i = 0;

	while (environ[i] != NULL) {
		char *name = environ[i];

		if (strncmp(name, "GIT_", 4) != 0) {
			i++;
			continue;
		}
		name = xstrndup(name, strcspn(name, "="));
		(void)unsetenv(name);
		free(name);
	}
	for (v = history_variables(); *v != NULL; v += 2)
		(void)setenv(v[0], v[1], 1);
}

/* `answer` is the caller's, and empty. */
static int
git_ask(const char *root, const char *const *arguments, struct buf *answer,
	struct error *err)
{
	const char *argv[16] = { "git", "-C", root };
	struct process_question q = {
		.argv = argv,
		.max = HISTORY_ANSWER_MAX,
		.timeout_ms = HISTORY_TIMEOUT_MS,
	};
	size_t n = 3;

	while (*arguments != NULL)
		argv[n++] = *arguments++;
	argv[n] = NULL;
	if (process_ask(&q, answer, err) < 0)
		return error_wrap(err, "history: git %s", argv[3]);
	return 0;
}

static int
git_run(const char *root, const char *const *arguments, struct error *err)
{
	struct buf answer = BUF_INIT;
	int rc = git_ask(root, arguments, &answer, err);

	buf_release(&answer);
	return rc;
}

/*
 * A submodule's `.git`, a file, leads nowhere in a copy, and git would stumble over it:
 * its files are files like any other.
 */
static void
modules_dissolve(const struct history *h, const char *root)
{
	const char *p = buf_text(&h->modules), *end = p + h->modules.len;

	for (; p < end; p += strlen(p) + 1) {
		char *path = xasprintf("%s/%s/.git", root, p);
		struct stat st;

		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			(void)unlink(path);
		free(path);
	}
}

/* Those that are there; git refuses a list with one that is not. */
static int
forced_write(const struct history *h, const char *root, const char *to, bool *ret_any,
	     struct error *err)
{
	const char *p = buf_text(&h->forced), *end = p + h->forced.len;
	struct buf there = BUF_INIT;
	int rc;

	for (; p < end; p += strlen(p) + 1) {
		char *path = xasprintf("%s/%s", root, p);
		struct stat st;

		if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
			buf_append(&there, p, strlen(p) + 1);
		free(path);
	}
	*ret_any = there.len > 0;
	rc = there.len > 0 ? file_save(to, there.data, there.len, err) : 0;
	buf_release(&there);
	return rc;
}

static int
history_add(const struct history *h, const char *root, const char *store,
	    struct error *err)
{
	static const char *const all[] = { "add", "-A", NULL };
	char *list = xasprintf("%s/forced", store);
	char *from = xasprintf("--pathspec-from-file=%s", list);
	const char *const forced[] = { "--literal-pathspecs", "add", "-f", from,
				       "--pathspec-file-nul", NULL };
	bool any;
	int rc = git_run(root, all, err);

	if (rc == 0)
		rc = forced_write(h, root, list, &any, err);
	if (rc == 0 && any)
		rc = git_run(root, forced, err);
	(void)unlink(list);
	free(from);
	free(list);
	return rc;
}

static int
history_exclude(const struct history *h, const char *root, struct error *err)
{
	char *path = xasprintf("%s/.git/info/exclude", root);
	char *dir = xasprintf("%s/.git/info", root);
	int rc = 0;

	if (h->exclude.len > 0) {
		rc = dir_make(dir, err);
		if (rc == 0)
			rc = file_save(path, h->exclude.data, h->exclude.len, err);
	}
	free(dir);
	free(path);
	return rc;
}

static int
history_read_head(const char *root, char ret_commit[DIGEST_HEX_SIZE], struct error *err)
{
	static const char *const question[] = { "rev-parse", "HEAD", NULL };
	struct buf answer = BUF_INIT;
	int rc = git_ask(root, question, &answer, err);
	size_t n = strcspn(buf_text(&answer), "\n");

	if (rc == 0 && n >= DIGEST_HEX_SIZE)
		rc = error_set(err, ERROR_DATA, "history: git rev-parse: no commit");
	if (rc == 0) {
		memcpy(ret_commit, buf_text(&answer), n);
		ret_commit[n] = '\0';
	}
	buf_release(&answer);
	return rc;
}

int
history_make(const struct history *h, const char *root, const char *store,
	     char ret_commit[DIGEST_HEX_SIZE], struct error *err)
{
	static const char *const init[] = { "init", "-q", "--template=", "-b",
					    "main", ".",  NULL };
	static const char *const commit[] = { "commit",
					      "-q",
					      "--no-verify",
					      "--no-gpg-sign",
					      "--allow-empty",
					      "-m",
					      "the tree as it was copied",
					      NULL };
	static const char *const mark[] = { "update-ref", "refs/geonosis/verified",
					    "HEAD", NULL };

	environment_clear_git();
	modules_dissolve(h, root);
	if (git_run(root, init, err) < 0 || history_exclude(h, root, err) < 0 ||
	    history_add(h, root, store, err) < 0)
		return -1;
	if (git_run(root, commit, err) < 0 || git_run(root, mark, err) < 0)
		return -1;
	return history_read_head(root, ret_commit, err);
}
