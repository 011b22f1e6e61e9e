/* SPDX-License-Identifier: MIT */
#include "supervisor/run/environment.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
enter(void)
{
	(void)scratch_enter();
}

TestSuite(environment, .init = enter, .fini = scratch_leave, .timeout = 30);

enum {
	VARS_MAX = 12
};

/* From literals, which are not writable: copied. */
static void
fill(struct environment *e, const char *const *vars, size_t n)
{
	char *caller[VARS_MAX + 1] = { NULL };

	cr_assert_leq(n, VARS_MAX);
	for (size_t i = 0; i < n; i++)
		caller[i] = strdup(vars[i]);
	*e = (struct environment)ENVIRONMENT_INIT;
	environment_fill(e, caller);
	for (size_t i = 0; i < n; i++)
		free(caller[i]);
}

static size_t
count_of(const struct environment *e, const char *name)
{
	size_t n = strlen(name), count = 0;

	for (size_t i = 0; i < e->nvars; i++)
		count += strncmp(e->vars[i], name, n) == 0 && e->vars[i][n] == '=';
	return count;
}

static void
expect_value(const struct environment *e, const char *name, const char *want)
{
	const char *got = environment_get(e, name);

	if (want == NULL)
		cr_expect_null(got, "%s=%s", name, got);
	else
		cr_expect(got != NULL && strcmp(got, want) == 0, "%s is %s, not %s", name,
			  got, want);
}

Test(environment, set_get_and_unset)
{
	struct environment e = ENVIRONMENT_INIT;

	expect_value(&e, "A", NULL);
	environment_unset(&e, "A");
	environment_set(&e, "A", "1");
	environment_set(&e, "AB", "2");
	environment_set(&e, "EMPTY", "");
	environment_set(&e, "EQUALS", "x=y=z");
	cr_expect_eq(e.nvars, 4);
	cr_expect_null(e.vars[4]);
	expect_value(&e, "A", "1");
	expect_value(&e, "AB", "2");
	expect_value(&e, "EMPTY", "");
	expect_value(&e, "EQUALS", "x=y=z");
	expect_value(&e, "a", NULL);
	environment_set(&e, "A", "new and longer than before");
	expect_value(&e, "A", "new and longer than before");
	cr_expect_eq(e.nvars, 4);
	environment_unset(&e, "A");
	expect_value(&e, "A", NULL);
	expect_value(&e, "AB", "2");
	cr_expect_eq(e.nvars, 3);
	cr_expect_null(e.vars[3]);
	environment_release(&e);
	cr_expect_eq(e.nvars, 0);
	environment_release(&e);
	environment_release(NULL);
}

Test(environment, set_to_its_own_value)
{
	struct environment e = ENVIRONMENT_INIT;

	environment_set(&e, "A", "value");
	environment_set(&e, "A", environment_get(&e, "A"));
	expect_value(&e, "A", "value");
	environment_release(&e);
}

Test(environment, many)
{
	struct environment e = ENVIRONMENT_INIT;
	char name[16];

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "V%d", i);
		environment_set(&e, name, name);
		cr_assert_null(e.vars[e.nvars]);
	}
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "V%d", i);
		expect_value(&e, name, name);
	}
	environment_release(&e);
}

/* execve takes anything; a shell takes the last of two. */
Test(environment, twice_the_same_name)
{
	static const char *const vars[] = { "PATH=/a", "X=1", "X=2",	  "GIT_DIR=a",
					    "PATH=/b", "X=3", "GIT_DIR=b" };
	struct environment e;

	fill(&e, vars, COUNT(vars));
	cr_expect_eq(count_of(&e, "GIT_DIR"), 0);
	environment_set(&e, "X", "new");
	expect_value(&e, "X", "new");
	cr_expect_eq(count_of(&e, "X"), 1, "%zu are left", count_of(&e, "X"));
	environment_unset(&e, "X");
	cr_expect_eq(count_of(&e, "X"), 0);
	environment_release(&e);
}

Test(environment, entries_that_are_no_variables)
{
	static const char *const vars[] = {
		"", "=", "NOVALUE", "=C:=x", "GIT_DIR", "OK=1"
	};
	struct environment e;

	fill(&e, vars, COUNT(vars));
	expect_value(&e, "OK", "1");
	environment_release(&e);
}

/* git itself says what binds it; three of those only configure it. */
Test(environment, variables_that_bind_git_are_dropped)
{
	FILE *git = popen("git rev-parse --local-env-vars", "re");
	char name[128], var[160];
	int seen = 0;

	cr_assert_not_null(git);
	while (fgets(name, sizeof(name), git) != NULL) {
		bool configures;
		struct environment e;
		const char *vars[1] = { var };

		name[strcspn(name, "\n")] = '\0';
		configures = strcmp(name, "GIT_CONFIG") == 0 ||
			     strcmp(name, "GIT_CONFIG_PARAMETERS") == 0 ||
			     strcmp(name, "GIT_CONFIG_COUNT") == 0;
		(void)snprintf(var, sizeof(var), "%s=x", name);
		fill(&e, vars, 1);
		expect_value(&e, name, configures ? "x" : NULL);
		environment_release(&e);
		seen++;
	}
	(void)pclose(git);
	if (seen == 0)
		cr_skip_test("no git here");
}

struct pass_case {
	const char *var;
	bool stays;
};

static const struct pass_case passes[] = {
	{ "HOME=/root", true },
	{ "GIT_DIR=/x/.git", false },
	{ "GIT_INDEX_FILE=/x/index.lock", false },
	{ "GIT_WORK_TREE=/x", false },
	{ "GIT_PREFIX=", false },
	{ "GIT_OBJECT_DIRECTORY=x", false },
	{ "GIT_ALTERNATE_OBJECT_DIRECTORIES=x", false },
	{ "GIT_COMMON_DIR=x", false },
	{ "GIT_CONFIG_COUNT=1", true },
	{ "GIT_CONFIG_KEY_0=a.b", true },
	{ "GIT_CONFIG_VALUE_0=c", true },
	{ "GIT_CONFIG_GLOBAL=/x", true },
	{ "GIT_AUTHOR_NAME=x", true },
	{ "GIT_SSH_COMMAND=x", true },
	{ "GIT_EDITOR=:", true },
	{ "GIT_DIRECTORY=x", true },
	{ "XGIT_DIR=x", true },
	/* Of another run. */
	{ "GEONOSIS_BASE=0123", false },
	{ "GEONOSIS_CHANGED_FILES=/tmp/x", false },
	/* For the runs within. */
	{ "GEONOSIS_SEGMENT=/x", true },
	{ "GEONOSIS_JOBS=2", true },
	{ "GEONOSIS_HEAVY_SLOTS=2", true },
};

Test(environment, what_passes)
{
	for (size_t i = 0; i < COUNT(passes); i++) {
		char *name = strndup(passes[i].var, strcspn(passes[i].var, "="));
		struct environment e;

		fill(&e, &passes[i].var, 1);
		expect_value(&e, name,
			     passes[i].stays ? passes[i].var + strlen(name) + 1 : NULL);
		environment_release(&e);
		free(name);
	}
}

struct make_case {
	const char *flags;
	const char *after; /* blanks at the ends do not count */
};

static const struct make_case flags[] = {
	{ "", "" },
	{ "k", "k" },
	{ " -j4 --jobserver-auth=3,4", "" },
	{ "-j --jobserver-fds=3,4", "" },
	{ "w -j8 --jobserver-auth=fifo:/tmp/GMfifo123", "w" },
	{ "kw -j4 --jobserver-auth=3,4 --no-print-directory", "kw --no-print-directory" },
	{ " --jobserver-auth=3,4 -j4 -l2.5", "-l2.5" },
	{ " -j4 --jobserver-auth=3,4 -- CFLAGS=-O2", "-- CFLAGS=-O2" },
	{ " -j4 --jobserver-auth=3,4 -- X=-j4", "-- X=-j4" },
	{ "k --jobserver-auth=3,4 -- A=--jobserver-auth=9,9 B=-j3",
	  "k -- A=--jobserver-auth=9,9 B=-j3" },
	{ "-j4 --jobserver-auth=3,4 --jobserver-auth=5,6", "" },
	{ "-k -j4 --jobserver-auth=-2,-2", "-k" },
	/* Numbers of jobs that nobody's jobserver gave. */
	{ "-j4", "-j4" },
	{ " -j", "-j" },
	{ "-k -- X=--jobserver-auth=3,4", "-k -- X=--jobserver-auth=3,4" },
	{ "-Idir-j4 -j2 --jobserver-auth=3,4", "-Idir-j4" },
	{ "--jobserver-authority", "--jobserver-authority" },
};

static char *
trimmed(const char *s)
{
	size_t n;

	s += strspn(s, " ");
	n = strlen(s);
	while (n > 0 && s[n - 1] == ' ')
		n--;
	return strndup(s, n);
}

Test(environment, jobserver_of_an_outer_make_is_taken_out)
{
	static const char *const names[] = { "MAKEFLAGS", "MFLAGS" };

	for (size_t i = 0; i < COUNT(flags); i++) {
		for (size_t k = 0; k < COUNT(names); k++) {
			struct environment e;
			const char *vars[1];
			const char *got;
			char var[256];

			(void)snprintf(var, sizeof(var), "%s=%s", names[k],
				       flags[i].flags);
			vars[0] = var;
			fill(&e, vars, 1);
			got = environment_get(&e, names[k]);
			if (got != NULL) {
				char *text = trimmed(got);

				cr_expect_str_eq(text, flags[i].after, "%s: <%s>", var,
						 got);
				free(text);
			} else {
				cr_expect_str_eq(flags[i].after, "", "%s is gone", var);
			}
			environment_release(&e);
		}
	}
}

/* What is there of node_modules/.bin, and PATH before and after it; @ is its path. */
struct path_case {
	const char *name;
	const char *set_up;
	const char *before; /* NULL: no PATH */
	const char *after;
};

static const struct path_case paths[] = {
	{ "nothing", "true", "PATH=/usr/bin:/bin", "/usr/bin:/bin" },
	{ "no .bin", "mkdir node_modules", "PATH=/usr/bin", "/usr/bin" },
	{ "a file", "touch node_modules/.bin", "PATH=/usr/bin", "/usr/bin" },
	{ "there", "rm node_modules/.bin; mkdir node_modules/.bin", "PATH=/usr/bin:/bin",
	  "@:/usr/bin:/bin" },
	{ "empty path", "true", "PATH=", "@:" },
	{ "a link", "mv node_modules/.bin x; ln -s ../x node_modules/.bin",
	  "PATH=/usr/bin", "@:/usr/bin" },
	{ "a link to nothing", "rm -r x", "PATH=/usr/bin", "/usr/bin" },
};

Test(environment, tools_of_node_modules_come_first)
{
	char *here = getcwd(NULL, 0);

	for (size_t i = 0; i < COUNT(paths); i++) {
		const struct path_case *c = &paths[i];
		struct environment e;
		char want[512];

		cr_assert_eq(system(c->set_up), 0, "%s", c->name);
		fill(&e, &c->before, 1);
		if (c->after[0] == '@')
			(void)snprintf(want, sizeof(want), "%s/node_modules/.bin%s", here,
				       c->after + 1);
		else
			(void)snprintf(want, sizeof(want), "%s", c->after);
		cr_expect_str_eq(environment_get(&e, "PATH"), want, "%s: %s", c->name,
				 environment_get(&e, "PATH"));
		environment_release(&e);
	}
	free(here);
}

/* With no PATH at all a shell has one of its own: its tools must not be lost. */
Test(environment, tools_of_node_modules_do_not_hide_the_others)
{
	static const char *const vars[] = { "HOME=/" };
	struct environment e;
	const char *path;

	cr_assert_eq(system("mkdir -p node_modules/.bin"), 0);
	fill(&e, vars, 1);
	path = environment_get(&e, "PATH");
	cr_expect(path == NULL || strstr(path, ":/") != NULL, "PATH=%s", path);
	environment_release(&e);
}

struct pnpm_case {
	const char *var; /* of the caller */
	const char *yaml;
	const char *value; /* of pnpm_config_verify_deps_before_run */
};

static const struct pnpm_case pnpms[] = {
	{ "X=1", NULL, "error" },
	{ "X=1", "packages: ['a']\n", "error" },
	{ "X=1", "verifyDepsBeforeRun: install\n", NULL },
	{ "X=1", "packages: [a]\nverifyDepsBeforeRun: false\n", NULL },
	{ "X=1", "a: {verifyDepsBeforeRun: false}\n", "error" },
	{ "X=1", "\tno: [yaml\n", "error" },
	{ "pnpm_config_verify_deps_before_run=warn", NULL, "warn" },
	{ "PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN=warn", NULL, NULL },
	{ "npm_config_verify_deps_before_run=warn", NULL, NULL },
	{ "NPM_CONFIG_VERIFY_DEPS_BEFORE_RUN=warn", NULL, NULL },
	{ "Npm_Config_Verify_Deps_Before_Run=", NULL, NULL },
	{ "npm_config_verify_deps_before_run_x=warn", NULL, "error" },
};

Test(environment, pnpm_is_told_not_to_install)
{
	for (size_t i = 0; i < COUNT(pnpms); i++) {
		const struct pnpm_case *c = &pnpms[i];
		struct environment e;

		(void)unlink("pnpm-workspace.yaml");
		if (c->yaml != NULL)
			scratch_write("pnpm-workspace.yaml", c->yaml);
		fill(&e, &c->var, 1);
		expect_value(&e, "pnpm_config_verify_deps_before_run", c->value);
		environment_release(&e);
	}
}
