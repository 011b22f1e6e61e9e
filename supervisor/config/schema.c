/* SPDX-License-Identifier: MIT */
#include "supervisor/config/schema.h"

#include <json-c/json.h>
#include <stdint.h>

#include "supervisor/base/json.h"
#include "supervisor/config/config.h"
#include "supervisor/config/keys.h"
#include "supervisor/config/names.h"

static struct json_object *
schema_type(const char *type, const char *about)
{
	struct json_object *schema = js_object();

	js_add_string(schema, "type", type);
	if (about != NULL)
		js_add_string(schema, "description", about);
	return schema;
}

static struct json_object *
schema_text(const char *about)
{
	struct json_object *schema = schema_type("string", about);

	js_add_string(schema, "pattern", "\\S");
	return schema;
}

/* A line of it is neither blank nor a comment. */
static struct json_object *
schema_shell(const char *about)
{
	struct json_object *schema = schema_type("string", about);

	js_add_string(schema, "pattern", "(^|\\n)[ \\t\\r]*[^\\s#]");
	return schema;
}

static struct json_object *
schema_pattern(const char *pattern)
{
	struct json_object *schema = js_object();

	js_add_string(schema, "pattern", pattern);
	return schema;
}

static struct json_object *
schema_number(int64_t min, int64_t max, const char *about)
{
	struct json_object *schema = schema_type("integer", about);

	js_add_int(schema, "minimum", min);
	js_add_int(schema, "maximum", max);
	return schema;
}

static struct json_object *
schema_list(const char *about, struct json_object *item)
{
	struct json_object *schema = schema_type("array", about);

	js_add(schema, "items", item);
	return schema;
}

static struct json_object *
schema_ref(const char *ref)
{
	struct json_object *schema = js_object();

	js_add_string(schema, "$ref", ref);
	return schema;
}

/* One of two words, or of one where the other is NULL. */
static struct json_object *
schema_words(const char *a, const char *b, const char *about)
{
	struct json_object *schema = schema_type("string", about), *words = js_array();

	js_push(words, js_string(a));
	if (b != NULL)
		js_push(words, js_string(b));
	js_add(schema, "enum", words);
	return schema;
}

static struct json_object *
schema_names(const char *a, const char *b)
{
	struct json_object *names = js_array();

	js_push(names, js_string(a));
	if (b != NULL)
		js_push(names, js_string(b));
	return names;
}

static struct json_object *
schema_proves(const char *about)
{
	struct json_object *schema = schema_type("object", about);
	struct json_object *properties = js_object();

	js_add(schema, "required", schema_names("plant", "expect"));
	js_add(properties, "plant", schema_shell("A command that plants a fault."));
	js_add(properties, "expect", schema_text("The text that tells it was seen."));
	js_add(schema, "properties", properties);
	js_add_bool(schema, "additionalProperties", false);
	return schema;
}

static struct json_object *
schema_slots(const char *about)
{
	struct json_object *schema = js_object(), *any = js_array();

	js_add_string(schema, "description", about);
	js_push(any, schema_number(0, SLOTS_MAX, NULL));
	js_push(any, schema_words("all", NULL, NULL));
	js_add(schema, "anyOf", any);
	return schema;
}

static struct json_object *
schema_key(const struct step_key *key)
{
	struct json_object *schema;

	switch (key->type) {
	case KEY_TEXT:
		if (key != &step_keys[STEP_TURBO])
			return schema_shell(key->about);
		schema = schema_text(key->about);
		js_add(schema, "not", schema_pattern("^-"));
		return schema;
	case KEY_REGEX:
		schema = schema_type("string", key->about);
		js_add_int(schema, "minLength", 1);
		return schema;
	case KEY_FLAG:
		return schema_type("boolean", key->about);
	case KEY_WORD:
		return schema_words(key->word, NULL, key->about);
	case KEY_PER:
		return schema_words("workspace", "shard", key->about);
	case KEY_SHARDS:
		return schema_number(1, SHARDS_MAX, key->about);
	case KEY_PATHS:
		return schema_list(key->about, schema_text(NULL));
	case KEY_PROVES:
		return schema_proves(key->about);
	case KEY_SLOTS:
		return schema_slots(key->about);
	}
	return js_object();
}

/* Holds where the key is there with that value: any, for NULL, but false. */
static struct json_object *
schema_has(enum step_key_id id, struct json_object *value)
{
	struct json_object *schema = js_object(), *properties, *constant;

	js_add(schema, "required", schema_names(step_keys[id].name, NULL));
	if (value == NULL && step_keys[id].type == KEY_FLAG)
		value = json_object_new_boolean(true);
	if (value == NULL)
		return schema;
	properties = js_object();
	constant = js_object();
	js_add(constant, "const", value);
	js_add(properties, step_keys[id].name, constant);
	js_add(schema, "properties", properties);
	return schema;
}

static struct json_object *
schema_value(const char *value)
{
	return value != NULL ? js_string(value) : NULL;
}

static struct json_object *
schema_rules(void)
{
	struct json_object *all = js_array();

	for (size_t i = 0; i < nstep_rules; i++) {
		const struct step_rule *r = step_rules + i;
		struct json_object *rule = js_object();

		js_add(rule, "if", schema_has(r->key, schema_value(r->value)));
		js_add(rule, "then", schema_has(r->needs, schema_value(r->needs_value)));
		js_push(all, rule);
	}
	for (size_t i = 0; i < nstep_light_rules; i++) {
		struct json_object *rule = js_object(), *none = js_object();

		js_add(rule, "if", schema_has(step_light_rules[i].key, NULL));
		js_add(none, "not", schema_has(STEP_SLOTS, json_object_new_int(0)));
		js_add(rule, "then", none);
		js_push(all, rule);
	}
	return all;
}

static struct json_object *
schema_command(void)
{
	struct json_object *schema = schema_type("object", "A command and how it runs.");
	struct json_object *properties = js_object();

	for (size_t i = 0; i < STEP_KEYS; i++)
		js_add(properties, step_keys[i].name, schema_key(step_keys + i));
	js_add(schema, "required", schema_names(step_keys[STEP_COMMAND].name, NULL));
	js_add(schema, "properties", properties);
	js_add_bool(schema, "additionalProperties", false);
	js_add(schema, "allOf", schema_rules());
	return schema;
}

static struct json_object *
schema_steps(const char *about)
{
	struct json_object *schema = schema_type("array", about);

	js_add_int(schema, "minItems", 1);
	js_add(schema, "items", schema_ref("#/$defs/step"));
	return schema;
}

static struct json_object *
schema_group(void)
{
	struct json_object *schema = schema_type("object", "Steps that run at once.");
	struct json_object *properties = js_object();

	js_add(properties, "parallel", schema_steps(NULL));
	js_add(schema, "required", schema_names("parallel", NULL));
	js_add(schema, "properties", properties);
	js_add_bool(schema, "additionalProperties", false);
	return schema;
}

static struct json_object *
schema_step(void)
{
	struct json_object *schema = js_object(), *any = js_array();

	js_push(any, schema_shell("A shell command, or exactly the name of a tier."));
	js_push(any, schema_ref("#/$defs/command"));
	js_push(any, schema_ref("#/$defs/group"));
	js_add(schema, "anyOf", any);
	return schema;
}

static struct json_object *
schema_tier_name(void)
{
	struct json_object *schema = schema_pattern("^[A-Za-z0-9][A-Za-z0-9._-]*$");
	struct json_object *not = js_object(), *any = js_array(), *words = js_object(),
			   *taken = js_array();

	for (size_t i = 0; tier_names_taken[i] != NULL; i++)
		js_push(taken, js_string(tier_names_taken[i]));
	js_add(words, "enum", taken);
	js_push(any, words);
	js_push(any, schema_pattern("\\.\\.|\\.$|\\.lock$"));
	js_add(not, "anyOf", any);
	js_add(schema, "not", not );
	js_add_int(schema, "maxLength", CONFIG_TIER_NAME_MAX);
	return schema;
}

static struct json_object *
schema_tiers(const char *about)
{
	struct json_object *schema = schema_type("object", about);

	js_add_int(schema, "minProperties", 1);
	js_add(schema, "propertyNames", schema_tier_name());
	js_add(schema, "additionalProperties", schema_steps("The steps of a tier."));
	return schema;
}

static struct json_object *
schema_caps(const char *about)
{
	struct json_object *schema = schema_type("object", about);
	struct json_object *properties = js_object();

	js_add(properties, "heavy",
	       schema_number(1, HEAVY_MAX, "How many steps may run at once."));
	js_add(schema, "properties", properties);
	js_add_bool(schema, "additionalProperties", false);
	return schema;
}

static struct json_object *
schema_root_key(enum root_key_id id)
{
	const char *about = root_keys[id].about;
	struct json_object *schema, *item;

	switch (id) {
	case ROOT_VERIFY:
		return schema_tiers(about);
	case ROOT_BUDGETS:
		schema = schema_type("object", about);
		js_add(schema, "additionalProperties",
		       schema_number(1, BUDGET_MAX, NULL));
		return schema;
	case ROOT_CAPS:
		return schema_caps(about);
	case ROOT_KEY_ENV:
		item = schema_text(NULL);
		js_add(item, "not", schema_pattern("[= \\t\\n]"));
		return schema_list(about, item);
	case ROOT_KEY_FILES:
		item = schema_text(NULL);
		js_add(item, "not", schema_pattern("^/"));
		return schema_list(about, item);
	case ROOT_DOCUMENTS:
	case ROOT_VERSION_FILES:
	case ROOT_KEYS:
		break;
	}
	return schema_list(about, schema_text(NULL));
}

void
config_schema(struct buf *out)
{
	struct json_object *root = js_object(), *properties = js_object(),
			   *defs = js_object();

	for (int id = 0; id < ROOT_KEYS; id++)
		js_add(properties, root_keys[id].name,
		       schema_root_key((enum root_key_id)id));
	js_add(defs, "step", schema_step());
	js_add(defs, "command", schema_command());
	js_add(defs, "group", schema_group());
	js_add_string(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
	js_add_string(root, "title", CONFIG_FILE);
	js_add_bool(root, "allowTrailingCommas", true);
	js_add_string(root, "type", "object");
	js_add(root, "required", schema_names(root_keys[ROOT_VERIFY].name, NULL));
	js_add(root, "properties", properties);
	js_add(root, "$defs", defs);
	js_write(root, JS_PRETTY, out);
	json_object_put(root);
}
