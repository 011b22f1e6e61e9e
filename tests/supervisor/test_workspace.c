/* SPDX-License-Identifier: MIT */
#include "supervisor/project/workspace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/project/cargo.h"
#include "supervisor/project/golang.h"
#include "supervisor/project/segment.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A file and the directories above it. */
static void
put(const char *path, const char *text)
{
	struct error err = ERROR_INIT;
	char dir[512];
	char *slash;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash != NULL) {
		*slash = '\0';
		cr_assert_eq(dir_make(dir, &err), 0, "%s", err.text);
	}
	scratch_write(path, text);
}

/* Directories that hold a manifest, "" between them as blanks: `a b/c`. */
static void
put_members(const char *list)
{
	char copy[1024], path[512], text[512];
	char *dir, *rest = copy;

	(void)snprintf(copy, sizeof(copy), "%s", list);
	while ((dir = strsep(&rest, " ")) != NULL) {
		(void)snprintf(path, sizeof(path), "%s/package.json", dir);
		(void)snprintf(text, sizeof(text),
			       "{\"name\":\"n-%s\",\"version\":\"1.0.0\"}", dir);
		put(path, text);
	}
}

/* The list's paths with blanks between them. */
static const char *
paths_of(const struct workspace_list *l)
{
	static char text[4096];
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < l->nitems; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      i == 0 ? "" : " ", l->items[i].path);
	return text;
}

struct layout {
	const char *name;
	const char *file; /* that holds the patterns */
	const char *text;
	const char *other; /* another file of the root, or NULL */
	const char *other_text;
	const char *members;
	const char *paths;
	enum manager manager;
};

#define NPM(list) "package.json", "{\"workspaces\":" list "}", NULL, NULL
#define YARN1(list)                                                                \
	"package.json", "{\"private\":true,\"workspaces\":" list "}", "yarn.lock", \
	    "# yarn lockfile v1\n"
#define YARN(list)                                                                 \
	"package.json", "{\"private\":true,\"workspaces\":" list "}", "yarn.lock", \
	    "__metadata:\n  version: 8\n"
#define BUN(list) \
	"package.json", "{\"private\":true,\"workspaces\":" list "}", "bun.lock", "{}"
#define PNPM(list) "pnpm-workspace.yaml", "packages: " list "\n", "package.json", "{}"
#define DEEP "p p/a p/a/sub p/b p/g/er/x p/node_modules/m p/.hid q/c"

static const struct layout layouts[] = {
	{ "npm, a star", NPM("[\"p/*\"]"), DEEP, "p/a p/b", MANAGER_NPM },
	{ "npm, two stars", NPM("[\"p/**\"]"), DEEP, "p p/a p/a/sub p/b p/g/er/x",
	  MANAGER_NPM },
	{ "npm, not", NPM("[\"p/**\",\"!p/a\"]"), DEEP, "p p/a/sub p/b p/g/er/x",
	  MANAGER_NPM },
	{ "npm, not, and again", NPM("[\"p/*\",\"!p/a\",\"!p/b\",\"p/a\"]"), DEEP, "p/a",
	  MANAGER_NPM },
	{ "npm, not a tree", NPM("[\"p/**\",\"!p/g/**\"]"), DEEP, "p p/a p/a/sub p/b",
	  MANAGER_NPM },
	{ "npm, object", NPM("{\"packages\":[\"p/*\"]}"), DEEP, "p/a p/b", MANAGER_NPM },
	{ "npm, braces", NPM("[\"{p,q}/{a,c}\"]"), DEEP, "p/a q/c", MANAGER_NPM },
	{ "npm, nothing", NPM("[]"), DEEP, "", MANAGER_NONE },
	{ "npm, null", NPM("null"), DEEP, "", MANAGER_NONE },
	{ "npm, the root", NPM("[\".\",\"./\",\"\",\"p/a/../..\"]"), DEEP, "",
	  MANAGER_NONE },
	{ "npm, back", NPM("[\"p/a/../b\"]"), DEEP, "p/b", MANAGER_NPM },
	{ "npm, dot by name", NPM("[\"p/.*\"]"), DEEP, "p/.hid", MANAGER_NPM },
	{ "npm, node_modules by name", NPM("[\"p/node_modules/*\"]"), DEEP, "",
	  MANAGER_NONE },
	{ "pnpm, not, in any order", PNPM("['!p/a', 'p/*', 'p/a']"), DEEP, "p/b",
	  MANAGER_PNPM },
	{ "pnpm, not at any depth", PNPM("['p/**', '!**/a/**']"), DEEP, "p p/b p/g/er/x",
	  MANAGER_PNPM },
	{ "pnpm, ./ and /", PNPM("['./p/*/']"), DEEP, "p/a p/b", MANAGER_PNPM },
	{ "pnpm, nothing", PNPM(""), DEEP, "", MANAGER_NONE },
	{ "pnpm wins", "pnpm-workspace.yaml", "packages: ['q/*']\n", "package.json",
	  "{\"workspaces\":[\"p/*\"]}", DEEP, "q/c", MANAGER_PNPM },
	{ "pnpm's settings only", "pnpm-workspace.yaml", "catalog: {}\n", "package.json",
	  "{\"workspaces\":[\"p/*\"]}", DEEP, "p/a p/b", MANAGER_NPM },
	{ "Yarn 1 knows no not", YARN1("[\"p/*\",\"!p/a\"]"), DEEP, "p/a p/b",
	  MANAGER_YARN_CLASSIC },
	{ "Yarn, not, with all below", YARN("[\"p/**\",\"!p/a\"]"), DEEP, "p/b p/g/er/x",
	  MANAGER_YARN },
	{ "Bun knows no not", BUN("[\"p/*\",\"!p/a\"]"), DEEP, "p/a p/b", MANAGER_BUN },
	{ "packageManager", "package.json",
	  "{\"packageManager\":\"yarn@4.5.3\",\"workspaces\":[\"p/*\"]}", "bun.lock", "",
	  DEEP, "p/a p/b", MANAGER_YARN },
	{ "packageManager, Yarn 1", "package.json",
	  "{\"packageManager\":\"yarn@1.22.22+sha\",\"workspaces\":[\"p/*\"]}", NULL,
	  NULL, DEEP, "p/a p/b", MANAGER_YARN_CLASSIC },
	{ "an empty lock is a later Yarn's", "package.json", "{\"workspaces\":[\"p/*\"]}",
	  "yarn.lock", "", DEEP, "p/a p/b", MANAGER_YARN },
	{ "a BOM", "package.json", "\xef\xbb\xbf{\"workspaces\":[\"p/*\"]}", NULL, NULL,
	  DEEP, "p/a p/b", MANAGER_NPM },
};

Test(workspace, layouts, .timeout = 120)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		const struct layout *l = &layouts[i];
		struct workspace_list list = WORKSPACE_LIST_INIT;
		struct error err = ERROR_INIT;

		(void)scratch_enter();
		put_members(l->members);
		put(l->file, l->text);
		if (l->other != NULL)
			put(l->other, l->other_text);
		if (workspace_list_load(".", &list, &err) < 0)
			cr_expect(false, "%s: %s", l->name, err.text);
		cr_expect_str_eq(paths_of(&list), l->paths, "%s: [%s]", l->name,
				 paths_of(&list));
		cr_expect_eq(list.manager, l->manager, "%s: %d", l->name,
			     (int)list.manager);
		workspace_list_release(&list);
		scratch_leave();
	}
}

struct bad {
	const char *file;
	const char *text;
	const char *says;
};

static const struct bad bads[] = {
	{ "package.json", "{\"workspaces\":[\"p/*\",", "package.json: " },
	{ "package.json", "", "package.json: " },
	{ "package.json", "[]", "package.json: not an object" },
	{ "package.json", "{\"workspaces\":\"p/*\"}", "package.json: workspaces: " },
	{ "package.json", "{\"workspaces\":{\"packages\":1}}",
	  "package.json: workspaces: " },
	{ "package.json", "{\"workspaces\":[1]}", "package.json: workspaces[0]: " },
	{ "package.json", "{\"workspaces\":[\"a\\u0000b\"]}",
	  "package.json: workspaces[0]: " },
	{ "package.json", "{\"workspaces\":[\"{1..99999999}\"]}", "expands to too much" },
	{ "package.json", "{\"workspaces\":[\"p/+(+(+(+(+(*)))))x\"]}", "too long" },
	{ "pnpm-workspace.yaml", "packages: [", "pnpm-workspace.yaml:" },
	{ "pnpm-workspace.yaml", "packages: p/*\n", "pnpm-workspace.yaml: packages: " },
	{ "pnpm-workspace.yaml", "packages: [[a]]\n", "pnpm-workspace.yaml: packages: " },
	{ "pnpm-workspace.yaml", "- a\n", "pnpm-workspace.yaml:1:1: " },
	{ "p/a/package.json", "{\"name\": ", "p/a/package.json: " },
	{ "p/a/package.json", "", "p/a/package.json: " },
	{ "p/a/package.json", "\"x\"", "p/a/package.json: not an object" },
	{ "p/a/package.json", "{} // no", "p/a/package.json: " },
};

Test(workspace, what_does_not_parse_is_refused_by_path, .timeout = 120)
{
	for (size_t i = 0; i < COUNT(bads); i++) {
		struct workspace_list list = WORKSPACE_LIST_INIT;
		struct error err = ERROR_INIT;

		(void)scratch_enter();
		put("package.json", "{\"workspaces\":[\"p/*\"]}");
		put_members("p/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		put(bads[i].file, bads[i].text);
		cr_expect_lt(workspace_list_load(".", &list, &err), 0, "%s: %s",
			     bads[i].file, bads[i].text);
		cr_expect_eq(err.kind, ERROR_DATA, "%s: %s", bads[i].text, err.text);
		cr_expect(strstr(err.text, bads[i].says) != NULL, "%s: [%s]",
			  bads[i].text, err.text);
		workspace_list_release(&list);
		scratch_leave();
	}
}

/* 4 MB of brackets took libyaml hours. */
Test(workspace, a_hostile_depth_is_refused_at_once, .timeout = 120)
{
	static const char *const openings[] = { "[", "{a: ", "- " };
	const size_t n = 1000000;

	for (size_t i = 0; i < COUNT(openings); i++) {
		struct workspace_list list = WORKSPACE_LIST_INIT;
		struct error err = ERROR_INIT;
		size_t len = strlen(openings[i]);
		char *text = xmalloc(n * len + 1);

		for (size_t k = 0; k < n; k++)
			memcpy(text + k * len, openings[i], len + 1);
		(void)scratch_enter();
		put("package.json", "{}");
		put("pnpm-workspace.yaml", text);
		cr_expect_lt(workspace_list_load(".", &list, &err), 0, "%s", openings[i]);
		cr_expect(strstr(err.text, "pnpm-workspace.yaml:1:") != NULL &&
			      strstr(err.text, "nested past") != NULL,
			  "%s: [%s]", openings[i], err.text);
		scratch_leave();
		free(text);
	}
}

Test(workspace, facts)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;
	const struct workspace *w;
	long i;

	(void)scratch_enter();
	put("pnpm-workspace.yaml", "packages: ['*']\ncatalog:\n  c: npm:@t/core@1\n"
				   "catalogs:\n  old: { d: ^3.0.0 }\n"
				   "overrides: { t: 4 }\n");
	put("package.json",
	    "{\"name\":\"top\",\"scripts\":{\"x\":\"y\"},\"overrides\":{"
	    "\"l\":\"1\",\"m\":{\"n\":\"link:a\"}},\"resolutions\":{\"r\":\"2\"},"
	    "\"pnpm\":{\"overrides\":{\"s\":\"3\"}}}");
	put("a/package.json",
	    "{\"name\":\"@t/"
	    "a\",\"version\":\"1.2.3\",\"scripts\":{\"test\":\"t\",\"n\":1},"
	    "\"dependencies\":{\"c\":\"catalog:\",\"e\":\"catalog:none\"},"
	    "\"devDependencies\":{\"d\":\"catalog:old\"},\"peerDependencies\":{\"p\":1},"
	    "\"optionalDependencies\":{\"o\":\"*\"},\"bundledDependencies\":[\"b\"]}");
	put("b/package.json", "{\"name\":7}");
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	cr_assert_eq(list.nitems, 2);
	i = workspace_list_find(&list, "a");
	cr_assert_eq(i, 0);
	w = &list.items[0];
	cr_expect_str_eq(w->name, "@t/a");
	cr_expect_str_eq(w->version, "1.2.3");
	cr_expect(workspace_has_script(w, "test"));
	cr_expect(!workspace_has_script(w, "n"));
	cr_expect(!workspace_has_script(w, "tes"));
	cr_assert_eq(w->ndependencies, 6);
	cr_expect_str_eq(w->dependencies[0].spec, "npm:@t/core@1");
	cr_expect_str_eq(w->dependencies[1].spec, "catalog:none");
	cr_expect_str_eq(w->dependencies[2].spec, "^3.0.0");
	cr_expect_str_eq(w->dependencies[3].spec, "*");
	cr_expect_str_eq(w->dependencies[5].name, "b");
	cr_expect_str_eq(list.items[1].name, "");
	cr_expect_null(list.items[1].version);
	cr_expect_str_eq(list.root.name, "top");
	cr_expect_str_eq(list.root.path, ".");
	cr_expect(workspace_has_script(&list.root, "x"));
	cr_expect_eq(workspace_list_find(&list, "c"), -1);
	cr_assert_eq(list.overrides.ndependencies, 5);
	cr_expect_str_eq(list.overrides.dependencies[1].name, "n");
	cr_expect_str_eq(list.overrides.dependencies[4].spec, "4");
	workspace_list_release(&list);
	scratch_leave();
}

Test(workspace, links)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	put("package.json", "{\"workspaces\":[\"p/*\"]}");
	put_members("p/a real/x");
	cr_assert_eq(symlink("../real/x", "p/link"), 0);
	cr_assert_eq(symlink("../nowhere", "p/broken"), 0);
	cr_assert_eq(symlink("../p", "p/loop"), 0);
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	cr_expect_str_eq(paths_of(&list), "p/a p/link");
	cr_expect_null(list.items[0].real);
	cr_expect_str_eq(list.items[1].real, "real/x");
	cr_expect_eq(workspace_list_owner(&list, "real/x/f"), 1);
	cr_expect_eq(workspace_list_owner(&list, "p/link"), 1);
	cr_expect_eq(workspace_list_owner(&list, "real/xy"), -1);
	workspace_list_release(&list);
	scratch_leave();
}

/* pnpm follows links below two stars; that must end. */
Test(workspace, links_in_a_circle, .timeout = 60)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	put("pnpm-workspace.yaml", "packages: ['**']\n");
	put_members("p/a q/b");
	cr_assert_eq(symlink("..", "p/up"), 0);
	cr_assert_eq(symlink("../q", "p/q"), 0);
	cr_assert_eq(symlink("../p", "q/p"), 0);
	cr_assert_eq(symlink("/", "q/out"), 0);
	cr_assert_eq(unlink("q/out"), 0);
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	cr_expect_geq(workspace_list_find(&list, "p/a"), 0);
	cr_expect_geq(workspace_list_find(&list, "p/q/b"), 0);
	workspace_list_release(&list);
	scratch_leave();
}

Test(workspace, owner)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;
	static const struct {
		const char *path;
		const char *owner;
	} rows[] = {
		{ "p/a/x.js", "p/a" },
		{ "p/a", "p/a" },
		{ "p/a/package.json", "p/a" },
		{ "p/a/in/b/c/d", "p/a/in/b" },
		{ "p/a/in/x", "p/a" },
		{ "p/a-b/x", "p/a-b" },
		{ "p/a-bc/x", NULL },
		{ "p/x", NULL },
		{ "p", NULL },
		{ "x", NULL },
		{ "", NULL },
		{ "p/a\xff/x", NULL },
		{ "p/a/\xff\n", "p/a" },
	};

	(void)scratch_enter();
	put("package.json", "{\"workspaces\":[\"p/*\",\"p/a/in/*\"]}");
	put_members("p/a p/a-b p/a/in/b");
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	for (size_t i = 0; i < COUNT(rows); i++) {
		long owner = workspace_list_owner(&list, rows[i].path);

		if (rows[i].owner == NULL)
			cr_expect_eq(owner, -1, "%s", rows[i].path);
		else
			cr_expect_str_eq(owner < 0 ? "" : list.items[owner].path,
					 rows[i].owner, "%s", rows[i].path);
	}
	workspace_list_release(&list);
	scratch_leave();
}

/* To Yarn, workspaces may have workspaces. */
Test(workspace, nested)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	put("package.json",
	    "{\"packageManager\":\"yarn@4.5.3\",\"workspaces\":[\"p/*\"]}");
	put("p/a/package.json", "{\"workspaces\":[\"in/*\",\"../b\",\".\"]}");
	put_members("p/a/in/b p/b");
	put("p/a/in/b/package.json", "{\"name\":\"b\",\"workspaces\":[\"../*\"]}");
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	cr_expect_str_eq(paths_of(&list), "p/a p/a/in/b p/b", "%s", paths_of(&list));
	workspace_list_release(&list);
	scratch_leave();
}

/* Yarn 1 warns, and goes on without them. */
Test(workspace, yarn_classic_wants_name_and_version)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	put("package.json", "{\"workspaces\":[\"p/*\"]}");
	put("yarn.lock", "# THIS IS AN AUTOGENERATED FILE.\n# yarn lockfile v1\n\n");
	put("p/a/package.json", "{\"name\":\"a\"}");
	put("p/b/package.json", "{\"version\":\"1.0.0\"}");
	put("p/c/package.json", "{\"name\":\"c\",\"version\":\"1.0.0\"}");
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	cr_expect_str_eq(paths_of(&list), "p/c");
	workspace_list_release(&list);
	scratch_leave();
}

Test(workspace, a_wide_tree_is_not_looked_into, .timeout = 60)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	put("package.json", "{\"workspaces\":[\"p/a\"]}");
	put_members("p/a");
	put("secret/x", "");
	cr_assert_eq(chmod("secret", 0), 0);
	cr_expect_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	(void)chmod("secret", 0755);
	workspace_list_release(&list);
	scratch_leave();
}

Test(workspace, nothing_at_all)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;

	(void)scratch_enter();
	cr_assert_eq(workspace_list_load(".", &list, &err), 0, "%s", err.text);
	cr_expect_eq(list.nitems, 0);
	cr_expect_eq(list.manager, MANAGER_NONE);
	cr_expect_str_eq(list.root.path, ".");
	workspace_list_release(&list);
	scratch_leave();
}

Test(workspace, cargo_answer)
{
	static const char answer[] =
	    "{\"packages\":["
	    "{\"id\":\"1\",\"name\":\"base\",\"version\":\"1.0.0\",\"manifest_path\":"
	    "\"/r/crates/base/Cargo.toml\",\"dependencies\":[]},"
	    "{\"id\":\"2\",\"name\":\"user\",\"version\":\"1.0.0\",\"manifest_path\":"
	    "\"/r/crates/user/Cargo.toml\",\"dependencies\":[{\"name\":\"base\",\"path\":"
	    "\"/r/crates/base\"},{\"name\":\"serde\"}]},"
	    "{\"id\":\"3\",\"name\":\"top\",\"version\":\"1.0.0\",\"manifest_path\":"
	    "\"/r/Cargo.toml\",\"dependencies\":[]},"
	    "{\"id\":\"4\",\"name\":\"out\",\"version\":\"1.0.0\",\"manifest_path\":"
	    "\"/rest/Cargo.toml\",\"dependencies\":[]},"
	    "{\"id\":\"5\",\"name\":\"no\",\"version\":\"1.0.0\",\"manifest_path\":"
	    "\"/r/no/Cargo.toml\",\"dependencies\":[]}],"
	    "\"workspace_members\":[\"1\",\"2\",\"3\",\"4\"]}";
	static const char *const bad[] = { "", "{}", "[]", "{\"packages\":1}",
					   "{\"packages\":[]}" };
	struct workspace_list list;
	struct error err = ERROR_INIT;

	cr_assert_eq(cargo_list_parse("/r", answer, strlen(answer), &list, &err), 0, "%s",
		     err.text);
	cr_expect_str_eq(paths_of(&list), "crates/base crates/user");
	cr_expect_str_eq(list.root.name, "top");
	cr_assert_eq(list.items[1].ndependencies, 2);
	cr_expect_str_eq(list.items[1].dependencies[0].spec, "root:crates/base");
	workspace_list_release(&list);
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_lt(cargo_list_parse("/r", bad[i], strlen(bad[i]), &list, &err),
			     0, "%s", bad[i]);
}

/* A program that says what is in a file named by its first argument. */
static void
put_program(const char *name, const char *script)
{
	put(name, script);
	cr_assert_eq(chmod(name, 0755), 0);
}

Test(workspace, go_answers, .timeout = 60)
{
	struct workspace_list list;
	struct error err = ERROR_INIT;
	char *cwd, *path;

	(void)scratch_enter();
	cwd = getcwd(NULL, 0);
	put_program("bin/go", "#!/bin/sh\ncat \"$4.json\"\n");
	put("go.work", "go 1.22\nuse ./a\n");
	put("go.work.json",
	    "{\"Go\":\"1.22\",\"Use\":[{\"DiskPath\":\"./a\"},{\"DiskPath\":"
	    "\"b\"},{\"DiskPath\":\".\"},{\"DiskPath\":\"../out\"}]}");
	put("a/go.mod.json", "{\"Module\":{\"Path\":\"x.y/a\"},\"Require\":[{\"Path\":"
			     "\"x.y/b\",\"Version\":\"v0.0.0\"}]}");
	put("b/go.mod.json",
	    "{\"Module\":{\"Path\":\"x.y/b\"},\"Require\":null,\"Replace\":"
	    "[{\"Old\":{\"Path\":\"z\"},\"New\":{\"Path\":\"../a\"}}]}");
	put("go.mod.json", "{\"Module\":{\"Path\":\"x.y\"}}");
	path = getenv("PATH");
	path = path != NULL ? strdup(path) : strdup("");
	cr_assert_not_null(path);
	{
		struct buf b = BUF_INIT;

		buf_printf(&b, "%s/bin:%s", cwd, path);
		cr_assert_eq(setenv("PATH", buf_text(&b), 1), 0);
		buf_release(&b);
	}
	cr_assert_eq(golang_list_load(".", &list, &err), 1, "%s", err.text);
	cr_expect_str_eq(paths_of(&list), "a b");
	cr_expect_str_eq(list.items[0].dependencies[0].name, "x.y/b");
	cr_expect_str_eq(list.items[1].dependencies[0].spec, "root:a");
	cr_expect_str_eq(list.root.name, "x.y");
	workspace_list_release(&list);
	put_program("bin/go", "#!/bin/sh\necho 'go: no such thing' >&2\nexit 3\n");
	cr_expect_eq(golang_list_load(".", &list, &err), -1);
	cr_expect(strstr(err.text, "no such thing") != NULL, "%s", err.text);
	free(path);
	free(cwd);
	scratch_leave();
}

Test(workspace, segments)
{
	static const struct {
		const char *pattern;
		const char *name;
		int matches;
	} rows[] = {
		{ "*", "a", 1 },
		{ "*", ".a", 0 },
		{ ".*", ".a", 1 },
		{ "a*c", "abc", 1 },
		{ "a*c", "ac", 1 },
		{ "a*c", "ab", 0 },
		{ "a**c", "abbc", 1 },
		{ "?", "\xc3\xa9", 1 },
		{ "?", "\xff", 1 },
		{ "??", "\xc3\xa9", 0 },
		{ "[a-c]", "b", 1 },
		{ "[!a-c]", "b", 0 },
		{ "[^a-c]", "d", 1 },
		{ "[]a]", "]", 1 },
		{ "[a", "[a", 1 },
		{ "[[:digit:]x]", "7", 1 },
		{ "[[:digit:]x]", "x", 1 },
		{ "[[:digit:]x]", "d", 0 },
		{ "[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", 1 },
		{ "\\*", "*", 1 },
		{ "\\*", "a", 0 },
		{ "[a-]", "-", 1 },
		{ "@(a|b)c", "bc", 1 },
		{ "@(a|b)c", "c", 0 },
		{ "?(a|b)c", "c", 1 },
		{ "*(ab)", "abab", 1 },
		{ "*(ab)", "aba", 0 },
		{ "+(ab)", "", 0 },
		{ "!(a)", "b", 1 },
		{ "!(a)", "a", 0 },
		{ "!(a)", "", 1 },
		{ "!(a|b)c", "bc", 0 },
		{ "!(a|b)c", "dc", 1 },
		{ "@(a|@(b|c))d", "cd", 1 },
		{ "@(a", "@(a", 1 },
		{ "a|b", "a|b", 1 },
		{ "x)", "x)", 1 },
		{ "*a*b*", "xxaxxbxx", 1 },
		{ "", "", 1 },
		{ "a", "ab", 0 },
		{ "ab", "a", 0 },
		{ "[[:", "[[:", 1 },
		{ "[", "[", 1 },
		{ "\\", "\\", 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		cr_expect_eq(segment_matches(rows[i].pattern, rows[i].name, false),
			     rows[i].matches, "[%s] [%s]", rows[i].pattern, rows[i].name);
	cr_expect_eq(segment_matches("*", ".a", true), 1);
}

/* No pattern takes for ever. */
Test(workspace, segments_end, .timeout = 60)
{
	static const char name[] =
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const char *const patterns[] = { "*a*a*a*a*a*a*a*a*a*a*b",
						"+(+(+(+(a))))b", "!(!(!(!(a*)*)*)*)b",
						"*(*(*(a)))x", "((((((((((((((((((((" };

	for (size_t i = 0; i < COUNT(patterns); i++)
		cr_expect_leq(segment_matches(patterns[i], name, false), 0, "%s",
			      patterns[i]);
}
