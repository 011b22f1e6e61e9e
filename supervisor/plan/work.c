/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/work.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

static const char *const code_endings[] = {
	"astro",  "c",	   "cc",  "cjs",   "clj", "cpp",     "cs", "cts",   "cxx", "dart",
	"ex",	  "exs",   "fs",  "go",	   "gql", "graphql", "h",  "hh",    "hpp", "hs",
	"java",	  "js",	   "jsx", "kt",	   "kts", "lua",     "m",  "mjs",   "ml",  "mts",
	"php",	  "pl",	   "pm",  "proto", "py",  "rb",	     "rs", "scala", "sh",  "sql",
	"svelte", "swift", "ts",  "tsx",   "vue", "zig",
};

static const char *const test_directories[] = { "__tests__", "test", "tests" };

static const char *
path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
path_is_code(const char *path)
{
	const char *dot = strrchr(path_name(path), '.');
	size_t i;

	if (dot == NULL)
		return false;
	for (i = 0; i < sizeof(code_endings) / sizeof(code_endings[0]); i++)
		if (strcmp(dot + 1, code_endings[i]) == 0)
			return true;
	return false;
}

static bool
path_has_directory(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	const char *p;

	for (p = path; p != NULL; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncmp(p, dir, n) == 0 && p[n] == '/')
			return true;
	}
	return false;
}

static bool
path_is_test(const char *path)
{
	const char *name = path_name(path);
	size_t i;

	if (strstr(name, ".test.") != NULL || strstr(name, ".spec.") != NULL)
		return true;
	for (i = 0; i < sizeof(test_directories) / sizeof(test_directories[0]); i++)
		if (path_has_directory(path, test_directories[i]))
			return true;
	return false;
}

const char *
work_untested(const struct scope *s, const struct config *c)
{
	/* One for each workspace, and the last for what lies in none. */
	bool *is_tested = xcalloc(s->workspaces.nitems + 1, sizeof(*is_tested));
	const char *found = NULL;
	size_t i;

	for (i = 0; i < s->nchanges; i++) {
		long owner = workspace_list_owner(&s->workspaces, s->changes[i]);

		if (path_is_test(s->changes[i]) && (s->is_gone == NULL || !s->is_gone[i]))
			is_tested[owner >= 0 ? (size_t)owner : s->workspaces.nitems] =
			    true;
	}
	for (i = 0; i < s->nchanges && found == NULL; i++) {
		const char *path = s->changes[i];
		long owner = workspace_list_owner(&s->workspaces, path);

		if (path_is_code(path) && !path_is_test(path) &&
		    (s->is_cut == NULL || !s->is_cut[i]) &&
		    !config_is_document(c, path) &&
		    !is_tested[owner >= 0 ? (size_t)owner : s->workspaces.nitems])
			found = path;
	}
	free(is_tested);
	return found;
}
