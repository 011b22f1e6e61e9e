/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/aliases.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "supervisor/project/paths.h"

enum {
	LOOKS_MAX = 20000000, /* of a path at a link: a fraction of a second */
	TARGETS = 2	      /* as the link says it, and where that leads in the end */
};

struct link {
	const char *path;
	char *targets[TARGETS]; /* from the top; NULL: none, or not in the tree */
};

/* As the link says it: a link that this one leads through may itself be what changed. */
static char *
target_as_said(const char *root, const char *link, const char *full)
{
	char text[PATH_MAX];
	ssize_t n = readlink(full, text, sizeof(text) - 1);
	const char *slash = strrchr(link, '/');
	const char *below;
	char *dir, *target;

	if (n < 0)
		return NULL;
	text[n] = '\0';
	if (text[0] == '/') {
		below = path_below(root, text);
		return below != NULL ? path_resolve("", below) : NULL;
	}
	dir = slash != NULL ? xstrndup(link, (size_t)(slash - link)) : xstrdup("");
	target = path_resolve(dir, text);
	free(dir);
	return target;
}

static char *
target_in_the_end(const char *root, const char *full)
{
	char *real = realpath(full, NULL);
	const char *below = real != NULL ? path_below(root, real) : NULL;
	char *target = below != NULL ? xstrdup(below) : NULL;

	free(real);
	return target;
}

static void
link_read(const char *root, const char *path, struct link *ret_link)
{
	char *full = xasprintf("%s/%s", root, path);
	struct link l = { .path = path };

	l.targets[0] = target_as_said(root, path, full);
	l.targets[1] = target_in_the_end(root, full);
	if (l.targets[0] != NULL && l.targets[1] != NULL &&
	    strcmp(l.targets[0], l.targets[1]) == 0) {
		free(l.targets[1]);
		l.targets[1] = NULL;
	}
	free(full);
	*ret_link = l;
}

/* Where a changed path is seen through the link, or NULL. */
static char *
seen_through(const struct link *l, const char *path)
{
	size_t i;

	for (i = 0; i < TARGETS; i++) {
		const char *target = l->targets[i];
		size_t n = target != NULL ? strlen(target) : 0;

		if (target == NULL)
			continue;
		if (path_is_within(path, target))
			return path[n] == '\0' ? xstrdup(l->path)
					       : xasprintf("%s/%s", l->path,
							   path + n + (path[n] == '/'));
		/* What it leads through changed as a whole. */
		if (path_is_within(target, path))
			return xstrdup(l->path);
	}
	return NULL;
}

static void
alias_add(struct alias_list *l, char *path, size_t changed)
{
	l->items = xgrow(l->items, l->nitems + 1, &l->room, sizeof(*l->items));
	l->items[l->nitems++] = (struct alias){ path, changed };
}

/* Through one link after the other, through none twice; `looks` are left. */
static void
change_follow(const struct link *links, bool *is_used, size_t nlinks, const char *path,
	      size_t changed, size_t *looks, struct alias_list *into)
{
	size_t next = into->nitems, i;

	memset(is_used, 0, nlinks * sizeof(*is_used));
	for (;;) {
		if (*looks < nlinks) {
			into->is_partial = true;
			return;
		}
		*looks -= nlinks;
		for (i = 0; i < nlinks; i++) {
			char *seen = is_used[i] ? NULL : seen_through(&links[i], path);

			if (seen == NULL)
				continue;
			is_used[i] = true;
			alias_add(into, seen, changed);
		}
		if (next == into->nitems)
			return;
		path = into->items[next++].path;
	}
}

void
aliases_find(const struct tree_key *tree, const char *const *paths, size_t npaths,
	     struct alias_list *ret_list)
{
	struct alias_list list = ALIAS_LIST_INIT;
	struct link *links = xcalloc(tree->nlinks + 1, sizeof(*links));
	bool *is_used = xcalloc(tree->nlinks + 1, sizeof(*is_used));
	char *root = tree->nlinks > 0 ? realpath(tree->root, NULL) : NULL;
	size_t looks = LOOKS_MAX, i, k;

	for (i = 0; i < tree->nlinks; i++)
		link_read(root != NULL ? root : tree->root, tree->links[i], &links[i]);
	for (i = 0; tree->nlinks > 0 && i < npaths && !list.is_partial; i++)
		change_follow(links, is_used, tree->nlinks, paths[i], i, &looks, &list);
	for (i = 0; i < tree->nlinks; i++)
		for (k = 0; k < TARGETS; k++)
			free(links[i].targets[k]);
	free(links);
	free(is_used);
	free(root);
	*ret_list = list;
}

void
alias_list_release(struct alias_list *l)
{
	size_t i;

	for (i = 0; i < l->nitems; i++)
		free(l->items[i].path);
	free(l->items);
	*l = (struct alias_list)ALIAS_LIST_INIT;
}
