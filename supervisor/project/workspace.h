/* SPDX-License-Identifier: MIT */
/*
 * Workspaces: the parts of a repository that its package manager knows, and what their
 * manifests say.
 *
 *   pnpm-workspace.yaml with `packages`   pnpm's rules; it wins over
 *   "workspaces" of package.json          the rules of npm, of Yarn 1, of Yarn 2 and
 *                                         later, or of Bun: whom "packageManager" names,
 *                                         or whose lock file is there
 *   Cargo.toml with a [workspace]         asked of `cargo metadata`, where there is no
 *                                         JavaScript workspace
 *   go.work                               asked of `go`, where there is none of these
 *
 * Only directories that hold a manifest are workspaces; the root never is; what lies in
 * node_modules never is.
 */
#ifndef SUPERVISOR_PROJECT_WORKSPACE_H
#define SUPERVISOR_PROJECT_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/project/source.h"

enum manager {
	MANAGER_NONE,
	MANAGER_NPM,
	MANAGER_PNPM,
	MANAGER_YARN_CLASSIC,
	MANAGER_YARN,
	MANAGER_BUN,
	MANAGER_CARGO,
	MANAGER_GO,
};

/* What a manifest asks for by name. */
struct dependency {
	char *name;
	char *spec; /* `^1.0.0`, `workspace:*`; an entry of a catalog stands resolved */
};

struct workspace {
	char *path;    /* `packages/a`; no `./` before it and no `/` after it */
	char *real;    /* its path without links, NULL where that is `path` */
	char *name;    /* "" where the manifest has none */
	char *version; /* NULL where the manifest has none */
	/* Of every kind (dev, peer, optional, …). */
	struct dependency *dependencies;
	size_t ndependencies;
	char **scripts; /* names */
	size_t nscripts;
};

struct workspace_list {
	enum manager manager;
	struct workspace *items; /* by path, bytewise, each path once */
	size_t nitems;
	struct workspace root; /* path "."; name "" where there is no manifest */
	/*
	 * What the root puts in the place of others for everyone (`overrides`,
	 * `resolutions`), as its dependencies; the rest of it is empty.
	 */
	struct workspace overrides;
};

#define WORKSPACE_LIST_INIT   \
	{                     \
		.items = NULL \
	}

/*
 * The workspaces of a directory; none at all is no error.  A manifest that cannot be
 * read, does not parse or has the wrong shape is an ERROR_DATA that begins with its path
 * (and line and column where they are known), as is a pattern too large to follow.
 */
int workspace_list_load(const char *root, struct workspace_list *ret_list,
			struct error *err);
/*
 * The same from any source, JavaScript only: nobody can be asked about a tree that is
 * not on disk.
 */
int workspace_list_read(const struct source *from, struct workspace_list *ret_list,
			struct error *err);
/* Index of the workspace at a path, or -1. */
long workspace_list_find(const struct workspace_list *l, const char *path);
/*
 * Index of the workspace that a file belongs to, or -1: the innermost whose directory
 * (or the directory that it is a link to) the path is, or lies in.
 */
long workspace_list_owner(const struct workspace_list *l, const char *path);
bool workspace_has_script(const struct workspace *w, const char *name);
void workspace_list_release(struct workspace_list *l);

#endif
