/* SPDX-License-Identifier: MIT */
/*
 * Keys: what geonosis.json knows, as tables.  Reading, refusing, printing and the
 * JSON Schema all follow them; a new key of a step is a row here and a field in
 * struct step.
 */
#ifndef SUPERVISOR_CONFIG_KEYS_H
#define SUPERVISOR_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum step_key_id {
	STEP_COMMAND,
	STEP_PER,
	STEP_EXCLUDE,
	STEP_SHARDS,
	STEP_BATCH,
	STEP_ALSO,
	STEP_COUNTS,
	STEP_GRAPH,
	STEP_TURBO,
	STEP_FORCE,
	STEP_PROVES,
	STEP_HISTORY,
	STEP_RUNNER,
	STEP_FAILURE_MARK,
	STEP_SLOTS,
	STEP_JOBSERVER,
	STEP_KEYS
};

enum key_type {
	KEY_TEXT,   /* char *: not blank */
	KEY_REGEX,  /* char *: compiles, not empty */
	KEY_FLAG,   /* bool */
	KEY_WORD,   /* bool: whether the key has its one word */
	KEY_PER,    /* enum step_per */
	KEY_SHARDS, /* unsigned */
	KEY_PATHS,  /* struct string_list: globs, a final slash allowed */
	KEY_PROVES, /* char *plant, then char *expect */
	KEY_SLOTS,  /* enum step_slots, then unsigned */
};

enum {
	SHARDS_MAX = 100000, /* as many as a plan may have jobs */
	SLOTS_MAX = 1000000,
	HEAVY_MAX = 1000000,
};

/* 2^53: as far as every reader of JSON is exact. */
#define BUDGET_MAX (INT64_C(1) << 53)

struct step_key {
	const char *name;
	enum key_type type;
	size_t offset;	  /* in struct step */
	const char *word; /* of KEY_WORD */
	const char *about;
};

extern const struct step_key step_keys[STEP_KEYS];

/* `key` (with that value, where one is named) means nothing without `needs`. */
struct step_rule {
	enum step_key_id key;
	const char *value;
	enum step_key_id needs;
	const char *needs_value;
	const char *why;
};

extern const struct step_rule step_rules[];
extern const size_t nstep_rules;

/* Keys of steps that are light (`slots: 0`) where they need slots to work with. */
struct step_light_rule {
	enum step_key_id key;
	const char *why;
};

extern const struct step_light_rule step_light_rules[];
extern const size_t nstep_light_rules;

enum root_key_id {
	ROOT_VERIFY,
	ROOT_BUDGETS,
	ROOT_CAPS,
	ROOT_DOCUMENTS,
	ROOT_VERSION_FILES,
	ROOT_KEY_ENV,
	ROOT_KEY_FILES,
	ROOT_KEYS
};

struct root_key {
	const char *name;
	const char *about;
};

extern const struct root_key root_keys[ROOT_KEYS];

/* The row of that name, or STEP_KEYS, ROOT_KEYS. */
enum step_key_id step_key_find(const char *name);
enum root_key_id root_key_find(const char *name);
/* The known key that was probably meant, or NULL. */
const char *step_key_nearest(const char *name);
const char *root_key_nearest(const char *name);

#endif
