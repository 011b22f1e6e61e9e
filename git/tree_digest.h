/* SPDX-License-Identifier: MIT */
/*
 * The digest of a scan: the stated sequence of records behind a key.
 *
 *   "geonosis tree 1" NUL, object format, HEAD's id (none: zeros)
 *   for each path, in bytewise order, what lies on disk:
 *     u32 length, path, u32 mode | flags, u64 size of a file on disk, id
 *     for a repository inside the tree: its own digest after that
 *   u32 0                                             numbers are big-endian
 *
 * Tracked and untracked files have the same records, so that `git add` of what lies on
 * disk changes nothing.  The size says something only of a file that git keeps in another
 * form (line endings, a filter): with the id the index has, it tells the two forms apart.
 * An id is as strong as the repository's format, SHA-1 or SHA-256.  What the index has
 * and the disk has not comes in a record of its own, flagged, where HEAD has not the
 * same.
 */
#ifndef GIT_TREE_DIGEST_H
#define GIT_TREE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/scan.h"
#include "ipc/error.h"

/* What became known of the repository that an item stands for. */
struct tree_inner {
	uint8_t tree[DIGEST_SIZE];
	uint8_t head[OBJECT_ID_MAX]; /* zeros: no commit yet */
	bool is_changed; /* something in it differs from its HEAD, or is untracked */
	bool is_partial; /* and these as struct tree_key has them */
	uint8_t absent[DIGEST_SIZE];
	uint8_t install[DIGEST_SIZE];
	struct tree_hidden *hidden; /* to be taken */
	size_t nhidden;
};

/* `inner` has one for each item of the walk; NULL where none is a repository. */
int tree_digest(struct scan *s, const struct tree_inner *inner, uint8_t ret[DIGEST_SIZE],
		struct error *err);

#endif
