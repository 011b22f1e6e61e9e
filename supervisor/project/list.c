/* SPDX-License-Identifier: MIT */
#include "supervisor/project/list.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/paths.h"

static void
workspace_release(struct workspace *w)
{
	size_t i;

	for (i = 0; i < w->ndependencies; i++) {
		free(w->dependencies[i].name);
		free(w->dependencies[i].spec);
	}
	for (i = 0; i < w->nscripts; i++)
		free(w->scripts[i]);
	free(w->dependencies);
	free(w->scripts);
	free(w->path);
	free(w->real);
	free(w->name);
	free(w->version);
	*w = (struct workspace){ .path = NULL };
}

void
list_builder_add(struct list_builder *b, struct workspace *w)
{
	struct workspace_list *l = &b->list;

	if (strcmp(w->path, ".") == 0) {
		workspace_release(&l->root);
		l->root = *w;
	} else {
		l->items = xgrow(l->items, l->nitems + 1, &b->room, sizeof(*l->items));
		l->items[l->nitems++] = *w;
	}
	*w = (struct workspace){ .path = NULL };
}

static int
workspace_compare(const void *a, const void *b)
{
	return strcmp(((const struct workspace *)a)->path,
		      ((const struct workspace *)b)->path);
}

void
list_builder_finish(struct list_builder *b, enum manager manager,
		    struct workspace_list *ret_list)
{
	struct workspace_list *l = &b->list;
	size_t i, n = 0;

	if (l->nitems > 0)
		qsort(l->items, l->nitems, sizeof(*l->items), workspace_compare);
	for (i = 0; i < l->nitems; i++) {
		if (n > 0 && strcmp(l->items[n - 1].path, l->items[i].path) == 0)
			workspace_release(&l->items[i]);
		else
			l->items[n++] = l->items[i];
	}
	l->nitems = n;
	l->manager = n > 0 ? manager : MANAGER_NONE;
	if (l->root.path == NULL) {
		l->root.path = xstrdup(".");
		l->root.name = xstrdup("");
	}
	*ret_list = *l;
	*b = (struct list_builder)LIST_BUILDER_INIT;
}

void
list_builder_release(struct list_builder *b)
{
	workspace_list_release(&b->list);
	b->room = 0;
}

void
workspace_list_release(struct workspace_list *l)
{
	size_t i;

	for (i = 0; i < l->nitems; i++)
		workspace_release(&l->items[i]);
	free(l->items);
	workspace_release(&l->root);
	workspace_release(&l->overrides);
	*l = (struct workspace_list)WORKSPACE_LIST_INIT;
}

long
workspace_list_find(const struct workspace_list *l, const char *path)
{
	size_t low = 0, high = l->nitems;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, l->items[middle].path);

		if (order == 0)
			return (long)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

/* The workspace whose path is the longest directory of `path`. */
static long
owner_by_path(const struct workspace_list *l, const char *path)
{
	char *dir = xstrdup(path);
	long found = workspace_list_find(l, dir);
	char *slash;

	while (found < 0 && (slash = strrchr(dir, '/')) != NULL) {
		*slash = '\0';
		found = workspace_list_find(l, dir);
	}
	free(dir);
	return found;
}

long
workspace_list_owner(const struct workspace_list *l, const char *path)
{
	long found = owner_by_path(l, path);
	size_t i, longest = found < 0 ? 0 : strlen(l->items[found].path);

	for (i = 0; i < l->nitems; i++) {
		const char *real = l->items[i].real;

		if (real != NULL && strlen(real) > longest &&
		    path_is_within(path, real)) {
			longest = strlen(real);
			found = (long)i;
		}
	}
	return found;
}

bool
workspace_has_script(const struct workspace *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->nscripts; i++)
		if (strcmp(w->scripts[i], name) == 0)
			return true;
	return false;
}
