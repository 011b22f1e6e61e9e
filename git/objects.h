/* SPDX-License-Identifier: MIT */
/*
 * Objects: what git's object store holds under an id.
 *
 * Loose objects and packs, with their deltas, and alternates.  Read to know HEAD's
 * trees and the ignore files that lie in no working tree; not a general reader. Opened
 * when first asked, so that it costs nothing where nothing is asked.
 */
#ifndef GIT_OBJECTS_H
#define GIT_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "ipc/buf.h"

enum object_kind {
	OBJECT_COMMIT = 1,
	OBJECT_TREE = 2,
	OBJECT_BLOB = 3,
	OBJECT_TAG = 4
};

struct objects;

/* Nothing is opened yet. common_dir is copied. */
struct objects *objects_new(const char *common_dir, enum object_format format);
/*
 * The object's content: 1; 0 where there is none, or none that can be read here (too
 * large, not sound): git may know better. Not to be called by two threads at once.
 */
int object_read(struct objects *o, const uint8_t id[OBJECT_ID_MAX],
		enum object_kind *ret_kind, struct buf *ret_content);
void objects_free(struct objects *o);

#endif
