/* SPDX-License-Identifier: MIT */
/*
 * Index: git's list of tracked files, read without git.
 *
 * Versions 2, 3 and 4, split index, sparse index; either object format.  Everything in
 * the file is checked: offsets, order, and that no path leads out of the tree or into
 * `.git`.  The checksum is not: a flipped bit gives another key, never the same.
 */
#ifndef GIT_INDEX_H
#define GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "git/digest.h"
#include "ipc/buf.h"
#include "ipc/error.h"

enum {
	INDEX_STAT_SIZE = 40,
	INDEX_MODE_FILE = 0100644,
	INDEX_MODE_EXEC = 0100755,
	INDEX_MODE_LINK = 0120000,
	INDEX_MODE_GITLINK = 0160000, /* a submodule's commit */
	INDEX_MODE_TREE = 0040000     /* sparse index: a directory left out whole */
};

enum index_flag {
	INDEX_ASSUME_UNCHANGED = 1,
	INDEX_SKIP_WORKTREE = 2,
	INDEX_INTENT_TO_ADD = 4
};

struct index_entry {
	const char *path;    /* NUL-terminated; a sparse directory's ends in '/' */
	const uint8_t *stat; /* as on disk: ten big-endian words */
	const uint8_t *id;
	uint32_t len;
	uint32_t mode; /* one of INDEX_MODE_* */
	uint8_t stage; /* 0; 1 to 3: unmerged */
	uint8_t flags;
};

/* Words of index_entry.stat */
enum index_stat {
	INDEX_STAT_CTIME = 0,
	INDEX_STAT_CTIME_NSEC = 1,
	INDEX_STAT_MTIME = 2,
	INDEX_STAT_MTIME_NSEC = 3,
	INDEX_STAT_INO = 5,
	INDEX_STAT_UID = 7,
	INDEX_STAT_GID = 8,
	INDEX_STAT_BYTES = 9
};

struct index {
	struct index_entry *entries; /* sorted bytewise by path, then stage */
	size_t nentries;
	struct timespec written; /* mtime of the file: zeros when there is none */
	bool is_sparse;		 /* there are entries of INDEX_MODE_TREE */
	const uint8_t
	    *tree;	  /* id of the tree that all entries make, or NULL: not known */
	struct buf bytes; /* what the entries point into */
	struct buf base;  /* the same, of a split index */
	struct buf names; /* of version 4 */
	struct buf base_names;
};

#define INDEX_INIT              \
	{                       \
		.entries = NULL \
	}

/*
 * Read git_dir/index; no file is an empty index.  -1, kind ERROR_DATA, for one that is
 * not sound or uses what is not known here: git may read it nonetheless.
 */
int index_read(const char *git_dir, enum object_format format, struct index *ret_index,
	       struct error *err);
/*
 * The same from the bytes of the files; `base` (NULL: not at hand) is the shared file
 * of a split index.  Both are taken, also on failure.
 */
int index_parse(struct buf *bytes, struct buf *base, enum object_format format,
		struct index *ret_index, struct error *err);
/* From the answer of `git ls-files --stage --debug -z`, which is taken. */
int index_parse_listing(struct buf *listing, enum object_format format,
			struct index *ret_index, struct error *err);
/* Order and paths, which all that reads an index relies on: 0, -1. */
int index_check(const struct index *x, struct error *err);
uint32_t index_stat_word(const struct index_entry *e, enum index_stat word);
/* The first entry at or after `from` whose path is not less than these bytes. */
size_t index_find(const struct index *x, size_t from, size_t to, const char *path,
		  size_t len);
void index_release(struct index *x);

/* Does the path stay inside the tree, and outside any `.git`? */
bool index_path_is_sound(const char *path, size_t len);

#endif
