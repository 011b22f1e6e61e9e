/* SPDX-License-Identifier: MIT */
#include "supervisor/green/tool.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "git/tree_key.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/base/json.h"
#include "supervisor/base/text.h"
#include "supervisor/green/record.h"

enum {
	TOOL_NAME_MAX = 100,
	TOOL_FILE_MAX = 1 << 20
};

/* It becomes part of a file's name. */
static int
name_check(const char *name, struct error *err)
{
	size_t n = strlen(name);
	char *clean;

	if (n > 0 && n <= TOOL_NAME_MAX && strchr(name, '/') == NULL &&
	    strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !text_is_blank(name) &&
	    utf8_valid(name, n))
		return 0;
	clean = text_clean(name, n);
	(void)error_set(
	    err, ERROR_USAGE,
	    "green: \"%.200s\" is no name; it must be one path segment of 1 to %d bytes",
	    clean, TOOL_NAME_MAX);
	free(clean);
	return -1;
}

static char *
tool_path(const char *name)
{
	return xasprintf(".geonosis/tool-green-%s.json", name);
}

static int
tool_tree(struct tree_key *ret_key, struct error *err)
{
	struct tree_key_options options = { 0 };

	if (tree_key_compute(".", &options, ret_key, err) < 0)
		return -1;
	if (ret_key->state == TREE_FOUND)
		return 0;
	(void)error_set(err, ERROR_REPO, "green: there is no tree to record it of: %s",
			ret_key->why != NULL ? ret_key->why : "not in a git repository");
	tree_key_release(ret_key);
	return -1;
}

int
tool_record(const char *name, const char *asked, struct error *err)
{
	struct tree_key key = TREE_KEY_INIT;
	char now[CLOCK_TEXT_SIZE];
	struct buf text = BUF_INIT;
	struct json_object *o;
	char *path;
	int rc;

	if (name_check(name, err) < 0 || tool_tree(&key, err) < 0)
		return -1;
	o = js_object();
	js_add_string(o, "name", name);
	js_add_string(o, "tree", key.hex);
	if (asked != NULL)
		js_add_string(o, "asked", asked);
	js_add_string(o, "recordedAt", clock_to_text(clock_wall_ms(), now));
	js_write(o, JS_PRETTY, &text);
	js_put(o);
	path = tool_path(name);
	rc = dir_make(".geonosis", err);
	if (rc == 0)
		rc = file_save(path, buf_text(&text), text.len, err);
	free(path);
	buf_release(&text);
	tree_key_release(&key);
	return rc;
}

/* NULL stands for "no question", which matches only itself. */
static bool
question_is(const struct json_object *o, const char *asked)
{
	const char *got = js_get_string(o, "asked");

	if (asked == NULL)
		return js_get(o, "asked") == NULL;
	return got != NULL && strcmp(got, asked) == 0;
}

int
tool_check(const char *name, const char *asked, struct buf *out, struct error *err)
{
	struct tree_key key = TREE_KEY_INIT;
	struct error ignored = ERROR_INIT;
	struct json_object *o = NULL;
	const char *tree, *is_of;
	char *path;
	int rc = 0;

	if (name_check(name, err) < 0 || tool_tree(&key, err) < 0)
		return -1;
	path = tool_path(name);
	if (record_file_is_ours(path) &&
	    js_read(path, TOOL_FILE_MAX, &o, &ignored) == 0) {
		tree = js_get_string(o, "tree");
		is_of = js_get_string(o, "name");
		rc = is_of != NULL && strcmp(is_of, name) == 0 && tree != NULL &&
		     strcmp(tree, key.hex) == 0 && question_is(o, asked);
		if (rc == 1)
			js_write(o, JS_PRETTY, out);
	}
	js_put(o);
	free(path);
	tree_key_release(&key);
	return rc;
}
