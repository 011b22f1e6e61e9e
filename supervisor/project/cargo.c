/* SPDX-License-Identifier: MIT */
#include "supervisor/project/cargo.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/process.h"
#include "supervisor/base/json.h"
#include "supervisor/project/list.h"
#include "supervisor/project/manifest.h"
#include "supervisor/project/paths.h"

#define CARGO_FILE "Cargo.toml"

enum {
	MANIFEST_BYTES_MAX = 16 << 20,
	ANSWER_BYTES_MAX = 256 << 20,
	ANSWER_MS_MAX = 60000
};

/* 1: there is a manifest that speaks of a workspace; 0: there is not. */
static int
cargo_has_workspace(const char *root, struct error *err)
{
	char *path = xasprintf("%s/" CARGO_FILE, root);
	struct error inner = ERROR_INIT;
	struct buf text = BUF_INIT;
	int rc = file_read(path, MANIFEST_BYTES_MAX, &text, &inner);

	free(path);
	if (rc < 0 && inner.errnum == ENOENT)
		return 0;
	if (rc < 0) {
		*err = inner;
		return -1;
	}
	rc = strstr(buf_text(&text), "workspace") != NULL;
	buf_release(&text);
	return rc;
}

static int
cargo_ask(const char *root, struct buf *ret_answer, struct error *err)
{
	static const char *const argv[] = { "cargo",	 "metadata",	     "--no-deps",
					    "--offline", "--format-version", "1",
					    NULL };
	/* A toolchain that is not there must be an answer, not a download. */
	static const char *const env[] = { "CARGO_NET_OFFLINE=true",
					   "RUSTUP_AUTO_INSTALL=0",
					   "CARGO_TERM_COLOR=never", NULL };
	const struct process_question q = { .argv = argv,
					    .dir = root,
					    .env = env,
					    .max = ANSWER_BYTES_MAX,
					    .timeout_ms = ANSWER_MS_MAX };

	if (process_ask(&q, ret_answer, err) < 0)
		return error_wrap(err, CARGO_FILE ": its workspace cannot be asked for");
	return 0;
}

/* The directory that a manifest lies in, from the root; NULL where that is outside. */
static char *
manifest_directory(const char *root, const char *manifest_path)
{
	const char *inside = path_below(root, manifest_path);
	const char *slash;

	if (inside == NULL)
		return NULL;
	slash = strrchr(inside, '/');
	return slash == NULL ? xstrdup("") : xstrndup(inside, (size_t)(slash - inside));
}

static void
dependencies_take(const char *root, struct json_object *list, struct workspace *w)
{
	size_t i, n;

	if (!json_object_is_type(list, json_type_array))
		return;
	n = json_object_array_length(list);
	for (i = 0; i < n; i++) {
		struct json_object *d = json_object_array_get_idx(list, i);
		const char *name = js_get_string(d, "name");
		const char *path = js_get_string(d, "path");
		const char *inside = path != NULL ? path_below(root, path) : NULL;
		char *spec = inside != NULL ? xasprintf("root:%s", inside) : xstrdup("*");

		if (name != NULL)
			workspace_add_dependency(w, name, spec);
		free(spec);
	}
}

static bool
is_member(struct json_object *members, const char *id)
{
	size_t i, n = json_object_array_length(members);

	for (i = 0; i < n; i++) {
		const char *one =
		    json_object_get_string(json_object_array_get_idx(members, i));

		if (one != NULL && strcmp(one, id) == 0)
			return true;
	}
	return false;
}

static void
package_take(const char *root, struct json_object *package, struct list_builder *b)
{
	const char *manifest = js_get_string(package, "manifest_path");
	const char *name = js_get_string(package, "name");
	const char *version = js_get_string(package, "version");
	char *dir = manifest != NULL ? manifest_directory(root, manifest) : NULL;
	struct workspace w = { .path = NULL };

	if (dir == NULL)
		return;
	w.path = *dir == '\0' ? xstrdup(".") : xstrdup(dir);
	w.name = xstrdup(name != NULL ? name : "");
	w.version = version != NULL ? xstrdup(version) : NULL;
	dependencies_take(root, js_get(package, "dependencies"), &w);
	list_builder_add(b, &w);
	free(dir);
}

int
cargo_list_parse(const char *root, const char *text, size_t n,
		 struct workspace_list *ret_list, struct error *err)
{
	struct list_builder b = LIST_BUILDER_INIT;
	struct json_object *top, *packages, *members;
	size_t i;

	if (js_parse("cargo metadata", text, n, &top, err) < 0)
		return -1;
	packages = js_get(top, "packages");
	members = js_get(top, "workspace_members");
	if (!json_object_is_type(packages, json_type_array) ||
	    !json_object_is_type(members, json_type_array)) {
		json_object_put(top);
		return error_set(err, ERROR_DATA,
				 "cargo metadata: no packages in its answer");
	}
	for (i = 0; i < json_object_array_length(packages); i++) {
		struct json_object *p = json_object_array_get_idx(packages, i);
		const char *id = js_get_string(p, "id");

		if (id == NULL || is_member(members, id))
			package_take(root, p, &b);
	}
	json_object_put(top);
	list_builder_finish(&b, MANAGER_CARGO, ret_list);
	return 0;
}

int
cargo_list_load(const char *root, struct workspace_list *ret_list, struct error *err)
{
	struct buf answer = BUF_INIT;
	char *real;
	int rc = cargo_has_workspace(root, err);

	if (rc <= 0)
		return rc;
	real = realpath(root, NULL);
	if (real == NULL)
		return error_system(err, "%s", root);
	rc = cargo_ask(real, &answer, err);
	if (rc == 0)
		rc = cargo_list_parse(real, buf_text(&answer), answer.len, ret_list, err);
	buf_release(&answer);
	free(real);
	return rc == 0 ? 1 : -1;
}
