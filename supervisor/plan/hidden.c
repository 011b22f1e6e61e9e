/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/hidden.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

/* Parts of files, sorted by name; borrowed. */
struct file_parts {
	const struct mark_part **items;
	size_t n;
};

static int
part_compare(const void *a, const void *b)
{
	const struct mark_part *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int
path_compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static struct file_parts
file_parts_of(const struct mark_parts *parts)
{
	struct file_parts f = { .items = xcalloc(parts->n + 1, sizeof(*f.items)) };
	size_t i;

	for (i = 0; i < parts->n; i++)
		if (mark_part_is_of_file(&parts->items[i]))
			f.items[f.n++] = &parts->items[i];
	if (f.n > 1)
		qsort(f.items, f.n, sizeof(*f.items), part_compare);
	return f;
}

static bool
has_same(const struct file_parts *f, const struct mark_part *part)
{
	const struct mark_part **found =
	    f->n == 0 ? NULL
		      : bsearch(&part, f->items, f->n, sizeof(*f->items), part_compare);

	return found != NULL && strcmp((*found)->value, part->value) == 0;
}

/* Behind the first `known`, which are sorted. */
static void
path_add(struct changed *c, size_t known, const char *path)
{
	if (known > 0 &&
	    bsearch(&path, c->paths, known, sizeof(*c->paths), path_compare) != NULL)
		return;
	c->paths = xreallocarray(c->paths, c->npaths + 1, sizeof(*c->paths));
	c->paths[c->npaths++] = xstrdup(path);
}

static void
differing_add(const struct file_parts *these, const struct file_parts *those,
	      struct changed *c, size_t known)
{
	size_t i;

	for (i = 0; i < these->n; i++)
		if (!has_same(those, these->items[i]))
			path_add(c, known,
				 these->items[i]->name + strlen(MARK_PART_FILE));
}

void
hidden_add(const struct mark_parts *before, const struct mark_parts *now,
	   struct changed *changed)
{
	struct file_parts a = file_parts_of(before), b = file_parts_of(now);
	size_t known = changed->npaths;

	differing_add(&a, &b, changed, known);
	differing_add(&b, &a, changed, known);
	if (changed->npaths > known)
		changed->npaths = changed_settle(changed->paths, changed->npaths);
	free(a.items);
	free(b.items);
}
