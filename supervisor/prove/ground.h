/* SPDX-License-Identifier: MIT */
/*
 * Ground: the tree that steps are proved on, and where it lies.
 *
 * The tree is the whole working tree of the repository that the working directory lies
 * in, since a step may reach above its own directory; where there is no repository, the
 * working directory.
 */
#ifndef SUPERVISOR_PROVE_GROUND_H
#define SUPERVISOR_PROVE_GROUND_H

#include <stdbool.h>

#include "ipc/error.h"

/* How copies are made; GEONOSIS_PROVE_COPY says it. */
enum ground_wish {
	GROUND_ANY,	 /* overlay where the kernel allows it, else portable */
	GROUND_OVERLAY,	 /* nothing else */
	GROUND_PORTABLE, /* a directory of its own, the tree read-only where it can be */
	GROUND_BARE,	 /* the same, and nothing keeps a step from writing to the tree */
};

#define GROUND_COPY_VARIABLE "GEONOSIS_PROVE_COPY"

struct ground {
	char *root;	  /* top of the tree, absolute, without links */
	char *dir;	  /* the working directory, likewise: the root or below it */
	const char *rel;  /* inside dir: its path from the root, "" for the root itself */
	char *git_dir;	  /* of the working tree; NULL: no repository */
	char *common_dir; /* of all its working trees; NULL: no repository */
	char *tmp;	  /* the directory for copies: TMPDIR, else /tmp; without links */
	enum ground_wish wish;
};

#define GROUND_INIT          \
	{                    \
		.root = NULL \
	}

int ground_find(struct ground *ret_ground, struct error *err);
/* Is the path the directory itself or below it?  Both absolute and without links. */
bool path_lies_in(const char *path, const char *dir);
void ground_release(struct ground *g);

#endif
