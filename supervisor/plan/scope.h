/* SPDX-License-Identifier: MIT */
/*
 * Scope: which workspaces a run covers, and why; what the tree is held against, and what
 * differs from it.
 *
 * The rule above all: what is not known runs everything, and says why.
 */
#ifndef SUPERVISOR_PLAN_SCOPE_H
#define SUPERVISOR_PLAN_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "git/digest.h"
#include "git/mark.h"
#include "git/tree_key.h"
#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/project/graph.h"
#include "supervisor/project/workspace.h"

/* Everything is borrowed for the call. */
struct scope_request {
	const struct config *config;
	const char *tier;
	bool affected;	   /* leave out what no change reaches */
	const char *since; /* a ref to hold the tree against, or NULL; implies affected */
	bool needs_workspaces;		/* else no manifest is read */
	const struct tree_key *tree;	/* computed with want_changes */
	const char *unreadable;		/* why it could not be computed, or NULL */
	const struct mark_parts *parts; /* of the key, as they are now */
};

struct scope {
	struct workspace_list workspaces;
	struct graph graph;
	bool *is_selected; /* one for each workspace */
	char **why;	   /* of those that are selected when others are not; else NULL */
	bool is_narrowed;  /* a base was found: what no change reaches is left out */
	bool leaves_out;   /* some workspace is left out */
	bool base_is_verified; /* a green of this very tier stands for the base */
	char *against;	       /* the base in words, where there is one */
	char *reason; /* why all run, or why none: one line; NULL where neither */
	char mark_base[DIGEST_HEX_SIZE]; /* merge-base of HEAD and the tier's mark, or ""
					  */
	struct mark mark;
	char *mark_name;  /* NULL where there is no repository */
	bool has_changes; /* a diff could be read */
	char **changes;	  /* paths from the working directory, sorted by the top's path */
	bool *is_cut;	  /* of each: a version cut wrote it; NULL: not known */
	bool *is_gone;	  /* of each: nothing is there any more; NULL: not known */
	size_t nchanges;
};

#define SCOPE_INIT                \
	{                         \
		.mark = MARK_INIT \
	}

/*
 * Find it.  Refuses --affected and --since where there is no repository that may be read,
 * an unknown ref, and manifests that do not parse.
 */
int scope_find(const struct scope_request *rq, struct scope *ret_scope,
	       struct error *err);
void scope_release(struct scope *s);

#endif
