/* SPDX-License-Identifier: MIT */
/*
 * Key: everything that a tier's verdict may depend on, in one hexadecimal string.
 *
 * The tree (git/tree_key.h), the directory of the config within it, the config, the
 * values of `keyEnv`, the contents of `keyFiles`, the flags that matter, the tier, and
 * geonosis' version.  Two runs with one key may stand for each other.  Where there is no
 * repository there is no key.
 */
#ifndef SUPERVISOR_GREEN_KEY_H
#define SUPERVISOR_GREEN_KEY_H

#include <stdbool.h>

#include "git/digest.h"
#include "git/mark_parts.h"
#include "git/tree_key.h"
#include "ipc/error.h"
#include "supervisor/config/config.h"

/* The parts that no diff of the tree shows, each a digest. */
enum key_part {
	KEY_PART_ENVIRONMENT, /* keyEnv */
	KEY_PART_FILES,	      /* keyFiles */
	KEY_PART_INSTALL,
	KEY_PART_CONFIG,
	KEY_PART_SUBMODULES, /* which of them are not checked out */
	KEY_NPARTS,
};

struct key {
	bool is_there;	    /* false: no key, `why` says why */
	bool is_unreadable; /* there is a repository, or a keyFile, that cannot be read */
	char hex[DIGEST_HEX_SIZE]; /* "" where there is none */
	char parts[KEY_NPARTS][DIGEST_HEX_SIZE];
	char *why;
	struct tree_key tree;
};

#define KEY_INIT                  \
	{                         \
		.is_there = false \
	}

/* The name of a part, for people and for records: "keyEnv", "keyFiles", … */
const char *key_part_name(enum key_part part);

/*
 * The key of a tier of the working directory's config.  `flags` is the text of the flags
 * that matter ("--affected --require-work"), "" for none; `version` is the program's.
 * Fails where the repository or a keyFile cannot be read; then *ret_key is no key and its
 * `why` says what *err does.
 */
int key_compute(const struct config *c, const char *tier, const char *flags,
		const char *version, struct key *ret_key, struct error *err);
/* What the key of the same tree is with other flags. */
int key_with_flags(const struct key *k, const char *tier, const char *flags,
		   const char *version, char ret_hex[DIGEST_HEX_SIZE], struct error *err);
/*
 * The parts as a mark keeps them, and those of the single files that git takes for
 * others; released by the caller.
 */
void key_to_parts(const struct key *k, struct mark_parts *ret_parts);
void key_release(struct key *k);

#endif
