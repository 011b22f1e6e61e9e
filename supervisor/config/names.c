/* SPDX-License-Identifier: MIT */
#include "supervisor/config/names.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"

enum {
	HINT_NAMES = 20, /* that are listed */
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			      "0123456789._-";

static int
tier_name_compare(const void *left, const void *right)
{
	const struct tier_name *a = left, *b = right;

	return strcmp(a->name, b->name);
}

struct tier_names
tier_names_of(const struct config *c)
{
	struct tier_names n = { NULL, c->ntiers };

	n.items = xreallocarray(NULL, c->ntiers + 1, sizeof(*n.items));
	for (size_t i = 0; i < c->ntiers; i++)
		n.items[i] = (struct tier_name){ c->tiers[i].name, i };
	qsort(n.items, n.nitems, sizeof(*n.items), tier_name_compare);
	return n;
}

bool
tier_names_find(const struct tier_names *n, const char *name, size_t *ret_tier)
{
	struct tier_name wanted = { name, 0 };
	const struct tier_name *found =
	    bsearch(&wanted, n->items, n->nitems, sizeof(*n->items), tier_name_compare);

	if (found == NULL)
		return false;
	*ret_tier = found->tier;
	return true;
}

void
tier_names_release(struct tier_names *n)
{
	free(n->items);
	*n = (struct tier_names){ NULL, 0 };
}

const char *const tier_names_taken[] = { "prove", "stats", "green", "lint-config", NULL };

const char *
tier_name_fault(const char *name)
{
	size_t n = strlen(name);

	if (n == 0)
		return "it is empty";
	if (n > CONFIG_TIER_NAME_MAX)
		return "it has more than 100 characters";
	if (strspn(name, letters) != n)
		return "it may hold A-Z, a-z, 0-9, \".\", \"_\" and \"-\" only";
	if (strchr("._-", name[0]) != NULL)
		return "it must begin with a letter or a digit";
	if (strstr(name, "..") != NULL)
		return "no git ref can hold \"..\"";
	if (name[n - 1] == '.')
		return "no git ref can end with \".\"";
	if (n >= 5 && strcmp(name + n - 5, ".lock") == 0)
		return "no git ref can end with \".lock\"";
	for (size_t i = 0; tier_names_taken[i] != NULL; i++)
		if (strcmp(name, tier_names_taken[i]) == 0)
			return "\"geonosis verify\" has a command of that name";
	return NULL;
}

char *
tier_names_hint(const struct config *c, const char *name)
{
	struct buf out = BUF_INIT;
	const char **names = xreallocarray(NULL, c->ntiers + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < c->ntiers; i++)
		names[i] = c->tiers[i].name;
	near = text_nearest(name, names, c->ntiers);
	free(names);
	if (near != NULL)
		buf_printf(&out, "did you mean \"%s\"? ", near);
	buf_puts(&out, c->ntiers == 1 ? "the only tier is" : "the tiers are");
	for (size_t i = 0; i < c->ntiers && i < HINT_NAMES; i++)
		buf_printf(&out, "%s %s", i > 0 ? "," : "", c->tiers[i].name);
	if (c->ntiers > HINT_NAMES)
		buf_printf(&out, " and %zu more", c->ntiers - HINT_NAMES);
	return buf_steal(&out);
}
