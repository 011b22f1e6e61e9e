/* SPDX-License-Identifier: MIT */
/*
 * What is kept beside a mark of the run that moved it: the parts of its key that no diff
 * shows.
 *
 * They name the commit they belong to and are written before the mark moves: whatever is
 * killed in between, parts and mark do not fit, and are not used.
 */
#ifndef GIT_MARK_PARTS_H
#define GIT_MARK_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "git/repository.h"
#include "ipc/error.h"

/* A part of the key that no diff shows: `keyEnv CI` and a digest, as the caller likes. */
struct mark_part {
	char *name; /* any bytes but NUL, both */
	char *value;
};

/* The name of a part that is of one file alone begins with this; then its path. */
#define MARK_PART_FILE "file "

struct mark_parts {
	struct mark_part *items;
	size_t n;
};

#define MARK_PARTS_INIT       \
	{                     \
		.items = NULL \
	}

bool mark_part_is_of_file(const struct mark_part *p);
/*
 * Those of the mark of that name at that commit: 1; 0 where they are not known (none were
 * kept, or for another commit, or what is there is not sound: *err says which); -1 where
 * the file cannot be read.
 */
int mark_parts_read(const struct repository *r, const char *name, const char *commit,
		    struct mark_parts *ret_parts, struct error *err);
/* Replace them; NULL: they are not known.  Part of mark_move. */
int mark_parts_write(const struct repository *r, const char *name, const char *commit,
		     const struct mark_parts *parts, struct error *err);
void mark_parts_release(struct mark_parts *p);

#endif
