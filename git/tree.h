/* SPDX-License-Identifier: MIT */
/*
 * Trees of commits: what one directory of a commit holds.
 *
 * Kept in git's own form, `<mode> <name>`, a NUL and the id for each entry; every tree is
 * checked once, when it is read.
 */
#ifndef GIT_TREE_H
#define GIT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/repository.h"
#include "ipc/buf.h"
#include "ipc/error.h"

enum {
	TREE_DEPTH_MAX = 256 /* of directories in each other that are walked into */
};

struct tree_entry {
	const char *name;  /* one part of a path, never "." or ".." */
	const uint8_t *id; /* of the repository's format */
	uint32_t mode;	   /* as in the tree: 040000, 0100644, … */
};

/* The trees that were read, each kept until the end. */
struct trees;

/* The repository is borrowed.  Nothing is read yet. */
struct trees *trees_new(const struct repository *r);
void trees_free(struct trees *t);
/* Bytes of an id. */
size_t trees_id_size(const struct trees *t);

/*
 * The tree of this id, borrowed.  NULL with *err where it cannot be read: here, and (with
 * `ask`) by git, which may fetch it.
 */
const struct buf *tree_get(struct trees *t, const uint8_t *id, bool ask,
			   struct error *err);
/* The entry at *p, which is moved behind it.  False at the end. */
bool tree_entry_next(const struct trees *t, const struct buf *tree, const char **p,
		     struct tree_entry *ret_entry);

/* Called with each path in which the two differ, in no order; none is a directory. */
typedef void tree_path_fn(void *ctx, const char *path, size_t len);
/*
 * What two trees differ in: 1; 0 where one of them cannot be read without git, and not
 * all has been told.
 */
int tree_diff(struct trees *t, const uint8_t *a, const uint8_t *b, tree_path_fn *path,
	      void *ctx);

#endif
