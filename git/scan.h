/* SPDX-License-Identifier: MIT */
/*
 * Scans: all that is known of one working tree, before it becomes a key.
 *
 * The repository is opened, its index read, the disk walked; then git is asked about
 * what only it can judge.
 */
#ifndef GIT_SCAN_H
#define GIT_SCAN_H

#include <stdbool.h>

#include "git/head.h"
#include "git/index.h"
#include "git/objects.h"
#include "git/place.h"
#include "git/settings.h"
#include "git/tree_key.h"
#include "git/walk.h"
#include "ipc/error.h"

struct scan {
	enum tree_state state;
	char *why;   /* of a state that is not TREE_FOUND */
	char *asked; /* the first reason why git was asked, or NULL */
	struct place place;
	struct settings settings;
	struct head head;
	struct index index;
	struct objects *objects;
	struct head_tree *head_tree;
	struct walk_result walk;
};

#define SCAN_INIT                                             \
	{                                                     \
		.state = TREE_NONE, .settings = SETTINGS_INIT \
	}

/*
 * Scan the tree that `dir` lies in. is_inner: a repository inside a tree that is
 * already trusted; its owner is not asked for.
 */
int scan_run(const char *dir, const struct tree_key_options *options, bool is_inner,
	     struct scan *ret_scan, struct error *err);
/* Remember a reason, the first only. */
void scan_asked(struct scan *s, const char *reason);
void scan_release(struct scan *s);

#endif
