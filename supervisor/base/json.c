/* SPDX-License-Identifier: MIT */
#include "supervisor/base/json.h"

#include <assert.h>
#include <json-c/json.h>
#include <json-c/json_visit.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/fd.h"
#include "supervisor/base/text.h"

/* json-c answers NULL only when memory is out, and that aborts (ipc/mem.h). */
static struct json_object *
made(struct json_object *value)
{
	if (value == NULL)
		abort();
	return value;
}

struct json_object *
js_object(void)
{
	return made(json_object_new_object());
}

struct json_object *
js_array(void)
{
	return made(json_object_new_array());
}

/* Unlike text_clean this keeps controls: JSON escapes them, and a reader gets them
 * back. */
static void
utf8_repair(struct buf *out, const char *s, size_t n)
{
	size_t at = 0, len;

	while (at < n) {
		len = utf8_sequence(s + at, n - at);
		if (len == 0)
			buf_puts(out, "\xef\xbf\xbd");
		else
			buf_append(out, s + at, len);
		at += len > 0 ? len : 1;
	}
}

struct json_object *
js_string(const char *s)
{
	size_t n = s != NULL ? strlen(s) : 0;
	struct buf b = BUF_INIT;
	struct json_object *value;

	if (n == 0)
		return made(json_object_new_string(""));
	if (!utf8_valid(s, n)) {
		utf8_repair(&b, s, n);
		s = b.data;
		n = b.len;
	}
	assert(n <= INT_MAX); /* tails and command lines are bounded */
	value = made(json_object_new_string_len(s, (int)n));
	buf_release(&b);
	return value;
}

void
js_add(struct json_object *object, const char *key, struct json_object *value)
{
	unsigned how = JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY;

	if (json_object_object_add_ex(object, key, value, how) < 0)
		abort();
}

void
js_add_string(struct json_object *object, const char *key, const char *s)
{
	js_add(object, key, js_string(s));
}

void
js_add_optional(struct json_object *object, const char *key, const char *s)
{
	if (s != NULL)
		js_add_string(object, key, s);
}

void
js_add_int(struct json_object *object, const char *key, int64_t n)
{
	js_add(object, key, made(json_object_new_int64(n)));
}

void
js_add_bool(struct json_object *object, const char *key, bool b)
{
	js_add(object, key, made(json_object_new_boolean(b)));
}

void
js_add_decimal(struct json_object *object, const char *key, double d)
{
	char text[400]; /* DBL_MAX has 309 digits */

	if (!isfinite(d))
		d = 0;
	(void)snprintf(text, sizeof(text), "%.2f", d);
	js_add(object, key, made(json_object_new_double_s(d, text)));
}

void
js_push(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, value) < 0)
		abort();
}

void
js_put(struct json_object *value)
{
	(void)json_object_put(value);
}

void
js_write(struct json_object *value, enum js_form form, struct buf *out)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text;
	size_t n;

	if (form == JS_PRETTY)
		flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	text = json_object_to_json_string_length(value, flags, &n);
	if (text == NULL)
		abort();
	buf_append(out, text, n);
	buf_putc(out, '\n');
}

/* NaN and the infinities, which json-c reads even when strict. */
static int
number_visit(struct json_object *value, int flags, struct json_object *parent,
	     const char *key, size_t *index, void *arg)
{
	bool *sound = arg;

	(void)flags;
	(void)parent;
	(void)key;
	(void)index;
	if (!json_object_is_type(value, json_type_double) ||
	    isfinite(json_object_get_double(value)))
		return JSON_C_VISIT_RETURN_CONTINUE;
	*sound = false;
	return JSON_C_VISIT_RETURN_STOP;
}

static bool
numbers_sound(struct json_object *value)
{
	bool sound = true;

	return json_c_visit(value, 0, number_visit, &sound) == 0 && sound;
}

/* What json-c lets pass even when strict: single quotes, `1.`, raw controls. */
static bool
text_strict(const char *text, size_t n)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < n; i++) {
		char c = text[i];

		if (quoted && c == '\\' && i + 1 < n)
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (quoted && (unsigned char)c < 0x20)
			return false;
		else if (!quoted && c == '\'')
			return false;
		else if (!quoted && c == '.' &&
			 (i + 1 == n || text[i + 1] < '0' || text[i + 1] > '9'))
			return false;
	}
	return true;
}

/* Parse all of it; NULL with the reason where it is no JSON. */
static struct json_object *
text_parse(struct json_tokener *t, const char *text, size_t n, const char **ret_why)
{
	struct json_object *value = json_tokener_parse_ex(t, text, (int)n);
	enum json_tokener_error e = json_tokener_get_error(t);
	size_t end = json_tokener_get_parse_end(t);

	*ret_why = NULL;
	if (e == json_tokener_continue) {
		/* A number ends where the text does; all else is cut off here. */
		value = json_tokener_parse_ex(t, "", 1);
		e = json_tokener_get_error(t);
		end = n;
	}
	if (e != json_tokener_success)
		*ret_why = json_tokener_error_desc(e);
	else if (end + strspn(text + end, " \t\r\n") < n)
		*ret_why = "something stands after the end";
	else if (value == NULL)
		*ret_why = "null is no record";
	else if (!numbers_sound(value))
		*ret_why = "a number is not finite";
	if (*ret_why == NULL)
		return value;
	json_object_put(value);
	return NULL;
}

int
js_parse(const char *name, const char *text, size_t n, struct json_object **ret_value,
	 struct error *err)
{
	struct json_tokener *t;
	struct json_object *value;
	struct buf copy = BUF_INIT;
	const char *why;

	if (n > INT_MAX - 1)
		return error_set(err, ERROR_DATA, "%s: too large", name);
	if (memchr(text, '\0', n) != NULL || !utf8_valid(text, n))
		return error_set(err, ERROR_DATA, "%s: not UTF-8 text", name);
	if (!text_strict(text, n))
		return error_set(
		    err, ERROR_DATA,
		    "%s: not JSON: a single quote, a raw control or a number "
		    "without its digits",
		    name);
	t = json_tokener_new_ex(JS_DEPTH_MAX);
	if (t == NULL)
		abort();
	json_tokener_set_flags(t, JSON_TOKENER_STRICT);
	/* The reader looks past the end for a NUL. */
	buf_append(&copy, text, n);
	value = text_parse(t, copy.data, n, &why);
	json_tokener_free(t);
	buf_release(&copy);
	if (value == NULL)
		return error_set(err, ERROR_DATA, "%s: not JSON: %s", name, why);
	*ret_value = value;
	return 0;
}

int
js_read(const char *path, size_t max, struct json_object **ret_value, struct error *err)
{
	struct buf b = BUF_INIT;
	int rc = file_read(path, max, &b, err);

	if (rc == 0)
		rc = js_parse(path, buf_text(&b), b.len, ret_value, err);
	buf_release(&b);
	return rc;
}

struct json_object *
js_get(const struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, key, &value))
		return NULL;
	return value;
}

const char *
js_get_string(const struct json_object *object, const char *key)
{
	struct json_object *value = js_get(object, key);
	const char *s;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	s = json_object_get_string(value);
	return strlen(s) == (size_t)json_object_get_string_len(value) ? s : NULL;
}

bool
js_get_int(const struct json_object *object, const char *key, int64_t *ret_n)
{
	struct json_object *value = js_get(object, key);

	if (!json_object_is_type(value, json_type_int))
		return false;
	*ret_n = json_object_get_int64(value);
	return true;
}

bool
js_get_bool(const struct json_object *object, const char *key, bool *ret_b)
{
	struct json_object *value = js_get(object, key);

	if (!json_object_is_type(value, json_type_boolean))
		return false;
	*ret_b = json_object_get_boolean(value) != 0;
	return true;
}
