/* SPDX-License-Identifier: MIT */
#include "supervisor/project/edges.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/paths.h"

struct name {
	const char *text;
	size_t workspace;
};

struct finder {
	const struct workspace_list *list;
	struct name *names; /* sorted; a name may be there more than once */
	size_t nnames;
	struct edge_list *into;
	size_t from;	  /* the workspace whose dependencies are read */
	const char *here; /* where the manifest lies that says so */
};

void
edge_list_add(struct edge_list *l, size_t from, size_t to)
{
	l->items = xgrow(l->items, l->nitems + 1, &l->room, sizeof(*l->items));
	l->items[l->nitems++] = (struct edge){ from, to };
}

static int
name_compare(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Edges to every workspace of that name; is there one? */
static bool
add_by_name(struct finder *f, const char *name, size_t n)
{
	size_t low = 0, high = f->nnames, first;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(f->names[middle].text, name, n) >= 0)
			high = middle;
		else
			low = middle + 1;
	}
	for (first = low; low < f->nnames && strncmp(f->names[low].text, name, n) == 0 &&
			  f->names[low].text[n] == '\0';
	     low++)
		edge_list_add(f->into, f->from, f->names[low].workspace);
	return low > first;
}

/* Edges to the workspace at, around or below a path from the root. */
static bool
add_at(struct finder *f, char *path)
{
	bool found = false;
	long owner;
	size_t i;

	if (path == NULL)
		return false;
	owner = workspace_list_owner(f->list, path);
	if (owner >= 0) {
		edge_list_add(f->into, f->from, (size_t)owner);
		found = true;
	} else if (*path != '\0') {
		for (i = 0; i < f->list->nitems; i++) {
			if (!path_is_within(f->list->items[i].path, path))
				continue;
			edge_list_add(f->into, f->from, i);
			found = true;
		}
	}
	free(path);
	return found;
}

static bool
add_by_path(struct finder *f, const char *path)
{
	/* `file://../a` and a query or locator after the path say nothing more. */
	if (strncmp(path, "//", 2) == 0)
		path += 2;
	return add_at(f, path_resolve(f->here, path));
}

/* `name@range`, `@scope/name@range`: the length of the name; 0: there is none. */
static size_t
name_length(const char *spec)
{
	size_t n = *spec == '@' ? 1 : 0;

	n += strcspn(spec + n, "@");
	return n > 1 || (n == 1 && *spec != '@') ? n : 0;
}

static bool
is_path(const char *spec)
{
	return *spec == '.' || *spec == '/';
}

/* After `workspace:`. */
static bool
add_workspace(struct finder *f, const char *name, const char *spec)
{
	size_t n = name_length(spec);
	bool found = false;

	if (spec[n] == '@' && n > 0)
		found = add_by_name(f, spec, n);
	else if (is_path(spec))
		found = add_by_path(f, spec);
	else if (strchr(spec, '/') != NULL) /* Yarn's are seen from the root */
		found = add_at(f, path_resolve("", spec)) || add_by_path(f, spec);
	return found || add_by_name(f, name, strlen(name));
}

/* After `npm:`: another name, or a range of this one. */
static void
add_alias(struct finder *f, const char *name, const char *spec)
{
	size_t n = name_length(spec);

	if (n > 0)
		(void)add_by_name(f, spec, n);
	if (n == 0 || spec[n] != '@')
		(void)add_by_name(f, name, strlen(name));
}

/* After a scheme that is not known: whatever it could mean. */
static void
add_anything(struct finder *f, const char *name, const char *spec)
{
	size_t n = name_length(spec);

	if (n > 0)
		(void)add_by_name(f, spec, n);
	(void)add_by_path(f, spec);
	(void)add_by_name(f, name, strlen(name));
}

static void
add_dependency(struct finder *f, const struct dependency *d, const char *here)
{
	static const char *const paths[] = { "file:", "link:", "portal:" };
	const char *spec = d->spec, *colon = strchr(spec, ':');
	size_t i;

	f->here = here;
	if (strncmp(spec, "workspace:", 10) == 0) {
		(void)add_workspace(f, d->name, spec + 10);
		return;
	}
	if (strncmp(spec, "npm:", 4) == 0) {
		add_alias(f, d->name, spec + 4);
		return;
	}
	if (strncmp(spec, "root:", 5) == 0) {
		(void)add_at(f, path_resolve("", spec + 5));
		return;
	}
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strncmp(spec, paths[i], strlen(paths[i])) == 0 &&
		    add_by_path(f, spec + strlen(paths[i])))
			return;
	if (is_path(spec) && add_by_path(f, spec))
		return;
	add_anything(f, d->name, colon != NULL ? colon + 1 : "");
}

/*
 * What is put in the place of a package reaches every workspace, since which of their
 * packages need it is not known here.  A mere range reaches nobody.
 */
static void
add_overrides(struct finder *f)
{
	const struct workspace *o = &f->list->overrides;
	size_t i;

	for (i = 0; i < o->ndependencies; i++) {
		struct dependency d = o->dependencies[i];
		const char *last = strrchr(d.name, '>');
		const char *slash = strrchr(d.name, '/');

		if (strchr(d.spec, ':') == NULL && !is_path(d.spec))
			continue;
		/* `a>b`, `**\/b` and `a/b` are about b. */
		add_dependency(f, &d, "");
		if (last != NULL)
			(void)add_by_name(f, last + 1, strlen(last + 1));
		if (slash != NULL)
			(void)add_by_name(f, slash + 1, strlen(slash + 1));
	}
}

/* A link shows what its target holds. */
static void
add_real(struct finder *f, const struct workspace *w)
{
	size_t i;

	if (w->real == NULL)
		return;
	for (i = 0; i < f->list->nitems; i++) {
		const struct workspace *other = &f->list->items[i];
		const char *place = other->real != NULL ? other->real : other->path;

		if (path_is_within(w->real, place) || path_is_within(place, w->real))
			edge_list_add(f->into, f->from, i);
	}
}

static void
names_sort(struct finder *f)
{
	const struct workspace_list *l = f->list;
	size_t i;

	f->names = xreallocarray(NULL, l->nitems + 1, sizeof(*f->names));
	for (i = 0; i < l->nitems; i++)
		if (l->items[i].name[0] != '\0')
			f->names[f->nnames++] = (struct name){ l->items[i].name, i };
	qsort(f->names, f->nnames, sizeof(*f->names), name_compare);
}

void
edges_find(const struct workspace_list *l, struct edge_list *into)
{
	struct finder f = { .list = l, .into = into };
	size_t i;

	names_sort(&f);
	for (f.from = 0; f.from < l->nitems; f.from++) {
		const struct workspace *w = &l->items[f.from];

		for (i = 0; i < w->ndependencies; i++)
			add_dependency(&f, &w->dependencies[i], w->path);
		add_overrides(&f);
		add_real(&f, w);
	}
	free(f.names);
}

void
edges_of_root(const struct workspace_list *l, bool *set)
{
	struct edge_list found = EDGE_LIST_INIT;
	struct finder f = { .list = l, .into = &found };
	size_t i;

	names_sort(&f);
	for (i = 0; i < l->root.ndependencies; i++)
		add_dependency(&f, &l->root.dependencies[i], "");
	for (i = 0; i < found.nitems; i++)
		set[found.items[i].to] = true;
	free(found.items);
	free(f.names);
}
