/* SPDX-License-Identifier: MIT */
#include "supervisor/green/record.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/digest.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/base/json.h"
#include "supervisor/base/text.h"

enum {
	RECORD_FORMAT = 1,
	RECORD_BYTES_MAX = 256 << 20,
};

/* What the seal is over, beside the report. */
static const char *const sealed[] = {
	"tier", "directory", "inputs", "flags", "finishedAt",
};

char *
record_path(const char *tier)
{
	return xasprintf(".geonosis/green-%s.json", tier);
}

/* Over the fields as they read back, so that a record that was edited does not hold. */
static void
record_seal(struct json_object *o, char ret_hex[DIGEST_HEX_SIZE])
{
	uint8_t bytes[DIGEST_SIZE];
	struct buf text = BUF_INIT;
	struct digest d;
	bool moves = false;
	size_t i;

	digest_init(&d);
	digest_add_u32(&d, RECORD_FORMAT);
	for (i = 0; i < sizeof(sealed) / sizeof(sealed[0]); i++) {
		const char *value = js_get_string(o, sealed[i]);

		digest_add_u32(&d, value != NULL ? (uint32_t)strlen(value) : UINT32_MAX);
		if (value != NULL)
			digest_add(&d, value, strlen(value));
	}
	digest_add_u32(&d, js_get_bool(o, "movesMark", &moves) && moves);
	js_write(js_get(o, "report"), JS_LINE, &text);
	digest_add(&d, buf_text(&text), text.len);
	digest_end(&d, bytes);
	hex_encode(bytes, sizeof(bytes), ret_hex);
	buf_release(&text);
}

/* The working directory as a record has it: valid UTF-8.  NULL where it is gone. */
static char *
directory_text(void)
{
	char *here = realpath(".", NULL);
	char *text = here != NULL ? text_clean(here, strlen(here)) : NULL;

	free(here);
	return text;
}

/* A value as it will be read back: numbers may change their spelling on the way. */
static struct json_object *
value_read_back(struct json_object *value)
{
	struct json_object *copy = NULL;
	struct error ignored = ERROR_INIT;
	struct buf text = BUF_INIT;

	js_write(value, JS_LINE, &text);
	(void)js_parse("record", buf_text(&text), text.len, &copy, &ignored);
	buf_release(&text);
	return copy;
}

static bool
field_is(const struct json_object *o, const char *key, const char *value)
{
	const char *got = js_get_string(o, key);

	return got != NULL && strcmp(got, value) == 0;
}

static bool
record_is_sound(struct json_object *o, const char *tier)
{
	char *here = directory_text();
	char seal[DIGEST_HEX_SIZE];
	int64_t format = 0;
	bool is_ok = false;
	bool sound;

	sound = here != NULL && js_get_int(o, "format", &format) &&
		format == RECORD_FORMAT && field_is(o, "tier", tier) &&
		field_is(o, "directory", here) && js_get_string(o, "inputs") != NULL &&
		js_get_string(o, "flags") != NULL &&
		js_get_string(o, "finishedAt") != NULL &&
		js_get_bool(js_get(o, "report"), "ok", &is_ok) && is_ok;
	free(here);
	if (!sound)
		return false;
	record_seal(o, seal);
	return field_is(o, "seal", seal);
}

bool
record_file_is_ours(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool
record_read(const char *tier, struct record *ret_record)
{
	struct error ignored = ERROR_INIT;
	struct json_object *o = NULL;
	char *path = record_path(tier);
	bool is_there, moves = false;

	is_there = record_file_is_ours(path) &&
		   js_read(path, RECORD_BYTES_MAX, &o, &ignored) == 0 &&
		   record_is_sound(o, tier);
	(void)js_get_bool(o, "movesMark", &moves);
	if (is_there)
		*ret_record = (struct record){
			.inputs = xstrdup(js_get_string(o, "inputs")),
			.flags = xstrdup(js_get_string(o, "flags")),
			.finished_at = xstrdup(js_get_string(o, "finishedAt")),
			.moves_mark = moves,
			.report = json_object_get(js_get(o, "report")),
		};
	(void)json_object_put(o);
	free(path);
	return is_there;
}

int
record_write(const char *tier, const struct record *r, struct error *err)
{
	struct json_object *o = js_object();
	char *here = directory_text();
	char *path = record_path(tier);
	char seal[DIGEST_HEX_SIZE];
	struct buf text = BUF_INIT;
	int rc = -1;

	if (here == NULL) {
		(void)error_system(err, "%s", path);
		goto out;
	}
	js_add_int(o, "format", RECORD_FORMAT);
	js_add_string(o, "tier", tier);
	js_add_string(o, "directory", here);
	js_add_string(o, "inputs", r->inputs);
	js_add_string(o, "flags", r->flags);
	js_add_string(o, "finishedAt", r->finished_at);
	js_add_bool(o, "movesMark", r->moves_mark);
	js_add(o, "report", value_read_back(r->report));
	record_seal(o, seal);
	js_add_string(o, "seal", seal);
	js_write(o, JS_PRETTY, &text);
	rc = file_save(path, buf_text(&text), text.len, err);
out:
	(void)json_object_put(o);
	buf_release(&text);
	free(path);
	free(here);
	return rc;
}

int
record_remove(const char *tier, struct error *err)
{
	char *path = record_path(tier);
	int rc = 0;

	if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
		rc = error_system(err, "%s", path);
	free(path);
	return rc;
}

void
record_release(struct record *r)
{
	if (r == NULL)
		return;
	free(r->inputs);
	free(r->flags);
	free(r->finished_at);
	(void)json_object_put(r->report);
	*r = (struct record)RECORD_INIT;
}
