/* SPDX-License-Identifier: MIT */
/*
 * Affected: from changed paths to the workspaces whose steps must run.  Pure: it reads
 * nothing but its input.
 *
 * What could change a verdict is never left out: what is not known selects all, and the
 * answer says which path or fact did it.
 */
#ifndef SUPERVISOR_PROJECT_AFFECTED_H
#define SUPERVISOR_PROJECT_AFFECTED_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/project/graph.h"
#include "supervisor/project/workspace.h"

struct change {
	/*
	 * Relative to the working directory, any bytes; `../x` is outside of it.  A
	 * rename is two changes.
	 */
	const char *path;
	bool is_cut; /* what a version cut writes, and nothing else (version_cut.h) */
};

/* All of it borrowed. */
struct affected_input {
	const struct workspace_list *tree;
	const struct graph *tree_graph;
	/* Those of the base; NULL, both, where they are not known. */
	const struct workspace_list *base;
	const struct graph *base_graph;
	/* One for each workspace of the tree: is it nothing that the base could have
	 * shown, a submodule or what lies in one aside?  NULL: not known. */
	const bool *foreign;
	const struct change *changes;
	size_t nchanges;
	const char *const *documents; /* globs */
	size_t ndocuments;
	/* What else differs, or is not known, a name each (`keyEnv CI`). */
	const char *const *key_parts;
	size_t nkey_parts;
};

enum change_kind {
	CHANGE_IGNORED,	  /* .geonosis/, or what a version cut writes */
	CHANGE_DOCUMENT,  /* selects nothing */
	CHANGE_WORKSPACE, /* selects its workspace */
	CHANGE_NOBODYS,	  /* in no workspace: selects all */
};

enum why {
	WHY_NOT,     /* not selected */
	WHY_PATH,    /* a changed path of its own */
	WHY_DEPENDS, /* on a workspace that is selected */
	WHY_UNSEEN,  /* git sees nothing of it: whether it changed is not known */
	WHY_ALL,     /* all are: `all_reason` says why */
};

struct selection {
	enum why why;
	size_t change;	/* WHY_PATH: index in the changes, the first */
	size_t through; /* WHY_DEPENDS: index in the tree's workspaces */
};

enum affected_all {
	ALL_NOT,      /* no one fact selected all */
	ALL_KEY_PART, /* a part of the key differs */
	ALL_PATH,     /* a changed path is in no workspace */
	ALL_GONE,     /* a workspace of the base is gone */
	ALL_RENAMED,  /* a workspace of the base has another name */
	ALL_ROOT,     /* the root depends on one that is selected */
	ALL_OPAQUE, /* one lies in a repository that changed: its old name is not known */
};

struct affected {
	struct selection *selections; /* one for each workspace of the tree */
	size_t nselections;
	enum affected_all all;
	char *all_reason; /* NULL with ALL_NOT; one line without control characters */
	enum change_kind *kinds; /* one for each change */
	size_t nkinds;
	bool nothing_changed; /* no change at all, those that are ignored aside */
	bool documents_only;  /* something changed, and documents alone */
};

#define AFFECTED_INIT               \
	{                           \
		.selections = NULL, \
	}

/* Fails (ERROR_CONFIG) for a glob of `documents` that does not compile. */
int affected_find(const struct affected_input *in, struct affected *ret_affected,
		  struct error *err);
/*
 * Why a workspace is selected, as one line to be freed: `packages/a/x.js changed`,
 * `depends on packages/a`; NULL where it is not.
 */
char *affected_reason(const struct affected_input *in, const struct affected *a,
		      size_t workspace);
void affected_release(struct affected *a);

#endif
