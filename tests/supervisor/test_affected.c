/* SPDX-License-Identifier: MIT */
#include "supervisor/project/affected.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/list.h"
#include "supervisor/project/manifest.h"
#include "supervisor/project/version_cut.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/*
 * A list as text: `path:name` and after `>` what it depends on, workspaces with `;`
 * between them.
 */
static void
list_of(const char *text, struct workspace_list *ret_list)
{
	struct list_builder b = LIST_BUILDER_INIT;
	char *copy = xstrdup(text), *rest = copy, *one;

	while ((one = strsep(&rest, ";")) != NULL) {
		char *needs = strchr(one, '>');
		char *name = strchr(one, ':');
		char *need;
		struct workspace w = { .path = NULL };

		if (needs != NULL)
			*needs++ = '\0';
		if (name != NULL)
			*name++ = '\0';
		w.path = xstrdup(one);
		w.name = xstrdup(name != NULL ? name : one);
		while (needs != NULL && (need = strsep(&needs, ",")) != NULL)
			workspace_add_dependency(&w, need, "*");
		list_builder_add(&b, &w);
	}
	list_builder_finish(&b, MANAGER_NPM, ret_list);
	free(copy);
}

#define MONO "a/web:web>ui;p/core:core;p/core-x:cx;p/solo:solo;p/ui:ui>core"

struct affected_row {
	const char *name;
	const char *tree;
	const char *base;    /* NULL: not known */
	const char *changes; /* a path a line; `!` before it: a version cut's */
	const char *selected;
	const char *reason; /* of all, or NULL */
};

static const struct affected_row rows[] = {
	{ "nothing", MONO, MONO, NULL, "", NULL },
	{ "a leaf", MONO, MONO, "p/solo/x.js", "p/solo", NULL },
	{ "a dependency", MONO, NULL, "p/core/x.js", "a/web p/core p/ui", NULL },
	{ "in the middle", MONO, NULL, "p/ui/deep/er", "a/web p/ui", NULL },
	{ "no mere prefix", MONO, NULL, "p/core-x/x", "p/core-x", NULL },
	{ "a repository that the base does not show", MONO, "p/ui:ui", "p/solo", "*",
	  "p/solo changed as a whole" },
	{ "one around it", MONO, "p/ui:ui", "p/", "*", "changed as a whole" },
	{ "a file of a new one", MONO, "p/ui:ui", "p/solo/x", "p/solo", NULL },
	{ "the directory itself", MONO, NULL, "p/solo", "p/solo", NULL },
	{ "a directory, untracked", MONO, NULL, "p/solo/", "p/solo", NULL },
	{ "the root", MONO, NULL, "package.json", "*", "package.json changed" },
	{ "between", MONO, NULL, "p/x.js", "*", "p/x.js" },
	{ "a longer name", MONO, NULL, "p/solo2/x", "*", "p/solo2/x" },
	{ "outside", MONO, NULL, "../other/x", "*", "../other/x" },
	{ "outside, a document", MONO, NULL, "../README.md", "*", "../README.md" },
	{ "outside and in again", MONO, NULL, "p/../p/solo/x", "p/solo", NULL },
	{ "bytes", MONO, NULL, "p/solo/\xff\x01", "p/solo", NULL },
	{ "bytes of nobody", MONO, NULL, "\xff\x01z", "*", "z changed" },
	{ "documents", MONO, NULL, "README.md\np/core/docs/a.md\n.changeset/x.txt", "",
	  NULL },
	{ "documents and code", MONO, NULL, "README.md\np/solo/x", "p/solo", NULL },
	{ "our own", MONO, NULL, ".geonosis/gate-report.json\np/solo/.geonosis/x", "",
	  NULL },
	{ "not quite our own", MONO, NULL, "p/solo/.geonosis2/x", "p/solo", NULL },
	{ "a cut", MONO, NULL, "!package.json\n!p/core/package.json", "", NULL },
	{ "a cut and code", MONO, NULL, "!package.json\np/solo/x", "p/solo", NULL },
	{ "gone", MONO, MONO ";p/z:z", "p/z/package.json", "*",
	  "the workspace p/z is gone" },
	{ "not checked out", MONO, MONO ";p/z:z", NULL, "", NULL },
	{ "not checked out, a like name", MONO, MONO ";p/so:z", "p/solo/x", "p/solo",
	  NULL },
	{ "renamed", MONO, "p/core:kernel", NULL, "*", "p/core has another name" },
	{ "new", MONO ";p/z:z>solo", MONO, "p/z/package.json", "p/z", NULL },
	{ "an edge of the base", "p/a:a;p/b:b", "p/a:a>b;p/b:b", "p/b/x", "p/a p/b",
	  NULL },
	{ "edges of both", "p/a:a;p/b:b>c;p/c:c", "p/a:a>b;p/b:b;p/c:c", "p/c/x",
	  "p/a p/b p/c", NULL },
	{ "a cycle", "p/a:a>b;p/b:b>a;p/c:c>a", NULL, "p/b/x", "p/a p/b p/c", NULL },
	{ "nested", "p/a:a;p/a/in/b:b", NULL, "p/a/in/b/x", "p/a/in/b", NULL },
	{ "around a nested one", "p/a:a;p/a/in/b:b", NULL, "p/a/in/x", "p/a", NULL },
	{ "what the root depends on", ".:r>a;p/a:a;p/b:b", NULL, "p/a/x", "*",
	  "p/a is reached, and the root depends on it" },
	{ "what that depends on", ".:r>a;p/a:a>c;p/b:b;p/c:c", NULL, "p/c/x", "*",
	  "p/a is reached, and the root depends on it" },
	{ "what the root does not depend on", ".:r>a,x;p/a:a;p/b:b", NULL, "p/b/x", "p/b",
	  NULL },
	{ "a document of what the root depends on", ".:r>a;p/a:a;p/b:b", NULL, "p/a/x.md",
	  "", NULL },
	{ "itself", "p/a:a>a", NULL, "p/a/x", "p/a", NULL },
};

/* The lines of a text as changes; freed by the caller, with the copy. */
static struct change *
changes_of(const char *text, char **ret_copy, size_t *ret_n)
{
	struct change *changes = xcalloc(64, sizeof(*changes));
	char *rest = *ret_copy = text != NULL ? xstrdup(text) : NULL;
	char *line;
	size_t n = 0;

	while ((line = strsep(&rest, "\n")) != NULL) {
		bool is_cut = *line == '!';

		changes[n++] = (struct change){ .path = line + is_cut, .is_cut = is_cut };
	}
	*ret_n = n;
	return changes;
}

static const char *const documents[] = { "**/*.md", ".changeset/**" };

static void
row_check(const struct affected_row *r)
{
	struct workspace_list tree, base = WORKSPACE_LIST_INIT;
	struct graph tree_graph, base_graph = GRAPH_INIT;
	struct affected_input in = { .tree = &tree,
				     .tree_graph = &tree_graph,
				     .documents = documents,
				     .ndocuments = COUNT(documents) };
	struct affected a;
	struct error err = ERROR_INIT;
	char *copy, selected[1024] = "";
	size_t n = 0, all = 0;

	list_of(r->tree, &tree);
	graph_build(&tree, &tree_graph);
	if (r->base != NULL) {
		list_of(r->base, &base);
		graph_build(&base, &base_graph);
		in.base = &base;
		in.base_graph = &base_graph;
	}
	in.changes = changes_of(r->changes, &copy, &in.nchanges);
	cr_assert_eq(affected_find(&in, &a, &err), 0, "%s: %s", r->name, err.text);
	for (size_t i = 0; i < tree.nitems; i++) {
		char *why = affected_reason(&in, &a, i);

		cr_expect_eq(why == NULL, a.selections[i].why == WHY_NOT, "%s", r->name);
		free(why);
		if (a.selections[i].why == WHY_NOT)
			continue;
		all++;
		n += (size_t)snprintf(selected + n, sizeof(selected) - n, "%s%s",
				      n == 0 ? "" : " ", tree.items[i].path);
	}
	if (strcmp(r->selected, "*") == 0)
		cr_expect_eq(all, tree.nitems, "%s: [%s]", r->name, selected);
	else
		cr_expect_str_eq(selected, r->selected, "%s: [%s]", r->name, selected);
	cr_expect_eq(a.all == ALL_NOT, r->reason == NULL, "%s: %s", r->name,
		     a.all_reason);
	if (r->reason != NULL && a.all_reason != NULL)
		cr_expect(strstr(a.all_reason, r->reason) != NULL, "%s: %s", r->name,
			  a.all_reason);
	free(copy);
	free((void *)(uintptr_t)in.changes);
	affected_release(&a);
	graph_release(&tree_graph);
	graph_release(&base_graph);
	workspace_list_release(&tree);
	workspace_list_release(&base);
}

Test(affected, rows)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		row_check(&rows[i]);
}

Test(affected, why)
{
	static const struct change changes[] = { { "p/core/x\ny", false },
						 { "p/core/z", false } };
	struct workspace_list tree;
	struct graph graph;
	struct affected_input in = {
		.tree = &tree, .tree_graph = &graph, .changes = changes, .nchanges = 2
	};
	static const char *const wanted[] = { "depends on p/ui",
					      "p/core/x\xef\xbf\xbdy changed", NULL, NULL,
					      "depends on p/core" };
	struct affected a;
	struct error err = ERROR_INIT;

	list_of(MONO, &tree);
	graph_build(&tree, &graph);
	cr_assert_eq(affected_find(&in, &a, &err), 0);
	for (size_t i = 0; i < COUNT(wanted); i++) {
		char *why = affected_reason(&in, &a, i);

		if (wanted[i] == NULL)
			cr_expect_null(why);
		else
			cr_expect_str_eq(why, wanted[i]);
		free(why);
	}
	affected_release(&a);
	graph_release(&graph);
	workspace_list_release(&tree);
}

Test(affected, what_changed_in_short)
{
	static const struct {
		const char *changes;
		bool nothing;
		bool documents_only;
	} shorts[] = {
		{ NULL, true, false },
		{ ".geonosis/x", true, false },
		{ "!p/core/package.json", true, false },
		{ "README.md", false, true },
		{ "README.md\n!package.json\n.geonosis/x", false, true },
		{ "README.md\np/core/x", false, false },
		{ "x", false, false },
	};

	for (size_t i = 0; i < COUNT(shorts); i++) {
		struct workspace_list tree;
		struct graph graph;
		struct affected_input in = { .tree = &tree,
					     .tree_graph = &graph,
					     .documents = documents,
					     .ndocuments = COUNT(documents) };
		struct affected a;
		struct error err = ERROR_INIT;
		char *copy;

		list_of(MONO, &tree);
		graph_build(&tree, &graph);
		in.changes = changes_of(shorts[i].changes, &copy, &in.nchanges);
		cr_assert_eq(affected_find(&in, &a, &err), 0);
		cr_expect_eq(a.nothing_changed, shorts[i].nothing, "%s",
			     shorts[i].changes);
		cr_expect_eq(a.documents_only, shorts[i].documents_only, "%s",
			     shorts[i].changes);
		affected_release(&a);
		free((void *)(uintptr_t)in.changes);
		free(copy);
		graph_release(&graph);
		workspace_list_release(&tree);
	}
}

Test(affected, key_parts_and_bad_globs)
{
	static const char *const parts[] = { "keyEnv CI" };
	static const char *const bad[] = { "a", "[" };
	struct workspace_list tree;
	struct graph graph;
	struct affected_input in = {
		.tree = &tree, .tree_graph = &graph, .key_parts = parts, .nkey_parts = 1
	};
	struct affected a;
	struct error err = ERROR_INIT;

	list_of(MONO, &tree);
	graph_build(&tree, &graph);
	cr_assert_eq(affected_find(&in, &a, &err), 0);
	cr_expect_eq(a.all, ALL_KEY_PART);
	cr_expect_str_eq(a.all_reason, "keyEnv CI differs, or is not known");
	cr_expect_eq(a.selections[3].why, WHY_ALL);
	affected_release(&a);
	in.documents = bad;
	in.ndocuments = 2;
	cr_expect_lt(affected_find(&in, &a, &err), 0);
	cr_expect_eq(err.kind, ERROR_CONFIG);
	cr_expect(strstr(err.text, "documents[1]") != NULL, "%s", err.text);
	graph_release(&graph);
	workspace_list_release(&tree);
}

Test(affected, cut_kinds)
{
	static const char *const globs[] = { "VERSION", "p/*/version.js",
					     "p/x/package.json" };
	static const struct {
		const char *path;
		enum cut_kind kind;
	} kinds[] = {
		{ "CHANGELOG.md", CUT_CHANGELOG },
		{ "p/a/GROUP-CHANGELOG.md", CUT_CHANGELOG },
		{ "p/a/MY-CHANGELOG.md", CUT_NONE },
		{ "CHANGELOG.md/x", CUT_NONE },
		{ "package.json", CUT_MANIFEST },
		{ "p/a/package.json", CUT_MANIFEST },
		{ "p/x/package.json", CUT_EITHER },
		{ "p/a/xpackage.json", CUT_NONE },
		{ "VERSION", CUT_VERSIONS },
		{ "p/a/version.js", CUT_VERSIONS },
		{ "p/a/b/version.js", CUT_NONE },
		{ "a/VERSION", CUT_NONE },
	};
	struct version_files *files;
	struct error err = ERROR_INIT;

	cr_assert_eq(version_files_compile(globs, COUNT(globs), &files, &err), 0);
	for (size_t i = 0; i < COUNT(kinds); i++)
		cr_expect_eq(cut_kind_of(kinds[i].path, files), kinds[i].kind, "%s",
			     kinds[i].path);
	cr_expect_eq(cut_kind_of("VERSION", NULL), CUT_NONE);
	version_files_free(files);
	cr_expect_lt(version_files_compile((const char *[]){ "[" }, 1, &files, &err), 0);
	version_files_free(NULL);
}

struct pair {
	const char *before;
	const char *after;
	bool same;
};

#define M(v, rest) "{\n  \"name\": \"a\",\n  \"version\": " v "" rest "\n}\n"

static const struct pair manifests[] = {
	{ M("\"1.0.0\"", ""), M("\"1.1.0\"", ""), true },
	{ M("\"1.0.0\"", ""), M("\"1.0.0\"", ""), true },
	{ M("\"1.0.0\"", ", \"x\": [{\"version\":\"1\"}]"),
	  M("\"2.0.0-rc.1\"", ", \"x\": [{\"version\":\"1\"}]"), true },
	{ M("\"1.0.0\"", ", \"x\": {\"version\":\"1\"}"),
	  M("\"1.0.0\"", ", \"x\": {\"version\":\"2\"}"), false },
	{ M("\"1.0.0\"", ", \"scripts\": {}"), M("\"1.1.0\"", ""), false },
	{ M("\"1.0.0\"", ""), "{\"name\":\"a\",\"version\":\"1.1.0\"}", false },
	{ M("\"1.0.0\"", ""), M("1", ""), false },
	{ M("\"1.0.0\"", ""), "{\n  \"name\": \"a\"\n}\n", false },
	{ M("\"1.0.0\"", ", \"version\": \"2\""), M("\"1.1.0\"", ", \"version\": \"2\""),
	  false },
	{ M("\"1.0.0\"", ""), "", false },
	{ M("\"1.0.0\"", ""), M("\"1.0.1\"", "") "x", false },
	{ M("\"1.0.0\"", ",\"k\":\"version\""), M("\"1.0.1\"", ",\"k\":\"version\""),
	  true },
	{ "{\"k\":\"version\",\"x\":\"1\"}", "{\"k\":\"version\",\"x\":\"2\"}", false },
	{ "[\"version\",\"1\"]", "[\"version\",\"2\"]", false },
	{ "{\"version\":\"a\\\"b\"}", "{\"version\":\"c\"}", true },
	{ "\xef\xbb\xbf{\"version\":\"1\"}", "\xef\xbb\xbf{\"version\":\"2\"}", true },
	{ "\xef\xbb\xbf{\"version\":\"1\"}", "{\"version\":\"2\"}", false },
	{ "{\"version\":\"1\"}", "{\"version\":\"2\",}", false },
};

static const struct pair texts[] = {
	{ "v1.0.0\n", "v1.12.0\n", true },
	{ "a = '1.0.0'; n = 3", "a = '1.12.0'; n = 3", true },
	{ "a = '1.0.0'; n = 3", "a = '1.12.0'; n = 4", false },
	{ "1.0.0 2.0.0", "1.0.1 2.0.1", true },
	{ "1.0.0 2.0.0", "1.0.1", false },
	{ "1.0", "1.1", false },
	{ "10.0.0.1", "10.0.1.1", false },
	{ "x10.0.0.1", "x10.0.0.2", false },
	{ "1.0.0-rc.1", "1.0.0-rc.2", true },
	{ "1.0.0-rc.1", "1.0.0", true },
	{ "1.0.0-linux", "1.0.0-darwin", false },
	{ "1.0.0-linux64", "1.0.0-darwin64", false },
	{ "1.0.0abc", "1.0.1abc", false },
	{ "1.0.0.", "1.0.1.", true },
	{ "1.0.0.x", "1.0.1.x", true },
	{ "1.0.0", "x", false },
	{ "", "", true },
	{ "", "1.0.0", false },
	{ "a", "a ", false },
	{ "1..0", "1..1", false },
};

Test(affected, what_a_cut_writes)
{
	for (size_t i = 0; i < COUNT(manifests); i++) {
		const struct pair *p = &manifests[i];

		cr_expect_eq(manifest_differs_in_version_only(p->before,
							      strlen(p->before), p->after,
							      strlen(p->after)),
			     p->same, "%s %s", p->before, p->after);
		cr_expect_eq(manifest_differs_in_version_only(p->after, strlen(p->after),
							      p->before,
							      strlen(p->before)),
			     p->same, "%s %s", p->after, p->before);
	}
	for (size_t i = 0; i < COUNT(texts); i++) {
		const struct pair *p = &texts[i];

		cr_expect_eq(text_differs_in_versions_only(p->before, strlen(p->before),
							   p->after, strlen(p->after)),
			     p->same, "%s %s", p->before, p->after);
		cr_expect_eq(text_differs_in_versions_only(p->after, strlen(p->after),
							   p->before, strlen(p->before)),
			     p->same, "%s %s", p->after, p->before);
	}
	cr_expect(cut_explains(CUT_CHANGELOG, NULL, 0, NULL, 0));
	cr_expect(!cut_explains(CUT_NONE, "a", 1, "a", 1));
	cr_expect(cut_explains(CUT_EITHER, "1.0.0", 5, "1.0.1", 5));
	cr_expect(!cut_explains(CUT_MANIFEST, "1.0.0", 5, "1.0.1", 5));
}
