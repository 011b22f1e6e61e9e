/* SPDX-License-Identifier: MIT */
/* What a scan found, told: names and paths. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/base/text.h"
#include "supervisor/config/scan.h"

enum {
	PATH_KEY_BYTES = 120, /* of a name that is shown: a tier's fits */
};

const char *
config_scan_key(const struct config_scan *s, size_t value)
{
	return s->values[value].key_bytes > 0 ? s->keys.data + s->values[value].key : "";
}

static bool
path_key_is_plain(const char *key)
{
	static const char first[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
	static const char rest[] = "0123456789-";

	if (strspn(key, first) == 0)
		return false;
	for (; *key != '\0'; key++)
		if (strchr(first, *key) == NULL && strchr(rest, *key) == NULL)
			return false;
	return true;
}

/* `.name`, or `["odd name"]`. */
static void
path_append_key(struct buf *out, const char *key, size_t bytes)
{
	size_t shown = bytes;
	char *clean;

	if (bytes > PATH_KEY_BYTES)
		for (shown = PATH_KEY_BYTES; (key[shown] & 0xc0) == 0x80; shown--)
			;
	if (shown == bytes && path_key_is_plain(key)) {
		if (out->len > 0)
			buf_putc(out, '.');
		buf_puts(out, key);
		return;
	}
	clean = text_clean(key, shown);
	buf_puts(out, "[\"");
	for (const char *c = clean; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *c);
	}
	buf_puts(out, shown < bytes ? "…\"]" : "\"]");
	free(clean);
}

void
config_scan_path(const struct config_scan *s, size_t value, struct buf *out)
{
	size_t chain[CONFIG_DEPTH_MAX + 1], n = 0;

	for (; value != 0; value = s->values[value].parent)
		chain[n++] = value;
	while (n > 0) {
		const struct scan_value *v = s->values + chain[--n];

		if (s->values[v->parent].kind == SCAN_ARRAY)
			buf_printf(out, "[%u]", v->ordinal);
		else
			path_append_key(out, config_scan_key(s, chain[n]), v->key_bytes);
	}
}

void
config_scan_release(struct config_scan *s)
{
	if (s == NULL)
		return;
	buf_release(&s->text);
	buf_release(&s->keys);
	free(s->values);
	*s = (struct config_scan)SCAN_INIT;
}
