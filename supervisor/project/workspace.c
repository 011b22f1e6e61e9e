/* SPDX-License-Identifier: MIT */
#include "supervisor/project/workspace.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/json.h"
#include "supervisor/project/cargo.h"
#include "supervisor/project/golang.h"
#include "supervisor/project/list.h"
#include "supervisor/project/manifest.h"
#include "supervisor/project/members.h"
#include "supervisor/project/pnpm.h"
#include "supervisor/project/yaml.h"

enum {
	PNPM_BYTES_MAX = 4 << 20,
	LOCK_BYTES_MAX = 256 << 20
};

/* What is known of a JavaScript repository while its workspaces are read. */
struct reading {
	const struct source *from;
	enum manager manager;
	struct json_object *root; /* package.json, or NULL */
	struct yaml *pnpm;	  /* pnpm-workspace.yaml, or NULL */
	struct path_list patterns;
	struct path_list found;
	struct list_builder list;
};

static bool
has_file(const struct source *from, const char *path)
{
	return from->kind(from->ctx, path) == SOURCE_FILE;
}

/* Yarn 1 says its own name in its lock file; later ones do not. */
static bool
is_yarn_classic(const struct source *from)
{
	struct buf text = BUF_INIT;
	struct error ignored = ERROR_INIT;
	bool is;

	if (from->read(from->ctx, "yarn.lock", LOCK_BYTES_MAX, &text, &ignored) < 0)
		return false;
	is = strstr(buf_text(&text), "# yarn lockfile v1") != NULL;
	buf_release(&text);
	return is;
}

/* Whose rules the "workspaces" of package.json follow. */
static enum manager
manager_of(const struct reading *r)
{
	const char *named = js_get_string(r->root, "packageManager");

	if (named != NULL && strncmp(named, "npm@", 4) == 0)
		return MANAGER_NPM;
	if (named != NULL && strncmp(named, "bun@", 4) == 0)
		return MANAGER_BUN;
	if (named != NULL && strncmp(named, "yarn@", 5) == 0)
		return strncmp(named, "yarn@1.", 7) == 0 || strcmp(named, "yarn@1") == 0
			   ? MANAGER_YARN_CLASSIC
			   : MANAGER_YARN;
	if (has_file(r->from, ".yarnrc.yml"))
		return MANAGER_YARN;
	if (has_file(r->from, "yarn.lock"))
		return is_yarn_classic(r->from) ? MANAGER_YARN_CLASSIC : MANAGER_YARN;
	if (has_file(r->from, "bun.lock") || has_file(r->from, "bun.lockb"))
		return MANAGER_BUN;
	return MANAGER_NPM;
}

static int
root_read(struct reading *r, struct error *err)
{
	struct workspace w = { .path = NULL };

	if (r->from->kind(r->from->ctx, MANIFEST_FILE) == SOURCE_NONE)
		return 0;
	if (manifest_read(r->from, MANIFEST_FILE, &r->root, err) < 0)
		return -1;
	w.path = xstrdup(".");
	manifest_facts(r->root, &(struct catalogs){ r->pnpm, r->root }, &w);
	list_builder_add(&r->list, &w);
	return 0;
}

static int
pnpm_read(struct reading *r, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc;

	if (r->from->kind(r->from->ctx, PNPM_WORKSPACE_FILE) == SOURCE_NONE)
		return 0;
	rc = r->from->read(r->from->ctx, PNPM_WORKSPACE_FILE, PNPM_BYTES_MAX, &text, err);
	if (rc == 0)
		rc = yml_parse(PNPM_WORKSPACE_FILE, buf_text(&text), text.len, &r->pnpm,
			       err);
	buf_release(&text);
	return rc;
}

/* A key without a value is none to pnpm. */
static bool
pnpm_has_packages(struct yaml *y)
{
	const char *scalar = yml_string(y, (const char *[]){ "packages" }, 1);

	return yml_has(y, "packages") &&
	       (scalar == NULL || (strcmp(scalar, "") != 0 && strcmp(scalar, "~") != 0 &&
				   strcmp(scalar, "null") != 0));
}

/* The patterns and whose rules they follow. */
static int
patterns_read(struct reading *r, struct error *err)
{
	bool has;
	int i, n;

	if (r->pnpm != NULL && pnpm_has_packages(r->pnpm)) {
		r->manager = MANAGER_PNPM;
		n = yml_list_count(r->pnpm, "packages");
		if (n < 0)
			return error_set(err, ERROR_DATA,
					 PNPM_WORKSPACE_FILE
					 ": packages: not a list of patterns");
		for (i = 0; i < n; i++)
			path_list_add(&r->patterns, xstrdup(yml_list_item(
							r->pnpm, "packages", (size_t)i)));
		return 0;
	}
	if (r->root == NULL)
		return 0;
	r->manager = manager_of(r);
	return manifest_patterns(MANIFEST_FILE, r->root, &r->patterns, &has, err);
}

/* To Yarn, a workspace may have workspaces of its own. */
static int
nested_find(struct reading *r, const char *dir, const struct json_object *manifest,
	    const char *path, struct error *err)
{
	struct path_list patterns = PATH_LIST_INIT;
	bool has;
	int rc = manifest_patterns(path, manifest, &patterns, &has, err);

	if (rc == 0 && has)
		rc = members_find(r->from, r->manager, dir, &patterns, &r->found, err);
	path_list_release(&patterns);
	return rc;
}

/* The directory without links, where it is not the path itself. */
static char *
real_of(const struct reading *r, const char *dir)
{
	char *real = r->from->real(r->from->ctx, dir);

	if (real != NULL && strcmp(real, dir) == 0) {
		free(real);
		return NULL;
	}
	return real;
}

static int
workspace_read(struct reading *r, const char *dir, struct error *err)
{
	char *path = xasprintf("%s/" MANIFEST_FILE, dir);
	struct json_object *manifest = NULL;
	struct workspace w = { .path = NULL };
	int rc = manifest_read(r->from, path, &manifest, err);

	if (rc == 0 && r->manager == MANAGER_YARN)
		rc = nested_find(r, dir, manifest, path, err);
	/* Yarn 1 warns of a workspace without a name or a version, and has none there. */
	if (rc == 0 &&
	    (r->manager != MANAGER_YARN_CLASSIC ||
	     (js_get(manifest, "name") != NULL && js_get(manifest, "version") != NULL))) {
		w.path = xstrdup(dir);
		w.real = real_of(r, dir);
		manifest_facts(manifest, &(struct catalogs){ r->pnpm, r->root }, &w);
		list_builder_add(&r->list, &w);
	}
	json_object_put(manifest);
	free(path);
	return rc;
}

/* Every directory found, and then those that were found in them. */
static int
workspaces_read(struct reading *r, struct error *err)
{
	struct path_list done = PATH_LIST_INIT;
	int rc = members_find(r->from, r->manager, "", &r->patterns, &r->found, err);

	while (rc == 0 && r->found.nitems > 0) {
		struct path_list now = r->found;
		size_t i, before;

		r->found = (struct path_list)PATH_LIST_INIT;
		path_list_settle(&now);
		path_list_settle(&done);
		before = done.nitems;
		for (i = 0; i < now.nitems; i++) {
			if (rc < 0 || path_list_has(&done, before, now.items[i])) {
				free(now.items[i]);
				continue;
			}
			rc = workspace_read(r, now.items[i], err);
			path_list_add(&done, now.items[i]);
		}
		free(now.items);
	}
	path_list_release(&done);
	return rc;
}

int
workspace_list_read(const struct source *from, struct workspace_list *ret_list,
		    struct error *err)
{
	struct reading r = { .from = from,
			     .patterns = PATH_LIST_INIT,
			     .found = PATH_LIST_INIT,
			     .list = LIST_BUILDER_INIT };
	int rc = -1;

	if (pnpm_read(&r, err) < 0 || root_read(&r, err) < 0 ||
	    patterns_read(&r, err) < 0 || workspaces_read(&r, err) < 0)
		goto out;
	manifest_overrides(&(struct catalogs){ r.pnpm, r.root }, &r.list.list.overrides);
	list_builder_finish(&r.list, r.manager, ret_list);
	rc = 0;
out:
	list_builder_release(&r.list);
	path_list_release(&r.patterns);
	path_list_release(&r.found);
	yml_free(r.pnpm);
	json_object_put(r.root);
	return rc;
}

int
workspace_list_load(const char *root, struct workspace_list *ret_list, struct error *err)
{
	const struct source disk = source_of_disk(root);
	struct workspace_list list;
	int asked;

	if (workspace_list_read(&disk, &list, err) < 0)
		return -1;
	if (list.nitems > 0) {
		*ret_list = list;
		return 0;
	}
	workspace_list_release(&list);
	asked = cargo_list_load(root, &list, err);
	if (asked == 0)
		asked = golang_list_load(root, &list, err);
	if (asked < 0)
		return -1;
	if (asked == 0 && workspace_list_read(&disk, &list, err) < 0)
		return -1;
	*ret_list = list;
	return 0;
}
