/* SPDX-License-Identifier: MIT */
#include "supervisor/project/graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/list.h"
#include "supervisor/project/manifest.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A workspace at packages/<name>, its name @t/<name>; one dependency. */
static void
add(struct list_builder *b, const char *name, const char *key, const char *spec)
{
	struct workspace w = { .path = xasprintf("packages/%s", name),
			       .name = xasprintf("@t/%s", name) };

	if (key != NULL)
		workspace_add_dependency(&w, key, spec);
	list_builder_add(b, &w);
}

struct meaning {
	const char *key;
	const char *spec;
	bool core; /* an edge to packages/core */
	bool ui;   /* an edge to packages/ui */
};

static const struct meaning meanings[] = {
	{ "@t/core", "^1.0.0", true, false },
	{ "@t/core", "", true, false },
	{ "@t/core", "latest", true, false },
	{ "@t/core", "99 || nonsense", true, false },
	{ "@t/core", "workspace:*", true, false },
	{ "@t/core", "workspace:^", true, false },
	{ "@t/core", "workspace:~", true, false },
	{ "@t/core", "workspace:^1.0.0", true, false },
	{ "@t/core", "workspace:../core", true, false },
	{ "@t/core", "workspace:./../core/", true, false },
	{ "@t/core", "workspace:packages/core", true, false },
	{ "kernel", "workspace:@t/core@*", true, false },
	{ "kernel", "workspace:@t/core@^1", true, false },
	{ "@t/ui", "workspace:@t/core@*", true, false },
	{ "@t/ui", "workspace:@t/none@*", false, true },
	{ "x", "npm:@t/core@^1.0.0", true, false },
	{ "x", "npm:@t/core", true, false },
	{ "@t/ui", "npm:@t/core@1", true, false },
	{ "@t/ui", "npm:^1.0.0", false, true },
	{ "@t/ui", "npm:other@1", false, false },
	{ "x", "file:../core", true, false },
	{ "x", "file:../core/", true, false },
	{ "x", "file:../core/dist/x.tgz", true, false },
	{ "x", "file:../../packages/core", true, false },
	{ "x", "file:..", true, true },
	{ "x", "link:../core", true, false },
	{ "x", "portal:../core", true, false },
	{ "@t/ui", "link:../core", true, false },
	{ "@t/ui", "link:../../outside", false, true },
	{ "x", "../core", true, false },
	{ "x", "./../core", true, false },
	{ "x", "file:../core-extra", false, false },
	{ "x", "root:packages/core", true, false },
	{ "x", "patch:@t/core@1.0.0#./p.patch", true, false },
	{ "x", "jsr:@t/core@1", true, false },
	{ "@t/core", "catalog:", true, false },
	{ "@t/core", "catalog:none", true, false },
	{ "@t/core", "github:t/core#main", true, false },
	{ "@t/core", "https://example.com/core.tgz", true, false },
	{ "x", "https://example.com/core.tgz", false, false },
	{ "@t/cor", "*", false, false },
	{ "@t/core2", "*", false, false },
	{ "", "*", false, false },
	{ "x", "workspace:", false, false },
	{ "x", "npm:", false, false },
	{ "x", "npm:@", false, false },
	{ "x", ":", false, false },
};

static bool
has_edge(const struct graph *g, size_t from, size_t to)
{
	for (size_t i = g->first[from]; i < g->first[from + 1]; i++)
		if (g->edges[i].to == to)
			return true;
	return false;
}

Test(graph, what_a_dependency_means)
{
	for (size_t i = 0; i < COUNT(meanings); i++) {
		const struct meaning *m = &meanings[i];
		struct list_builder b = LIST_BUILDER_INIT;
		struct workspace_list list;
		struct graph g;

		/* core 0, ui 1, user 2 */
		add(&b, "core", NULL, NULL);
		add(&b, "ui", NULL, NULL);
		add(&b, "user", m->key, m->spec);
		list_builder_finish(&b, MANAGER_NPM, &list);
		graph_build(&list, &g);
		cr_expect_eq(has_edge(&g, 2, 0), m->core, "core: %s: %s", m->key,
			     m->spec);
		cr_expect_eq(has_edge(&g, 2, 1), m->ui, "ui: %s: %s", m->key, m->spec);
		cr_expect(!has_edge(&g, 2, 2), "%s: %s", m->key, m->spec);
		cr_expect_eq(g.first[2], 0, "%s: %s", m->key, m->spec);
		graph_release(&g);
		workspace_list_release(&list);
	}
}

Test(graph, two_of_one_name)
{
	struct list_builder b = LIST_BUILDER_INIT;
	struct workspace_list list;
	struct graph g;

	add(&b, "a", NULL, NULL);
	add(&b, "b", NULL, NULL);
	add(&b, "c", "@t/x", "*");
	free(b.list.items[0].name);
	free(b.list.items[1].name);
	b.list.items[0].name = xstrdup("@t/x");
	b.list.items[1].name = xstrdup("@t/x");
	list_builder_finish(&b, MANAGER_NPM, &list);
	graph_build(&list, &g);
	cr_expect(has_edge(&g, 2, 0));
	cr_expect(has_edge(&g, 2, 1));
	graph_release(&g);
	workspace_list_release(&list);
}

/* What the root overrides reaches everyone, wherever a workspace is put in. */
Test(graph, overrides)
{
	static const struct {
		const char *name;
		const char *spec;
		bool reaches;
	} rows[] = {
		{ "left", "link:./packages/a", true },
		{ "left", "file:packages/a", true },
		{ "x>@t/a", "workspace:*", true },
		{ "@t/a", "workspace:^", true },
		{ "left", "npm:@t/a@1", true },
		{ "@t/a", "1.0.0", false },
		{ "left", "npm:right@1", false },
		{ "left", "link:../a", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct list_builder b = LIST_BUILDER_INIT;
		struct workspace_list list;
		struct graph g;

		add(&b, "a", NULL, NULL);
		add(&b, "b", NULL, NULL);
		workspace_add_dependency(&b.list.overrides, rows[i].name, rows[i].spec);
		list_builder_finish(&b, MANAGER_PNPM, &list);
		graph_build(&list, &g);
		cr_expect_eq(has_edge(&g, 1, 0), rows[i].reaches, "%s: %s", rows[i].name,
			     rows[i].spec);
		cr_expect(!has_edge(&g, 0, 1));
		graph_release(&g);
		workspace_list_release(&list);
	}
}

/* A link and its target hold the same files. */
Test(graph, links)
{
	struct list_builder b = LIST_BUILDER_INIT;
	struct workspace_list list;
	struct graph g;

	add(&b, "a", NULL, NULL);
	add(&b, "link", NULL, NULL);
	add(&b, "z", NULL, NULL);
	b.list.items[1].real = xstrdup("packages/a");
	list_builder_finish(&b, MANAGER_PNPM, &list);
	graph_build(&list, &g);
	cr_expect(has_edge(&g, 1, 0));
	cr_expect_eq(g.nedges, 1);
	graph_release(&g);
	workspace_list_release(&list);
}

/* Edges as text, `ab` for a depends on b; nodes are the letters up to the last. */
static void
graph_of(const char *text, struct graph *g)
{
	struct edge edges[64];
	size_t n = 0, nodes = 0;

	for (const char *c = text; *c != '\0'; c++) {
		if (*c == ' ')
			continue;
		if ((size_t)(*c - 'a') + 1 > nodes)
			nodes = (size_t)(*c - 'a') + 1;
		if (c[1] != '\0' && c[1] != ' ') {
			edges[n++] =
			    (struct edge){ (size_t)(*c - 'a'), (size_t)(c[1] - 'a') };
			if ((size_t)(c[1] - 'a') + 1 > nodes)
				nodes = (size_t)(c[1] - 'a') + 1;
			c++;
		}
	}
	graph_from_edges(nodes, edges, n, g);
}

Test(graph, order)
{
	static const struct {
		const char *edges;
		const char *order;
	} rows[] = {
		{ "", "" },
		{ "a", "a" },
		{ "c", "abc" },
		{ "ab bc", "cba" },
		{ "ba cb", "abc" },
		{ "ad", "bcda" },
		{ "ac bc", "cab" },
		{ "ab ba", "ab" },
		{ "ab ba cb", "abc" },
		{ "ab ba ac", "cab" },
		{ "ab bc ca", "acb" },
		{ "aa ab", "ba" },
		{ "ab ab ab", "ba" },
		{ "de ed ad", "bcdea" },
		{ "ab ba cd dc ac", "cdab" },
		{ "bc cb ab", "bca" },
		{ "ab ba c", "abc" },
		{ "bc cb a d", "abcd" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t order[32];
		char text[33] = "";
		struct graph g;

		graph_of(rows[i].edges, &g);
		graph_order(&g, order);
		for (size_t k = 0; k < g.nnodes; k++)
			text[k] = (char)('a' + order[k]);
		cr_expect_str_eq(text, rows[i].order, "%s: %s", rows[i].edges, text);
		graph_release(&g);
	}
}

Test(graph, narrow)
{
	static const struct {
		const char *edges;
		const char *selected;
		const char *left; /* edges, in order */
	} rows[] = {
		{ "ab bc", "abc", "ab bc" },   { "ab bc", "ac", "ac" },
		{ "ab bc cd", "ad", "ad" },    { "ab bc", "b", "" },
		{ "ab ba", "ab", "ba" },       { "ab bc ca", "ac", "ca" },
		{ "ab ac bd cd", "ad", "ad" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t order[32];
		bool selected[32] = { false };
		char text[128] = "";
		struct graph g, narrow;

		graph_of(rows[i].edges, &g);
		graph_order(&g, order);
		for (const char *c = rows[i].selected; *c != '\0'; c++)
			selected[*c - 'a'] = true;
		graph_narrow(&g, order, selected, &narrow);
		for (size_t k = 0; k < narrow.nedges; k++) {
			char one[8];

			(void)snprintf(one, sizeof(one), "%s%c%c", k == 0 ? "" : " ",
				       (char)('a' + narrow.edges[k].from),
				       (char)('a' + narrow.edges[k].to));
			strcat(text, one);
		}
		cr_expect_str_eq(text, rows[i].left, "%s of %s: %s", rows[i].selected,
				 rows[i].edges, text);
		graph_release(&g);
		graph_release(&narrow);
	}
}

Test(graph, dependents)
{
	struct graph g;
	bool set[32] = { false };
	size_t through[32] = { 0 };

	graph_of("ab bc ca dc ee f", &g);
	set[2] = true;
	graph_add_dependents(&g, set, through);
	cr_expect(set[0] && set[1] && set[2] && set[3] && !set[4] && !set[5]);
	cr_expect_eq(through[1], 2);
	cr_expect_eq(through[3], 2);
	cr_expect_eq(through[0], 1);
	graph_add_dependents(&g, set, NULL);
	graph_release(&g);
}

/* Against the definition: a dependency comes later only within a cycle. */
Test(graph, random_orders, .timeout = 60)
{
	unsigned seed = 7;

	for (int round = 0; round < 2000; round++) {
		struct edge edges[40];
		size_t n = 1 + (size_t)(rand_r(&seed) % 12), nedges, order[12], at[12];
		bool reach[12][12] = { { false } };
		struct graph g;

		nedges = (size_t)(rand_r(&seed) % 30);
		for (size_t i = 0; i < nedges; i++) {
			edges[i] = (struct edge){ (size_t)rand_r(&seed) % n,
						  (size_t)rand_r(&seed) % n };
			reach[edges[i].from][edges[i].to] = true;
		}
		for (size_t k = 0; k < n; k++)
			for (size_t i = 0; i < n; i++)
				for (size_t j = 0; j < n; j++)
					if (reach[i][k] && reach[k][j])
						reach[i][j] = true;
		graph_from_edges(n, edges, nedges, &g);
		graph_order(&g, order);
		memset(at, 0xff, sizeof(at));
		for (size_t i = 0; i < n; i++)
			at[order[i]] = i;
		for (size_t i = 0; i < n; i++) {
			cr_assert_lt(at[i], n, "a node is missing");
			for (size_t j = 0; j < n; j++)
				if (reach[i][j] && !reach[j][i])
					cr_assert_lt(at[j], at[i]);
		}
		graph_release(&g);
	}
}

/* Long chains and large cycles take neither stack nor for ever. */
Test(graph, large, .timeout = 60)
{
	enum {
		N = 100000
	};
	struct edge *edges = xreallocarray(NULL, N, sizeof(*edges));
	size_t *order = xreallocarray(NULL, N, sizeof(*order));
	struct graph g;

	for (size_t i = 0; i < N; i++)
		edges[i] = (struct edge){ i, (i + 1) % N };
	graph_from_edges(N, edges, N - 1, &g);
	graph_order(&g, order);
	cr_expect_eq(order[0], N - 1);
	cr_expect_eq(order[N - 1], 0);
	graph_release(&g);
	graph_from_edges(N, edges, N, &g);
	graph_order(&g, order);
	cr_expect_eq(order[0], 0);
	cr_expect_eq(order[1], N - 1);
	graph_release(&g);
	free(edges);
	free(order);
}
