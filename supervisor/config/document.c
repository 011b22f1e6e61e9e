/* SPDX-License-Identifier: MIT */
#include "supervisor/config/document.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

/* json-c counts a level for the value in the innermost container, and one to look. */
enum {
	DOCUMENT_LEVELS = CONFIG_DEPTH_MAX + 2
};

static const int64_t exact_max = INT64_C(1) << 53; /* doubles are exact up to here */

static int
document_parse(struct document *d, struct error *err)
{
	struct json_tokener *tok = json_tokener_new_ex(DOCUMENT_LEVELS);
	const struct buf *text = &d->scan.text;
	enum json_tokener_error why;

	if (tok == NULL)
		abort(); /* out of memory, as in ipc/mem.c */
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* The NUL that follows a buffer's content ends a number at the end. */
	d->root = json_tokener_parse_ex(tok, text->data, (int)text->len + 1);
	why = json_tokener_get_error(tok);
	json_tokener_free(tok);
	if (why != json_tokener_success)
		return error_set(err, ERROR_CONFIG, "%s: %s", d->name,
				 json_tokener_error_desc(why));
	return 0;
}

static bool
document_same_kind(enum scan_kind kind, enum json_type type)
{
	static const enum json_type types[] = {
		[SCAN_OBJECT] = json_type_object, [SCAN_ARRAY] = json_type_array,
		[SCAN_STRING] = json_type_string, [SCAN_NUMBER] = json_type_int,
		[SCAN_TRUE] = json_type_boolean,  [SCAN_FALSE] = json_type_boolean,
		[SCAN_NULL] = json_type_null,
	};

	return types[kind] == type || (kind == SCAN_NUMBER && type == json_type_double);
}

/*
 * Number the nodes as the scan did.  Two readers of one text: where they differ
 * the text is refused rather than one of them believed.
 */
static bool
document_number(struct document *d, struct json_object *node, size_t value)
{
	size_t child = value + 1, end;

	if (value >= d->scan.nvalues)
		return false;
	end = d->scan.values[value].next;
	d->nodes[value] = node;
	if (!document_same_kind(document_kind(d, value), json_object_get_type(node)))
		return false;
	if (document_kind(d, value) == SCAN_OBJECT) {
		json_object_object_foreach(node, key, member)
		{
			if (child >= end ||
			    strcmp(key, config_scan_key(&d->scan, child)) != 0 ||
			    !document_number(d, member, child))
				return false;
			child = d->scan.values[child].next;
		}
	}
	if (document_kind(d, value) == SCAN_ARRAY) {
		for (size_t i = 0; i < json_object_array_length(node); i++) {
			if (child >= end ||
			    !document_number(d, json_object_array_get_idx(node, i),
					     child))
				return false;
			child = d->scan.values[child].next;
		}
	}
	return child == end;
}

int
document_read(const char *name, const char *text, size_t n, struct document *ret_document,
	      struct error *err)
{
	struct document d = DOCUMENT_INIT;
	int rc = -1;

	d.name = xstrdup(name);
	if (config_scan_text(name, text, n, &d.scan, err) != 0 ||
	    document_parse(&d, err) != 0)
		goto out;
	d.nodes = xcalloc(d.scan.nvalues, sizeof(*d.nodes));
	if (!document_number(&d, d.root, 0)) {
		(void)error_set(err, ERROR_CONFIG,
				"%s: two readings of it differ: write it plainer", name);
		goto out;
	}
	*ret_document = d;
	d = (struct document)DOCUMENT_INIT;
	rc = 0;
out:
	document_release(&d);
	return rc;
}

void
document_release(struct document *d)
{
	if (d == NULL)
		return;
	if (d->root != NULL)
		json_object_put(d->root);
	free(d->nodes);
	free(d->name);
	config_scan_release(&d->scan);
	*d = (struct document)DOCUMENT_INIT;
}

size_t
document_first(const struct document *d, size_t value)
{
	return value + 1 < d->scan.values[value].next ? value + 1 : 0;
}

size_t
document_next(const struct document *d, size_t child)
{
	const struct scan_value *v = d->scan.values + child;

	return v->next < d->scan.values[v->parent].next ? v->next : 0;
}

const char *
document_key(const struct document *d, size_t value)
{
	return config_scan_key(&d->scan, value);
}

enum scan_kind
document_kind(const struct document *d, size_t value)
{
	return d->scan.values[value].kind;
}

const char *
document_text(const struct document *d, size_t value)
{
	struct json_object *node = d->nodes[value];
	const char *text;

	if (document_kind(d, value) != SCAN_STRING)
		return NULL;
	text = json_object_get_string(node);
	return strlen(text) == (size_t)json_object_get_string_len(node) ? text : NULL;
}

bool
document_whole(const struct document *d, size_t value, int64_t min, int64_t max,
	       int64_t *ret_number)
{
	struct json_object *node = d->nodes[value];
	int64_t number;
	double exact;

	if (document_kind(d, value) != SCAN_NUMBER)
		return false;
	if (json_object_is_type(node, json_type_double)) {
		exact = json_object_get_double(node);
		/* Also false for infinity, which 1e999 is read as. */
		if (!(exact >= -(double)exact_max && exact <= (double)exact_max))
			return false;
		number = (int64_t)exact;
		if ((double)number < exact || (double)number > exact)
			return false;
	} else
		number = json_object_get_int64(node); /* past 64 bits: the nearest */
	if (number < min || number > max || number > exact_max || number < -exact_max)
		return false;
	*ret_number = number;
	return true;
}

char *
document_path(const struct document *d, size_t value)
{
	struct buf path = BUF_INIT;

	config_scan_path(&d->scan, value, &path);
	return buf_steal(&path);
}

static int __attribute__((format(printf, 5, 0)))
document_refuse_at(const struct document *d, size_t value, struct file_place place,
		   struct error *err, const char *fmt, va_list ap)
{
	char *path = document_path(d, value);
	char why[sizeof(err->text)];

	(void)vsnprintf(why, sizeof(why), fmt, ap);
	(void)error_set(err, ERROR_CONFIG, "%s:%u:%u: %s%s%s", d->name, place.line,
			place.column, path, *path != '\0' ? ": " : "", why);
	free(path);
	return -1;
}

int
document_refuse(const struct document *d, size_t value, struct error *err,
		const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)document_refuse_at(d, value, d->scan.values[value].place, err, fmt, ap);
	va_end(ap);
	return -1;
}

int
document_refuse_key(const struct document *d, size_t value, struct error *err,
		    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)document_refuse_at(d, value, d->scan.values[value].key_place, err, fmt, ap);
	va_end(ap);
	return -1;
}
