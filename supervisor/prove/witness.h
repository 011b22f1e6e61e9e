/* SPDX-License-Identifier: MIT */
/*
 * Witness: how the tree was, to tell afterwards whether it still is so.
 *
 * Its key, where it has one.  Deep, for a step that nothing keeps from writing to the
 * tree: every file by its stat data too, ignored ones as well, and what its repository
 * has: refs, HEAD, configuration, hooks, and the entries of the index.
 */
#ifndef SUPERVISOR_PROVE_WITNESS_H
#define SUPERVISOR_PROVE_WITNESS_H

#include <stdbool.h>
#include <stddef.h>

#include "git/digest.h"
#include "ipc/error.h"
#include "supervisor/prove/ground.h"
#include "supervisor/prove/manifest.h"

struct witness {
	char key[DIGEST_HEX_SIZE]; /* "" where there is none */
	char index[DIGEST_HEX_SIZE];
	bool is_deep;
	struct manifest tree;
	/* Of git directories that are not in the tree: of all working trees, our own. */
	struct manifest common;
	struct manifest own;
};

#define WITNESS_INIT                                                                    \
	{                                                                               \
		.key = "", .index = "", .tree = MANIFEST_INIT, .common = MANIFEST_INIT, \
		.own = MANIFEST_INIT,                                                   \
	}

/* Where the tree has no key, it is deep whatever is asked. */
int witness_take(const struct ground *g, bool want_deep, struct witness *ret_witness,
		 struct error *err);
/* Is it as before?  Else `what` says what is not: a path, where that is known. */
bool witness_agrees(const struct witness *before, const struct witness *after, char *what,
		    size_t size);
void witness_release(struct witness *w);

/* The entries of an index as a digest, its stat data left out; "" where there is none. */
void index_digest(const char *git_dir, char ret_hex[DIGEST_HEX_SIZE]);

#endif
