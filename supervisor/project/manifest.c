/* SPDX-License-Identifier: MIT */
#include "supervisor/project/manifest.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/json.h"

enum {
	MANIFEST_BYTES_MAX = 16 << 20
};

int
manifest_parse(const char *path, const char *text, size_t n,
	       struct json_object **ret_manifest, struct error *err)
{
	struct json_object *value;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	if (js_parse(path, text, n, &value, err) < 0)
		return -1;
	if (!json_object_is_type(value, json_type_object)) {
		json_object_put(value);
		return error_set(err, ERROR_DATA, "%s: not an object", path);
	}
	*ret_manifest = value;
	return 0;
}

int
manifest_read(const struct source *from, const char *path,
	      struct json_object **ret_manifest, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = from->read(from->ctx, path, MANIFEST_BYTES_MAX, &text, err);

	if (rc == 0)
		rc = manifest_parse(path, buf_text(&text), text.len, ret_manifest, err);
	buf_release(&text);
	return rc;
}

void
workspace_add_dependency(struct workspace *w, const char *name, const char *spec)
{
	/* Powers of two: room for the next is made when the last is taken. */
	if ((w->ndependencies & (w->ndependencies - 1)) == 0)
		w->dependencies = xreallocarray(
		    w->dependencies, w->ndependencies == 0 ? 1 : w->ndependencies * 2,
		    sizeof(*w->dependencies));
	w->dependencies[w->ndependencies++] =
	    (struct dependency){ .name = xstrdup(name), .spec = xstrdup(spec) };
}

/* What a catalog has for a name, or NULL. */
static const char *
catalog_entry(const struct catalogs *c, const char *catalog, const char *name)
{
	bool is_default = *catalog == '\0' || strcmp(catalog, "default") == 0;
	const char *found = NULL;

	if (c->pnpm != NULL && is_default)
		found = yml_string(c->pnpm, (const char *[]){ "catalog", name }, 2);
	if (c->pnpm != NULL && found == NULL)
		found =
		    yml_string(c->pnpm,
			       (const char *[]){ "catalogs",
						 is_default ? "default" : catalog, name },
			       3);
	if (found == NULL && c->root != NULL) {
		const struct json_object *in[] = { js_get(c->root, "workspaces"),
						   c->root };
		size_t i;

		for (i = 0; i < 2 && found == NULL; i++)
			found = js_get_string(
			    is_default ? js_get(in[i], "catalog")
				       : js_get(js_get(in[i], "catalogs"), catalog),
			    name);
	}
	return found;
}

static void
dependency_take(const char *name, const char *spec, const struct catalogs *c,
		struct workspace *w)
{
	if (strncmp(spec, "catalog:", 8) == 0) {
		const char *entry = catalog_entry(c, spec + 8, name);

		spec = entry != NULL ? entry : spec;
	}
	workspace_add_dependency(w, name, spec);
}

/* An object of names to specs; a spec of another type may say anything. */
static void
dependencies_take(struct json_object *list, const struct catalogs *c, struct workspace *w)
{
	if (json_object_is_type(list, json_type_array)) {
		size_t i, n = json_object_array_length(list);

		for (i = 0; i < n; i++) {
			struct json_object *name = json_object_array_get_idx(list, i);

			if (json_object_is_type(name, json_type_string))
				workspace_add_dependency(w, json_object_get_string(name),
							 "*");
		}
	} else if (json_object_is_type(list, json_type_object)) {
		json_object_object_foreach(list, name, spec)
		{
			bool is_text = json_object_is_type(spec, json_type_string);

			dependency_take(
			    name, is_text ? json_object_get_string(spec) : "*", c, w);
		}
	}
}

static void
scripts_take(struct json_object *scripts, struct workspace *w)
{
	if (!json_object_is_type(scripts, json_type_object))
		return;
	w->scripts = xreallocarray(NULL, (size_t)json_object_object_length(scripts) + 1,
				   sizeof(*w->scripts));
	json_object_object_foreach(scripts, name, command)
	{
		if (json_object_is_type(command, json_type_string))
			w->scripts[w->nscripts++] = xstrdup(name);
	}
}

void
manifest_facts(const struct json_object *manifest, const struct catalogs *catalogs,
	       struct workspace *w)
{
	static const char *const kinds[] = {
		"dependencies",		"devDependencies",     "peerDependencies",
		"optionalDependencies", "bundledDependencies", "bundleDependencies"
	};
	const char *name = js_get_string(manifest, "name");
	const char *version = js_get_string(manifest, "version");
	size_t i;

	w->name = xstrdup(name != NULL ? name : "");
	w->version = version != NULL ? xstrdup(version) : NULL;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		dependencies_take(js_get(manifest, kinds[i]), catalogs, w);
	scripts_take(js_get(manifest, "scripts"), w);
}

/* Names to specs, or to objects of them, as npm nests them. */
static void
overrides_take(struct json_object *list, unsigned depth, struct workspace *w)
{
	if (!json_object_is_type(list, json_type_object) || depth == 0)
		return;
	json_object_object_foreach(list, name, spec)
	{
		if (json_object_is_type(spec, json_type_string))
			workspace_add_dependency(w, name, json_object_get_string(spec));
		else
			overrides_take(spec, depth - 1, w);
	}
}

static void
override_take(void *ctx, const char *name, const char *spec)
{
	workspace_add_dependency(ctx, name, spec);
}

void
manifest_overrides(const struct catalogs *of, struct workspace *w)
{
	overrides_take(js_get(of->root, "overrides"), JS_DEPTH_MAX, w);
	overrides_take(js_get(of->root, "resolutions"), 1, w);
	overrides_take(js_get(js_get(of->root, "pnpm"), "overrides"), 1, w);
	if (of->pnpm != NULL)
		yml_each(of->pnpm, "overrides", override_take, w);
}

int
manifest_patterns(const char *path, const struct json_object *manifest,
		  struct path_list *into, bool *ret_has, struct error *err)
{
	struct json_object *list = js_get(manifest, "workspaces");
	size_t i, n;

	if (json_object_is_type(list, json_type_object))
		list = js_get(list, "packages");
	*ret_has = list != NULL;
	if (list == NULL)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return error_set(err, ERROR_DATA,
				 "%s: workspaces: neither a list of patterns nor an "
				 "object with one as its \"packages\"",
				 path);
	n = json_object_array_length(list);
	for (i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *text = json_object_get_string(item);

		if (!json_object_is_type(item, json_type_string) ||
		    strlen(text) != (size_t)json_object_get_string_len(item))
			return error_set(err, ERROR_DATA,
					 "%s: workspaces[%zu]: not a pattern", path, i);
		path_list_add(into, xstrdup(text));
	}
	return 0;
}
