/* SPDX-License-Identifier: MIT */
#include "supervisor/project/golang.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "ipc/process.h"
#include "supervisor/base/json.h"
#include "supervisor/project/list.h"
#include "supervisor/project/manifest.h"
#include "supervisor/project/paths.h"

#define GO_WORK_FILE "go.work"

enum {
	ANSWER_BYTES_MAX = 64 << 20,
	ANSWER_MS_MAX = 60000
};

static int
golang_ask(const char *root, const char *what, const char *file,
	   struct json_object **ret_answer, struct error *err)
{
	const char *const argv[] = { "go", what, "edit", "-json", file, NULL };
	/* Another toolchain must be an answer, not a download. */
	static const char *const env[] = { "GOTOOLCHAIN=local", "GOPROXY=off",
					   "GOFLAGS=", NULL };
	const struct process_question q = { .argv = argv,
					    .dir = root,
					    .env = env,
					    .max = ANSWER_BYTES_MAX,
					    .timeout_ms = ANSWER_MS_MAX };
	struct buf answer = BUF_INIT;
	int rc = process_ask(&q, &answer, err);

	if (rc == 0)
		rc = js_parse("its answer", buf_text(&answer), answer.len, ret_answer,
			      err);
	buf_release(&answer);
	return rc < 0 ? error_wrap(err, "%s: go cannot be asked for it", file) : 0;
}

/* A path that another module is replaced by. */
static void
replacements_take(const char *dir, struct json_object *list, struct workspace *w)
{
	size_t i;

	if (!json_object_is_type(list, json_type_array))
		return;
	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *r = json_object_array_get_idx(list, i);
		const char *old = js_get_string(js_get(r, "Old"), "Path");
		const char *new = js_get_string(js_get(r, "New"), "Path");
		char *inside = new != NULL ? path_resolve(dir, new) : NULL;
		char *spec = inside != NULL ? xasprintf("root:%s", inside) : NULL;

		if (old != NULL && spec != NULL)
			workspace_add_dependency(w, old, spec);
		if (new != NULL)
			workspace_add_dependency(w, new, "*");
		free(spec);
		free(inside);
	}
}

static void
requirements_take(struct json_object *list, struct workspace *w)
{
	size_t i;

	if (!json_object_is_type(list, json_type_array))
		return;
	for (i = 0; i < json_object_array_length(list); i++) {
		const char *path =
		    js_get_string(json_object_array_get_idx(list, i), "Path");

		if (path != NULL)
			workspace_add_dependency(w, path, "*");
	}
}

/* A module in the directory `dir` from the root, "" the root itself. */
static int
module_take(const char *root, const char *dir, struct list_builder *b, struct error *err)
{
	char *file = *dir == '\0' ? xstrdup("go.mod") : xasprintf("%s/go.mod", dir);
	struct json_object *module = NULL;
	struct workspace w = { .path = NULL };
	const char *name;
	int rc = golang_ask(root, "mod", file, &module, err);

	if (rc == 0) {
		name = js_get_string(js_get(module, "Module"), "Path");
		w.path = xstrdup(*dir == '\0' ? "." : dir);
		w.name = xstrdup(name != NULL ? name : "");
		requirements_take(js_get(module, "Require"), &w);
		replacements_take(dir, js_get(module, "Replace"), &w);
		list_builder_add(b, &w);
		json_object_put(module);
	}
	free(file);
	return rc;
}

static int
uses_take(const char *root, struct json_object *uses, struct list_builder *b,
	  struct error *err)
{
	size_t i;
	int rc = 0;

	if (!json_object_is_type(uses, json_type_array))
		return 0;
	for (i = 0; rc == 0 && i < json_object_array_length(uses); i++) {
		const char *use =
		    js_get_string(json_object_array_get_idx(uses, i), "DiskPath");
		const char *below;
		char *dir;

		if (use == NULL)
			continue;
		below = *use == '/' ? path_below(root, use) : use;
		dir = below != NULL ? path_resolve("", below) : NULL;
		if (dir != NULL)
			rc = module_take(root, dir, b, err);
		free(dir);
	}
	return rc;
}

int
golang_list_load(const char *root, struct workspace_list *ret_list, struct error *err)
{
	struct list_builder b = LIST_BUILDER_INIT;
	struct json_object *work = NULL;
	char *real = realpath(root, NULL);
	char *file;
	int rc = -1;

	if (real == NULL)
		return error_system(err, "%s", root);
	file = xasprintf("%s/" GO_WORK_FILE, real);
	if (access(file, F_OK) < 0) {
		rc = 0;
		goto out;
	}
	if (golang_ask(real, "work", GO_WORK_FILE, &work, err) < 0 ||
	    uses_take(real, js_get(work, "Use"), &b, err) < 0)
		goto out;
	list_builder_finish(&b, MANAGER_GO, ret_list);
	rc = 1;
out:
	list_builder_release(&b);
	json_object_put(work);
	free(file);
	free(real);
	return rc;
}
