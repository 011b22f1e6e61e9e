/* SPDX-License-Identifier: MIT */
/*
 * Manifest: what lies in a directory and below it, by its stat data; and what differs
 * between two of them.
 *
 * Left out: `.geonosis/` at any depth, the storage of copies, and of a `.git` at the top
 * what every git command may touch (objects, logs, index).
 */
#ifndef SUPERVISOR_PROVE_MANIFEST_H
#define SUPERVISOR_PROVE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/error.h"

struct manifest_entry {
	char *path;   /* from the top, any bytes but NUL */
	char *target; /* of a link, else NULL */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	dev_t device; /* of a device file; an overlay's whiteout has none, 0 */
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	/* Of a witness' manifest, else 0: no write hides from it. */
	int64_t ctime_ns;
	uint64_t nlinks; /* what links a file changes its ctime, and writes nothing */
};

struct manifest {
	struct manifest_entry *entries; /* sorted bytewise by path */
	size_t nentries;
	size_t room;
};

#define MANIFEST_INIT      \
	{                  \
		NULL, 0, 0 \
	}

/*
 * Of a directory (a path).  What cannot be read, or vanishes meanwhile, is left out.
 * Fails only where the directory itself cannot be opened.
 */
int manifest_take(const char *dir, struct manifest *ret_manifest, struct error *err);
/* The same for a witness: with change times. */
int manifest_take_strict(const char *dir, struct manifest *ret_manifest,
			 struct error *err);
/*
 * The same of a git directory itself: without what every git command may touch, and
 * without what belongs to other working trees.
 */
int manifest_take_git(const char *dir, struct manifest *ret_manifest, struct error *err);
/* The entry of that path, or NULL. */
const struct manifest_entry *manifest_find(const struct manifest *m, const char *path);
void manifest_release(struct manifest *m);
/* What lies at a path below a directory: 0, and the entry is released; -1: nothing. */
int manifest_look(const char *dir, const char *path, struct manifest_entry *ret_entry);
void manifest_entry_release(struct manifest_entry *e);

/* Paths that changed: by name, up to a great many, and how many there are. */
enum {
	CHANGES_KEPT_MAX = 100000
};

struct changes {
	char **paths;
	size_t nkept;
	size_t room;
	size_t count;
};

#define CHANGES_INIT          \
	{                     \
		NULL, 0, 0, 0 \
	}

void changes_add(struct changes *c, const char *path);
void changes_release(struct changes *c);

/*
 * Asked about a path that is in both (before, after), or in one (the other NULL), and
 * whose stat data differ: is that a change?
 */
typedef bool manifest_judge_fn(void *ctx, const struct manifest_entry *before,
			       const struct manifest_entry *after);
void manifest_compare(const struct manifest *before, const struct manifest *after,
		      manifest_judge_fn *judge, void *ctx, struct changes *changes);

/*
 * Do two entries stand for the same thing, but perhaps for a file's content?  -1: not;
 * 1: they do; 0: the content has to be looked at.
 */
int manifest_entry_same(const struct manifest_entry *a, const struct manifest_entry *b);
/* Have two files, by their paths, the same bytes? What cannot be read has not. */
bool file_content_same(const char *a, const char *b);

#endif
