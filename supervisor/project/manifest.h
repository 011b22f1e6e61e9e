/* SPDX-License-Identifier: MIT */
/*
 * Manifest: what a package.json says.
 */
#ifndef SUPERVISOR_PROJECT_MANIFEST_H
#define SUPERVISOR_PROJECT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/project/members.h"
#include "supervisor/project/source.h"
#include "supervisor/project/workspace.h"
#include "supervisor/project/yaml.h"

struct json_object; /* json-c's */

#define MANIFEST_FILE "package.json"

/*
 * Read and parse one; a byte order mark is no part of it, as every manager has it.  The
 * caller puts the value, which is an object.
 */
int manifest_read(const struct source *from, const char *path,
		  struct json_object **ret_manifest, struct error *err);
/* The same from text; `path` stands for it in messages. */
int manifest_parse(const char *path, const char *text, size_t n,
		   struct json_object **ret_manifest, struct error *err);

/* Catalogs: dependencies that manifests name by `catalog:`.  All borrowed, or NULL. */
struct catalogs {
	struct yaml *pnpm;	  /* pnpm-workspace.yaml */
	struct json_object *root; /* package.json, for Bun */
};

/* Fill in a workspace's facts, its path apart. */
void manifest_facts(const struct json_object *manifest, const struct catalogs *catalogs,
		    struct workspace *w);
/* What the root's manifest and pnpm-workspace.yaml override, as dependencies of `w`. */
void manifest_overrides(const struct catalogs *of, struct workspace *w);
/* The patterns of "workspaces", in either form, appended.  False: it has none. */
int manifest_patterns(const char *path, const struct json_object *manifest,
		      struct path_list *into, bool *ret_has, struct error *err);

void workspace_add_dependency(struct workspace *w, const char *name, const char *spec);

#endif
