/* SPDX-License-Identifier: MIT */
/*
 * Repositories, opened for questions about their history.
 *
 * Made from a tree's key, which has found the repository, judged its owner and scanned
 * the tree already.  Nothing is asked of git here, and objects are opened when first
 * read.
 */
#ifndef GIT_REPOSITORY_H
#define GIT_REPOSITORY_H

#include <stdbool.h>

#include "git/digest.h"
#include "git/objects.h"
#include "git/place.h"
#include "git/settings.h"
#include "git/tree_key.h"
#include "ipc/error.h"

struct repository {
	const struct tree_key *key;
	struct place place; /* its strings are the key's */
	struct settings settings;
	struct objects *objects;
	bool is_shallow; /* its history is cut off somewhere */
};

#define REPOSITORY_INIT                                \
	{                                              \
		.key = NULL, .settings = SETTINGS_INIT \
	}

/*
 * The key's state is TREE_FOUND; the key is borrowed and outlives the repository.
 */
int repository_open(const struct tree_key *k, struct repository *ret_repository,
		    struct error *err);
void repository_release(struct repository *r);

/*
 * Where a directory lies in the working tree: "" for its top, else `a/b`, to be freed.
 * NULL with *err where it is not in it.
 */
char *repository_subdir(const struct repository *r, const char *dir, struct error *err);

#endif
