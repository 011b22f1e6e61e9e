/* SPDX-License-Identifier: MIT */
/*
 * Walks: a working tree on disk against an index.
 *
 * One pass over the directories, by several threads: every tracked file's stat data
 * against the index, every other name against the ignore rules.  What lies there as
 * the index says costs one lstat and leaves no trace; everything else becomes an item.
 */
#ifndef GIT_WALK_H
#define GIT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/index.h"
#include "git/objects.h"
#include "git/place.h"
#include "git/settings.h"
#include "git/tree_key.h"
#include "ipc/error.h"

/* No entry of the index; a number that an enum cannot hold. */
#define WALK_NO_ENTRY UINT32_MAX

/* What became of an index entry; kept for each, since most have nothing else to say. */
enum walk_state {
	WALK_CLEAN,    /* on disk as in the index */
	WALK_ITEM,     /* an item has it */
	WALK_LEFT_OUT, /* not on disk, and not to be (skip-worktree) */
	WALK_OURS      /* below a .geonosis/: does not count */
};

enum walk_flag {
	WALK_REPOSITORY = 1, /* a repository of its own lies there: its key is wanted */
	WALK_OPAQUE = 2,     /* cannot be read: the id is of its stat data */
	WALK_UNLISTED = 4,   /* counts, but git lists no such change */
	WALK_STALE = 8 /* stat data differ: a filter may say that nothing else does */
};

struct walk_item {
	char *path; /* of an untracked repository: with a final '/' */
	uint32_t len;
	uint32_t entry; /* its first in the index, or WALK_NO_ENTRY */
	uint32_t mode;	/* on disk, INDEX_MODE_*; 0: nothing there */
	uint8_t flags;
	bool dropped; /* found to be no change after all */
	enum tree_change_kind kind;
	uint64_t size;		   /* of a file on disk */
	uint8_t id[OBJECT_ID_MAX]; /* of what lies on disk, as git would name it raw */
};

/* What git takes for the same, and that has other bytes on disk. */
struct walk_raw {
	uint32_t entry;
	uint8_t id[OBJECT_ID_MAX]; /* of the bytes, or of stat data in their place */
};

struct walk_result {
	struct walk_item *items; /* sorted bytewise by path */
	size_t nitems;
	uint8_t *states;       /* enum walk_state of each index entry */
	uint64_t *sizes;       /* on disk, of each entry that is a file and clean */
	uint8_t *odd_modes;    /* of each entry: executable on disk or in the index, not
				* both, where git does not look; NULL: it does */
	struct walk_raw *raws; /* found by conversion_judge; sorted by entry */
	size_t nraws;
	size_t nstale;	       /* entries that were clean, but had to be read to know */
	char **attribute_dirs; /* where a .gitattributes lies: "" or "a/b" */
	size_t nattribute_dirs;
	char **install_dirs; /* where a node_modules lies; sorted */
	size_t ninstall_dirs;
	bool hidden_attributes; /* there are such files in the index only */
	bool wants_expansion;	/* a sparse directory has something on disk */
};

#define WALK_RESULT_INIT      \
	{                     \
		.items = NULL \
	}

/* What is walked; all borrowed. */
struct walk_source {
	const struct place *place;
	const struct settings *settings;
	const struct index *index;
	struct objects *objects; /* for ignore files that are in the index only */
	unsigned threads;	 /* 0: by the number of processors */
};

int walk_tree(const struct walk_source *source, struct walk_result *ret_result,
	      struct error *err);
void walk_result_release(struct walk_result *r);

#endif
