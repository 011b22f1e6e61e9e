/* SPDX-License-Identifier: MIT */
/*
 * Configuration: what geonosis.json says, checked in full and frozen.
 *
 * A tier is a list of items: a step of its own, the name of another tier, or a
 * parallel group of items.  Everything here is owned by `struct config`; others
 * borrow from it for as long as it lives.
 */
#ifndef SUPERVISOR_CONFIG_CONFIG_H
#define SUPERVISOR_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "ipc/error.h"

#define CONFIG_FILE "geonosis.json"

enum {
	CONFIG_TIER_NAME_MAX = 100,
	CONFIG_DEPTH_MAX = 64
};

/* Where something stands in the file, both from 1; column counts bytes. */
struct file_place {
	unsigned line;
	unsigned column;
};

struct string_list {
	char **items;
	size_t nitems;
};

enum step_per {
	STEP_ONCE,
	STEP_PER_WORKSPACE,
	STEP_PER_SHARD,
};

enum step_slots {
	STEP_SLOTS_ONE,	   /* no `slots` key: one slot */
	STEP_SLOTS_NUMBER, /* `slots: n`; 0 is a light step */
	STEP_SLOTS_ALL,	   /* `slots: "all"` */
};

/* One command that a tier declares. */
struct step {
	char *id;   /* `fast/2` */
	char *path; /* `verify.fast[2].parallel[1]`: its place in the file */
	struct file_place place;
	char *command;
	enum step_per per;
	unsigned shards; /* with STEP_PER_SHARD, at least 1 */
	struct string_list exclude;
	char *batch; /* NULL where there is none, as are the other strings */
	struct string_list also;
	bool counts; /* `counts: "vitest-json"` */
	bool graph;  /* `graph: "vitest"` */
	char *turbo;
	bool force;
	char *plant; /* both or neither of plant and expect */
	char *expect;
	bool history;
	bool runner;
	char *failure_mark;
	enum step_slots slots_kind;
	unsigned slots; /* with STEP_SLOTS_NUMBER */
	bool jobserver;
};

enum item_kind {
	ITEM_STEP,
	ITEM_TIER,
	ITEM_GROUP,
};

struct item {
	enum item_kind kind;
	struct step *step;    /* ITEM_STEP: owned */
	size_t tier;	      /* ITEM_TIER: index in config.tiers */
	struct item *members; /* ITEM_GROUP: owned */
	size_t nmembers;
};

struct tier {
	char *name;
	struct file_place place;
	struct item *items; /* owned, at least one */
	size_t nitems;
	int64_t budget_ms; /* -1: none */
};

struct config {
	struct tier *tiers; /* in the order written */
	size_t ntiers;
	unsigned caps_heavy;	      /* 0: none */
	struct string_list documents; /* the default where the file has none */
	struct string_list version_files;
	struct string_list key_env;
	struct string_list key_files;
	struct string_list
	    warnings;	 /* one line each, without `WARN`: for the caller to print */
	struct buf text; /* the file as config_load read it, byte for byte */
};

#define CONFIG_INIT \
	{           \
		0   \
	}

/*
 * Read and check `geonosis.json` in a directory ("." for the working
 * directory).  On failure *err names the place (`geonosis.json:3:14`), the JSON
 * path and what would be right, and *ret_config is untouched.  Where there is no
 * such file and a parent directory holds one, the error says which.
 */
int config_load(const char *dir, struct config *ret_config, struct error *err);
/* The same from text; `name` stands for the file in messages. */
int config_parse(const char *name, const char *text, size_t n, struct config *ret_config,
		 struct error *err);
/*
 * The tier of that name, or NULL with *err listing the tiers that exist and the
 * nearest of them; a NULL name is refused likewise.
 */
const struct tier *config_tier(const struct config *c, const char *name,
			       struct error *err);
/* Does `documents` name the path (relative to the config's directory, none outside)? */
bool config_is_document(const struct config *c, const char *path);
void config_release(struct config *c);

#endif
