/* SPDX-License-Identifier: MIT */
#include "supervisor/config/tiers.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/config/cycle.h"
#include "supervisor/config/field.h"
#include "supervisor/config/keys.h"
#include "supervisor/config/step.h"

struct tiers_reader {
	const struct document *d;
	struct config *c;
	struct tier_names names;
	struct tier_edges edges;
	size_t tier;	  /* the one that is read */
	size_t ncommands; /* of it, so far */
};

static int items_read(struct tiers_reader *r, size_t list, const char *what,
		      struct item **ret_items, size_t *ret_nitems, struct error *err);

static void
item_release(struct item *item)
{
	if (item->step != NULL)
		step_release(item->step);
	free(item->step);
	for (size_t i = 0; i < item->nmembers; i++)
		item_release(item->members + i);
	free(item->members);
}

void
tier_release(struct tier *t)
{
	for (size_t i = 0; i < t->nitems; i++)
		item_release(t->items + i);
	free(t->items);
	free(t->name);
}

/* Give a step its id and make it an item. */
static void
item_take_step(struct tiers_reader *r, struct step step, struct item *ret_item)
{
	const char *tier = r->c->tiers[r->tier].name;
	struct step *s = xmalloc(sizeof(*s));

	*s = step;
	s->id = xasprintf("%s/%zu", tier, ++r->ncommands);
	*ret_item = (struct item){ .kind = ITEM_STEP, .step = s };
}

static void
item_take_tier(struct tiers_reader *r, size_t value, size_t tier, struct item *ret_item)
{
	tier_edges_add(&r->edges, r->tier, tier, value);
	*ret_item = (struct item){ .kind = ITEM_TIER, .tier = tier };
}

static int
item_read_string(struct tiers_reader *r, size_t value, struct item *ret_item,
		 struct error *err)
{
	char *command;
	size_t tier;

	if (field_command(r->d, value, "a command or the name of a tier", &command,
			  err) != 0)
		return -1;
	if (tier_names_find(&r->names, command, &tier)) {
		free(command);
		item_take_tier(r, value, tier, ret_item);
	} else
		item_take_step(r, step_plain(r->d, value, command), ret_item);
	return 0;
}

static int
item_read_step(struct tiers_reader *r, size_t value, struct item *ret_item,
	       struct error *err)
{
	size_t tier, member = document_first(r->d, value);
	struct step step;

	if (step_read(r->d, value, &step, err) != 0)
		return -1;
	if (!tier_names_find(&r->names, step.command, &tier)) {
		item_take_step(r, step, ret_item);
		return 0;
	}
	step_release(&step);
	if (document_next(r->d, member) == 0) {
		item_take_tier(r, value, tier, ret_item);
		return 0;
	}
	if (strcmp(document_key(r->d, member), "command") == 0)
		member = document_next(r->d, member);
	return document_refuse_key(
	    r->d, member, err,
	    "\"%s\" is a tier, not one command: this key belongs to its steps",
	    r->c->tiers[tier].name);
}

static int
item_read_group(struct tiers_reader *r, size_t value, size_t parallel,
		struct item *ret_item, struct error *err)
{
	const struct document *d = r->d;
	struct item group = { .kind = ITEM_GROUP };

	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at))
		if (at != parallel)
			return document_refuse_key(d, at, err,
						   "a group has \"parallel\" and no "
						   "other key: give it to a step");
	if (items_read(r, parallel, "group", &group.members, &group.nmembers, err) != 0)
		return -1;
	*ret_item = group;
	return 0;
}

static int
item_read(struct tiers_reader *r, size_t value, struct item *ret_item, struct error *err)
{
	const struct document *d = r->d;

	if (document_kind(d, value) == SCAN_STRING)
		return item_read_string(r, value, ret_item, err);
	if (document_kind(d, value) != SCAN_OBJECT)
		return document_refuse(d, value, err,
				       "%s where a step is due: a command, the name of a "
				       "tier, or an object with \"command\" or "
				       "\"parallel\"",
				       field_kind(d, value));
	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at))
		if (strcmp(document_key(d, at), "parallel") == 0)
			return item_read_group(r, value, at, ret_item, err);
	return item_read_step(r, value, ret_item, err);
}

static size_t
document_count(const struct document *d, size_t value)
{
	size_t n = 0;

	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at))
		n++;
	return n;
}

/* The steps of a tier or a group.  On failure the outputs are untouched. */
static int
items_read(struct tiers_reader *r, size_t list, const char *what, struct item **ret_items,
	   size_t *ret_nitems, struct error *err)
{
	const struct document *d = r->d;
	struct item all = { .kind = ITEM_GROUP };
	size_t n;

	if (document_kind(d, list) != SCAN_ARRAY)
		return document_refuse(d, list, err,
				       "%s where the list of a %s's steps is due",
				       field_kind(d, list), what);
	n = document_count(d, list);
	if (n == 0)
		return document_refuse(d, list, err, "an empty %s measures nothing",
				       what);
	all.members = xcalloc(n, sizeof(*all.members));
	for (size_t at = document_first(d, list); at != 0; at = document_next(d, at)) {
		if (item_read(r, at, all.members + all.nmembers, err) != 0) {
			item_release(&all);
			return -1;
		}
		all.nmembers++;
	}
	*ret_items = all.members;
	*ret_nitems = all.nmembers;
	return 0;
}

/* Names first: whether a string is a command or a tier depends on all of them. */
static int
tiers_read_names(struct tiers_reader *r, size_t verify, struct error *err)
{
	const struct document *d = r->d;
	struct config *c = r->c;

	c->tiers = xcalloc(document_count(d, verify) + 1, sizeof(*c->tiers));
	for (size_t at = document_first(d, verify); at != 0; at = document_next(d, at)) {
		const char *name = document_key(d, at), *fault = tier_name_fault(name);
		char *shown;

		if (fault != NULL) {
			shown = field_quote(name);
			(void)document_refuse_key(d, at, err,
						  "%s cannot be the name of a tier: %s",
						  shown, fault);
			free(shown);
			return -1;
		}
		c->tiers[c->ntiers++] = (struct tier){
			.name = xstrdup(name),
			.place = d->scan.values[at].key_place,
			.budget_ms = -1,
		};
	}
	return 0;
}

static int
tiers_read_items(struct tiers_reader *r, size_t verify, struct error *err)
{
	const struct document *d = r->d;
	struct tier *t = r->c->tiers;

	for (size_t at = document_first(d, verify); at != 0; at = document_next(d, at)) {
		r->ncommands = 0;
		if (items_read(r, at, "tier", &t->items, &t->nitems, err) != 0)
			return -1;
		r->tier++;
		t++;
	}
	return 0;
}

int
tiers_read(const struct document *d, size_t verify, struct config *c,
	   struct tier_names *ret_names, struct error *err)
{
	struct tiers_reader r = { .d = d, .c = c };
	int rc = -1;

	if (document_kind(d, verify) != SCAN_OBJECT)
		return document_refuse(d, verify, err,
				       "%s where the object of the tiers is due: "
				       "{ \"fast\": [\"a command\"] }",
				       field_kind(d, verify));
	if (document_first(d, verify) == 0)
		return document_refuse(
		    d, verify, err,
		    "declares no tier: { \"fast\": [\"a command\"] } is one");
	if (tiers_read_names(&r, verify, err) != 0)
		return -1;
	r.names = tier_names_of(c);
	if (tiers_read_items(&r, verify, err) != 0 ||
	    tier_edges_check(&r.edges, d, c, err) != 0)
		goto out;
	*ret_names = r.names;
	r.names = (struct tier_names){ NULL, 0 };
	rc = 0;
out:
	tier_names_release(&r.names);
	tier_edges_release(&r.edges);
	return rc;
}
