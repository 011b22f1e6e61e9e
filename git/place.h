/* SPDX-License-Identifier: MIT */
/*
 * Places: where the repository of a directory lies.
 *
 * Found as git finds it, upwards from the directory: a `.git` directory, or the file
 * that linked worktrees and submodules have, never across a file system's border, nor
 * past a directory of GIT_CEILING_DIRECTORIES.  GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE
 * and their like are not looked at: git sets them for its hooks, and they name the
 * repository that the hook belongs to, not the one that the directory is in.
 */
#ifndef GIT_PLACE_H
#define GIT_PLACE_H

#include <stdbool.h>

#include "ipc/error.h"

struct place {
	char *root;	  /* top of the working tree, absolute, links resolved */
	char *dot_git;	  /* root/.git, a directory or a file */
	char *git_dir;	  /* this working tree's own: HEAD, index */
	char *common_dir; /* shared by all working trees: refs, objects, config */
	bool is_linked;	  /* git_dir and common_dir differ */
};

#define PLACE_INIT           \
	{                    \
		.root = NULL \
	}

/* 1 found, 0 none (ret_place untouched), -1 with *err. */
int place_find(const char *dir, struct place *ret_place, struct error *err);
/* The repository whose top is exactly this directory: 1, 0 none, -1. */
int place_at(const char *dir, struct place *ret_place, struct error *err);
/*
 * Do the working tree and its git directory belong to us?  (For root also: to the user
 * that sudo was called by.)
 */
bool place_is_own(const struct place *p);
void place_release(struct place *p);

#endif
