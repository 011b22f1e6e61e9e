/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: the files of a commit, read without a checkout.
 *
 * Paths are relative to a directory of the tree, `/` between their parts, "" that
 * directory itself.
 */
#ifndef GIT_SNAPSHOT_H
#define GIT_SNAPSHOT_H

#include <stddef.h>

#include "git/repository.h"
#include "ipc/buf.h"
#include "ipc/error.h"

enum snapshot_kind {
	SNAPSHOT_NONE, /* nothing is there */
	SNAPSHOT_FILE,
	SNAPSHOT_EXEC, /* a file with its x bit */
	SNAPSHOT_LINK,
	SNAPSHOT_DIRECTORY,
	SNAPSHOT_SUBMODULE
};

struct snapshot;

/*
 * The tree of a commit (hex), from a directory of it on (repository_subdir; one that
 * is not in the commit has nothing in it).  0; -1 where the commit cannot be read.
 */
int snapshot_open(const struct repository *r, const char *commit, const char *subdir,
		  struct snapshot **ret_snapshot, struct error *err);
void snapshot_free(struct snapshot *s);

/*
 * What is at the path; links are not followed, and so no path leads through one.  0; -1
 * where a tree on the way cannot be read.
 */
int snapshot_find(struct snapshot *s, const char *path, enum snapshot_kind *ret_kind,
		  struct error *err);
/*
 * The path with every link in it followed, to be freed, "" for the directory itself;
 * NULL where that leads outside, round in circles, to nothing or to what cannot be
 * read.
 */
char *snapshot_real(struct snapshot *s, const char *path);

typedef void snapshot_entry_fn(void *ctx, const char *name, enum snapshot_kind kind);
/* Each entry of a directory, in git's order.  0; -1, also where it is none. */
int snapshot_list(struct snapshot *s, const char *dir, snapshot_entry_fn *entry,
		  void *ctx, struct error *err);
/*
 * Every file or link with this name, at any depth: paths as snapshot_find takes them.
 */
typedef void snapshot_path_fn(void *ctx, const char *path);
int snapshot_search(struct snapshot *s, const char *name, snapshot_path_fn *found,
		    void *ctx, struct error *err);

/*
 * A file's content (of a link, its target): 1; 0 where there is no file, -1 where it
 * cannot be read or is more than `max`.  In a partial clone what is missing is fetched;
 * without its remote that fails.
 */
int snapshot_read(struct snapshot *s, const char *path, size_t max,
		  struct buf *ret_content, struct error *err);

#endif
