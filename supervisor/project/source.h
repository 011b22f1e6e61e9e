/* SPDX-License-Identifier: MIT */
/*
 * Source: a tree of files that workspaces are looked for in: a directory on disk, or
 * whatever else can list directories and read files (the tree of a commit).
 *
 * Paths are relative to the tree's root, `/` between their parts, "" the root itself.
 */
#ifndef SUPERVISOR_PROJECT_SOURCE_H
#define SUPERVISOR_PROJECT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/buf.h"
#include "ipc/error.h"

enum source_kind {
	SOURCE_NONE, /* nothing is there */
	SOURCE_FILE,
	SOURCE_DIRECTORY,
	SOURCE_LINK_TO_DIRECTORY,
	SOURCE_OTHER,
};

/* Called with each entry's name (never "." and ".."), in any order. */
typedef void source_entry_fn(void *ctx, const char *name, enum source_kind kind);

struct source {
	void *ctx;
	/* What is at the path; of a link to a file, SOURCE_FILE. */
	enum source_kind (*kind)(void *ctx, const char *path);
	/* 0; -1 with *err where the directory is there and cannot be read. */
	int (*list)(void *ctx, const char *dir, source_entry_fn *entry, void *entry_ctx,
		    struct error *err);
	/* A file's content; fails as file_read does, *err naming the path. */
	int (*read)(void *ctx, const char *path, size_t max, struct buf *ret_content,
		    struct error *err);
	/*
	 * The path without links in it, to be freed, "" for the root; NULL where that is
	 * outside of the root, or not known.
	 */
	char *(*real)(void *ctx, const char *path);
};

/* A directory on disk.  `root` is borrowed for as long as the source is used. */
struct source source_of_disk(const char *root);

#endif
