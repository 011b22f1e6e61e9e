/* SPDX-License-Identifier: MIT */
#include "supervisor/config/print.h"

#include <json-c/json.h>

#include "supervisor/base/json.h"
#include "supervisor/config/keys.h"

static struct json_object *print_items(const struct config *c, const struct item *items,
				       size_t n);

static const void *
print_field(const struct step *s, enum step_key_id id)
{
	return (const char *)s + step_keys[id].offset;
}

static struct json_object *
print_list(const struct string_list *l)
{
	struct json_object *list = js_array();

	for (size_t i = 0; i < l->nitems; i++)
		js_push(list, js_string(l->items[i]));
	return list;
}

static void
print_text(struct json_object *object, const char *name, const char *text)
{
	if (text != NULL)
		js_add_string(object, name, text);
}

static void
print_per(struct json_object *object, const char *name, enum step_per per)
{
	if (per != STEP_ONCE)
		js_add_string(object, name,
			      per == STEP_PER_WORKSPACE ? "workspace" : "shard");
}

static void
print_proves(struct json_object *object, const char *name, const struct step *s)
{
	struct json_object *proves;

	if (s->plant == NULL)
		return;
	proves = js_object();
	js_add_string(proves, "plant", s->plant);
	js_add_string(proves, "expect", s->expect);
	js_add(object, name, proves);
}

static void
print_slots(struct json_object *object, const char *name, const struct step *s)
{
	if (s->slots_kind == STEP_SLOTS_ALL)
		js_add_string(object, name, "all");
	else if (s->slots_kind == STEP_SLOTS_NUMBER)
		js_add_int(object, name, s->slots);
}

/* A key, where the step says something by it. */
static void
print_key(struct json_object *object, const struct step *s, enum step_key_id id)
{
	const struct step_key *key = step_keys + id;
	const void *field = print_field(s, id);

	switch (key->type) {
	case KEY_TEXT:
	case KEY_REGEX:
		print_text(object, key->name, *(char *const *)field);
		break;
	case KEY_FLAG:
		if (*(const bool *)field)
			js_add_bool(object, key->name, true);
		break;
	case KEY_WORD:
		if (*(const bool *)field)
			js_add_string(object, key->name, key->word);
		break;
	case KEY_PER:
		print_per(object, key->name, s->per);
		break;
	case KEY_SHARDS:
		if (s->shards > 0)
			js_add_int(object, key->name, s->shards);
		break;
	case KEY_PATHS:
		if (((const struct string_list *)field)->nitems > 0)
			js_add(object, key->name, print_list(field));
		break;
	case KEY_PROVES:
		print_proves(object, key->name, s);
		break;
	case KEY_SLOTS:
		print_slots(object, key->name, s);
		break;
	}
}

static struct json_object *
print_step(const struct step *s)
{
	struct json_object *object = js_object();

	for (int id = 0; id < STEP_KEYS; id++)
		print_key(object, s, (enum step_key_id)id);
	if (json_object_object_length(object) > 1)
		return object;
	/* Nothing but a command: a string nests no deeper than what was read. */
	json_object_put(object);
	return js_string(s->command);
}

static struct json_object *
print_item(const struct config *c, const struct item *item)
{
	struct json_object *object;

	switch (item->kind) {
	case ITEM_STEP:
		return print_step(item->step);
	case ITEM_TIER:
		return js_string(c->tiers[item->tier].name);
	case ITEM_GROUP:
		break;
	}
	object = js_object();
	js_add(object, "parallel", print_items(c, item->members, item->nmembers));
	return object;
}

static struct json_object *
print_items(const struct config *c, const struct item *items, size_t n)
{
	struct json_object *list = js_array();

	for (size_t i = 0; i < n; i++)
		js_push(list, print_item(c, items + i));
	return list;
}

static void
print_tiers(struct json_object *root, const struct config *c)
{
	struct json_object *verify = js_object(), *budgets = js_object();

	for (size_t i = 0; i < c->ntiers; i++) {
		const struct tier *t = c->tiers + i;

		js_add(verify, t->name, print_items(c, t->items, t->nitems));
		if (t->budget_ms > 0)
			js_add_int(budgets, t->name, t->budget_ms);
	}
	js_add(root, root_keys[ROOT_VERIFY].name, verify);
	js_add(root, root_keys[ROOT_BUDGETS].name, budgets);
}

void
config_print(const struct config *c, struct buf *out)
{
	struct json_object *root = js_object(), *caps = js_object();

	print_tiers(root, c);
	if (c->caps_heavy > 0)
		js_add_int(caps, "heavy", c->caps_heavy);
	js_add(root, root_keys[ROOT_CAPS].name, caps);
	js_add(root, root_keys[ROOT_DOCUMENTS].name, print_list(&c->documents));
	js_add(root, root_keys[ROOT_VERSION_FILES].name, print_list(&c->version_files));
	js_add(root, root_keys[ROOT_KEY_ENV].name, print_list(&c->key_env));
	js_add(root, root_keys[ROOT_KEY_FILES].name, print_list(&c->key_files));
	js_write(root, JS_PRETTY, out);
	json_object_put(root);
}
