/* SPDX-License-Identifier: MIT */
#include "supervisor/run/environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/project/pnpm.h"

/*
 * `git rev-parse --local-env-vars` of git 2.39 and 2.47, less GIT_CONFIG,
 * GIT_CONFIG_PARAMETERS and GIT_CONFIG_COUNT, which configure and bind nothing.
 * The last four are of one run and must not reach the next.
 */
static const char *const dropped[] = {
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_OBJECT_DIRECTORY",
	"GIT_DIR",
	"GIT_WORK_TREE",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_GRAFT_FILE",
	"GIT_INDEX_FILE",
	"GIT_NO_REPLACE_OBJECTS",
	"GIT_REPLACE_REF_BASE",
	"GIT_PREFIX",
	"GIT_SHALLOW_FILE",
	"GIT_COMMON_DIR",
	"GIT_INTERNAL_SUPER_PREFIX",
	"GEONOSIS_BASE",
	"GEONOSIS_CHANGED_FILES",
	"GEONOSIS_GATE_RUN",
	"GEONOSIS_SLOTS",
};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static bool
variable_is(const char *var, const char *name)
{
	size_t n = strlen(name);

	return strncmp(var, name, n) == 0 && var[n] == '=';
}

static char **
environment_find(const struct environment *e, const char *name)
{
	size_t i;

	for (i = 0; i < e->nvars; i++)
		if (variable_is(e->vars[i], name))
			return &e->vars[i];
	return NULL;
}

/* Takes the string. */
static void
environment_add(struct environment *e, char *var)
{
	e->vars = xgrow(e->vars, e->nvars + 2, &e->room, sizeof(*e->vars));
	e->vars[e->nvars++] = var;
	e->vars[e->nvars] = NULL;
}

void
environment_set(struct environment *e, const char *name, const char *value)
{
	/* Made first: the value may be the variable's own. */
	char *var = xasprintf("%s=%s", name, value);

	/* All of that name: of two a program may take either. */
	environment_unset(e, name);
	environment_add(e, var);
}

void
environment_unset(struct environment *e, const char *name)
{
	char **found;

	while ((found = environment_find(e, name)) != NULL) {
		free(*found);
		*found = e->vars[--e->nvars];
		e->vars[e->nvars] = NULL;
	}
}

const char *
environment_get(const struct environment *e, const char *name)
{
	char **found = environment_find(e, name);

	return found != NULL ? *found + strlen(name) + 1 : NULL;
}

static bool
word_is_jobserver(const char *word, size_t n)
{
	static const char auth[] = "--jobserver-auth=", fds[] = "--jobserver-fds=";

	return (n >= sizeof(auth) - 1 && strncmp(word, auth, sizeof(auth) - 1) == 0) ||
	       (n >= sizeof(fds) - 1 && strncmp(word, fds, sizeof(fds) - 1) == 0);
}

/* `-j` or `-j4`: beside a jobserver it only says that there is one. */
static bool
word_is_jobs(const char *word, size_t n)
{
	size_t i;

	if (n < 2 || word[0] != '-' || word[1] != 'j')
		return false;
	for (i = 2; i < n; i++)
		if (!isdigit((unsigned char)word[i]))
			return false;
	return true;
}

/*
 * MAKEFLAGS without the words of a jobserver; words after ` -- ` are variables
 * and stay as they are.
 */
static void
environment_drop_jobserver(struct environment *e, const char *name)
{
	const char *old = environment_get(e, name);
	struct buf b = BUF_INIT;
	const char *p;
	bool is_variable = false;

	if (old == NULL || strstr(old, "--jobserver-") == NULL)
		return;
	for (p = old; *p != '\0';) {
		size_t blank = strspn(p, " ");
		size_t n = strcspn(p + blank, " ");
		const char *word = p + blank;

		if (n == 2 && strncmp(word, "--", 2) == 0)
			is_variable = true;
		if (is_variable ||
		    (!word_is_jobserver(word, n) && !word_is_jobs(word, n)))
			buf_append(&b, p, blank + n);
		p = word + n;
	}
	environment_set(e, name, buf_text(&b));
	buf_release(&b);
}

/* As npm does for scripts. */
static void
environment_add_bin(struct environment *e)
{
	static const char standard[] = "/usr/local/bin:/usr/bin:/bin";
	const char *path = environment_get(e, "PATH");
	struct stat st;
	char *cwd, *first;

	if (stat("node_modules/.bin", &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return;
	/* Without a PATH a shell has one of its own, which this one would hide. */
	first = xasprintf("%s/node_modules/.bin:%s", cwd, path != NULL ? path : standard);
	environment_set(e, "PATH", first);
	free(first);
	free(cwd);
}

/*
 * A gate step must not install while it measures: pnpm is told to fail instead, unless
 * its caller has said what it is to do.  npm's and pnpm's names are read in any case.
 */
static void
environment_set_pnpm(struct environment *e)
{
	static const char *const names[] = {
		"pnpm_config_verify_deps_before_run=",
		"npm_config_verify_deps_before_run=",
	};
	size_t i, k;

	for (i = 0; i < e->nvars; i++)
		for (k = 0; k < ARRAY_SIZE(names); k++)
			if (strncasecmp(e->vars[i], names[k], strlen(names[k])) == 0)
				return;
	if (!pnpm_sets_verify_deps())
		environment_set(e, "pnpm_config_verify_deps_before_run", "error");
}

void
environment_fill(struct environment *e, char *const *caller)
{
	size_t i;

	for (; *caller != NULL; caller++)
		environment_add(e, xstrdup(*caller));
	for (i = 0; i < ARRAY_SIZE(dropped); i++)
		environment_unset(e, dropped[i]);
	environment_drop_jobserver(e, "MAKEFLAGS");
	environment_drop_jobserver(e, "MFLAGS");
	environment_add_bin(e);
	environment_set_pnpm(e);
}

void
environment_release(struct environment *e)
{
	size_t i;

	if (e == NULL)
		return;
	for (i = 0; i < e->nvars; i++)
		free(e->vars[i]);
	free(e->vars);
	*e = (struct environment)ENVIRONMENT_INIT;
}
