/* SPDX-License-Identifier: MIT */
#include "supervisor/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/config/field.h"
#include "supervisor/config/names.h"
#include "supervisor/config/parse.h"
#include "supervisor/config/tiers.h"

enum {
	CONFIG_BYTES_MAX = 16 * 1024 * 1024
};

/* The nearest directory above that holds a configuration, or NULL; freed. */
static char *
config_above(const char *dir)
{
	char *path = realpath(dir, NULL), *file;
	struct stat st;
	bool found = false;

	while (path != NULL && !found && *path != '\0') {
		*strrchr(path, '/') = '\0';
		file = xasprintf("%s/" CONFIG_FILE, path);
		found = stat(file, &st) == 0;
		free(file);
	}
	if (found && *path != '\0')
		return path;
	free(path);
	return found ? xstrdup("/") : NULL;
}

static int
config_refuse_missing(const char *dir, const char *path, struct error *err)
{
	char *above = config_above(dir);
	struct stat st;

	if (lstat(path, &st) == 0)
		(void)error_set(err, ERROR_CONFIG,
				"%s: a link to a file that is not there", path);
	else if (above != NULL)
		(void)error_set(err, ERROR_CONFIG,
				"%s: no such file in this directory; there is one in %s: "
				"run geonosis there",
				path, above);
	else
		(void)error_set(err, ERROR_CONFIG,
				"%s: no such file in this directory; it declares the "
				"tiers: { \"verify\": { \"fast\": [\"a command\"] } }",
				path);
	free(above);
	return -1;
}

int
config_load(const char *dir, struct config *ret_config, struct error *err)
{
	char *path = strcmp(dir, ".") == 0 ? xstrdup(CONFIG_FILE)
					   : xasprintf("%s/" CONFIG_FILE, dir);
	struct error why = ERROR_INIT;
	struct buf text = BUF_INIT;
	int rc = -1;

	if (file_read(path, CONFIG_BYTES_MAX, &text, &why) != 0) {
		if (why.kind == ERROR_SYSTEM && why.errnum == ENOENT)
			(void)config_refuse_missing(dir, path, err);
		else
			*err = why;
		goto out;
	}
	rc = config_parse_in(dir, path, buf_text(&text), text.len, ret_config, err);
	if (rc == 0) {
		ret_config->text = text;
		text = (struct buf)BUF_INIT;
	}
out:
	buf_release(&text);
	free(path);
	return rc;
}

const struct tier *
config_tier(const struct config *c, const char *name, struct error *err)
{
	char *shown, *hint;

	for (size_t i = 0; name != NULL && i < c->ntiers; i++)
		if (strcmp(c->tiers[i].name, name) == 0)
			return c->tiers + i;
	shown = name != NULL ? field_quote(name) : NULL;
	hint = tier_names_hint(c, name != NULL ? name : "");
	if (name != NULL)
		(void)error_set(err, ERROR_USAGE,
				"%s: no such tier in " CONFIG_FILE "; %s", shown, hint);
	else
		(void)error_set(err, ERROR_USAGE,
				"no tier is named, and none is the default: %s", hint);
	free(shown);
	free(hint);
	return NULL;
}

bool
config_is_document(const struct config *c, const char *path)
{
	struct error ignored = ERROR_INIT;
	bool is_document = false;
	size_t i;

	/* The globs are of this directory. */
	if (strncmp(path, "../", 3) == 0)
		return false;
	/* They compiled when the config was read. */
	for (i = 0; i < c->documents.nitems && !is_document; i++) {
		struct glob *g = NULL;

		if (glob_compile(c->documents.items[i], &g, &ignored) == 0)
			is_document = glob_matches(g, path, strlen(path));
		glob_free(g);
	}
	return is_document;
}

void
config_release(struct config *c)
{
	if (c == NULL)
		return;
	buf_release(&c->text);
	for (size_t i = 0; i < c->ntiers; i++)
		tier_release(c->tiers + i);
	free(c->tiers);
	string_list_release(&c->documents);
	string_list_release(&c->version_files);
	string_list_release(&c->key_env);
	string_list_release(&c->key_files);
	string_list_release(&c->warnings);
	*c = (struct config)CONFIG_INIT;
}
