/* SPDX-License-Identifier: MIT */
/*
 * JSON in and out: the few things that every writer and reader of it needs,
 * over json-c.  (`json_` belongs to json-c, so the functions here are `js_`.)
 *
 * A value added to an object or an array is handed over; one got from it is
 * borrowed.  json_object_put() gives back what nobody took.
 */
#ifndef SUPERVISOR_BASE_JSON_H
#define SUPERVISOR_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "ipc/error.h"

struct json_object; /* json-c's */

enum js_form {
	JS_PRETTY, /* two spaces a level, `"key": value` */
	JS_LINE,   /* one line, no blanks */
};

enum {
	JS_DEPTH_MAX = 64
};

struct json_object *js_object(void);
struct json_object *js_array(void);
/* A string; bytes that are no UTF-8 become U+FFFD, NULL is "". */
struct json_object *js_string(const char *s);

/* Keys must live as long as the object (literals do) and be new to it. */
void js_add(struct json_object *object, const char *key, struct json_object *value);
void js_add_string(struct json_object *object, const char *key, const char *s);
/* The same, but NULL adds nothing. */
void js_add_optional(struct json_object *object, const char *key, const char *s);
void js_add_int(struct json_object *object, const char *key, int64_t n);
void js_add_bool(struct json_object *object, const char *key, bool b);
/* With two decimals; what is no finite number is written as 0. */
void js_add_decimal(struct json_object *object, const char *key, double d);
/* Append to an array. */
void js_push(struct json_object *array, struct json_object *value);

/* Give a value back, as json_object_put(); NULL is fine. */
void js_put(struct json_object *value);

/* Append the text and a newline; slashes are not escaped. */
void js_write(struct json_object *value, enum js_form form, struct buf *out);

/*
 * Parse untrusted text strictly (RFC 8259: no comments, trailing commas, single
 * quotes, NaN; valid UTF-8, nothing after the end, at most JS_DEPTH_MAX deep).  Of two
 * equal keys the last counts.  On failure *err (ERROR_DATA) begins with `name`.  The
 * caller puts the value.  A lone `null` is refused: no value is ever NULL.
 */
int js_parse(const char *name, const char *text, size_t n, struct json_object **ret_value,
	     struct error *err);
/* The same from a file of at most `max` bytes; fails as file_read does, too. */
int js_read(const char *path, size_t max, struct json_object **ret_value,
	    struct error *err);

/*
 * Members of what was read, by key; borrowed.  NULL or false where `object` is no
 * object, the key is missing, or the value has another type.
 */
struct json_object *js_get(const struct json_object *object, const char *key);
/* NULL too for a string with a NUL in it. */
const char *js_get_string(const struct json_object *object, const char *key);
bool js_get_int(const struct json_object *object, const char *key, int64_t *ret_n);
bool js_get_bool(const struct json_object *object, const char *key, bool *ret_b);

#endif
