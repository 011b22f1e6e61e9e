/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the manifests of a repository, by each manager's rules, over directories
 * that lie in memory: refused with a text, or a list of which all that is promised holds.
 * The first byte chooses the manager, a NUL parts the root's manifest from the members'.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/graph.h"
#include "supervisor/project/source.h"
#include "supervisor/project/version_cut.h"
#include "supervisor/project/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const directories[] = {
	"p", "p/a", "p/a/b", "p/.c", "q", "q/a", "p/node_modules", "p/node_modules/m"
};

struct tree {
	const char *root;
	size_t nroot;
	const char *member;
	size_t nmember;
	unsigned char manager;
};

static bool
is_directory(const char *path)
{
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strcmp(directories[i], path) == 0)
			return true;
	return *path == '\0';
}

static const char *
root_file(const struct tree *t)
{
	return t->manager % 5 == 0 ? "pnpm-workspace.yaml" : "package.json";
}

static bool
is_lock(const struct tree *t, const char *path)
{
	static const char *const locks[] = { "", "package-lock.json", ".yarnrc.yml",
					     "bun.lock", "yarn.lock" };

	return t->manager % 5 != 0 && strcmp(path, locks[t->manager % 5]) == 0;
}

static enum source_kind
tree_kind(void *ctx, const char *path)
{
	const struct tree *t = ctx;
	const char *slash = strrchr(path, '/');
	char *dir;
	bool is;

	if (is_directory(path))
		return SOURCE_DIRECTORY;
	if (slash == NULL)
		return strcmp(path, root_file(t)) == 0 || is_lock(t, path) ? SOURCE_FILE
									   : SOURCE_NONE;
	dir = xstrndup(path, (size_t)(slash - path));
	is = is_directory(dir) && strcmp(slash, "/package.json") == 0;
	free(dir);
	return is ? SOURCE_FILE : SOURCE_NONE;
}

static int
tree_list(void *ctx, const char *dir, source_entry_fn *entry, void *entry_ctx,
	  struct error *err)
{
	size_t n = strlen(dir);

	(void)ctx;
	(void)err;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		const char *d = directories[i];

		if (n > 0 && (strncmp(d, dir, n) != 0 || d[n] != '/'))
			continue;
		d += n > 0 ? n + 1 : 0;
		if (*d != '\0' && strchr(d, '/') == NULL)
			entry(entry_ctx, d, SOURCE_DIRECTORY);
	}
	return 0;
}

static int
tree_read(void *ctx, const char *path, size_t max, struct buf *ret_content,
	  struct error *err)
{
	const struct tree *t = ctx;

	(void)max;
	if (tree_kind(ctx, path) != SOURCE_FILE)
		return error_set(err, ERROR_DATA, "%s: not there", path);
	if (strcmp(path, root_file(t)) == 0)
		buf_append(ret_content, t->root, t->nroot);
	else if (strcmp(path, "yarn.lock") == 0)
		buf_puts(ret_content, "# yarn lockfile v1");
	else if (!is_lock(t, path))
		buf_append(ret_content, t->member, t->nmember);
	return 0;
}

static char *
tree_real(void *ctx, const char *path)
{
	(void)ctx;
	return xstrdup(path);
}

static void
list_check(const struct workspace_list *l)
{
	struct graph g;
	size_t *order = xcalloc(l->nitems + 1, sizeof(*order));

	for (size_t i = 0; i < l->nitems; i++) {
		if (l->items[i].name == NULL || l->items[i].path[0] == '\0' ||
		    strstr(l->items[i].path, "node_modules") != NULL ||
		    !is_directory(l->items[i].path))
			abort();
		if (i > 0 && strcmp(l->items[i - 1].path, l->items[i].path) >= 0)
			abort();
		if (workspace_list_owner(l, l->items[i].path) != (long)i)
			abort();
	}
	graph_build(l, &g);
	graph_order(&g, order);
	graph_release(&g);
	free(order);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct tree t = { .manager = size > 0 ? data[0] : 0 };
	const struct source from = { &t, tree_kind, tree_list, tree_read, tree_real };
	struct workspace_list list;
	struct error err = ERROR_INIT;
	const char *cut;

	if (size == 0)
		return 0;
	size--;
	cut = memchr(text, '\0', size);
	t.root = text;
	t.nroot = cut != NULL ? (size_t)(cut - text) : size;
	t.member = cut != NULL ? cut + 1 : "{}";
	t.nmember = cut != NULL ? size - t.nroot - 1 : 2;
	if (workspace_list_read(&from, &list, &err) == 0) {
		list_check(&list);
		workspace_list_release(&list);
	} else if (err.text[0] == '\0') {
		abort();
	}
	(void)manifest_differs_in_version_only(t.root, t.nroot, t.member, t.nmember);
	(void)text_differs_in_versions_only(t.root, t.nroot, t.member, t.nmember);
	return 0;
}
