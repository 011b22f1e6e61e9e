/* SPDX-License-Identifier: MIT */
#include "supervisor/base/json.h"

#include <criterion/criterion.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/fd.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
expect_written(struct json_object *o, enum js_form form, const char *want)
{
	struct buf out = BUF_INIT;

	js_write(o, form, &out);
	cr_expect_str_eq(buf_text(&out), want);
	buf_release(&out);
}

Test(json, written_forms)
{
	struct json_object *o = js_object();
	struct json_object *list = js_array();

	js_add_string(o, "path", "a/b\t\"\x01\x7f\xc3\xa9");
	js_add_string(o, "broken", "a\xff\xed\xa0\x80z");
	js_add_string(o, "none", NULL);
	js_add_int(o, "big", INT64_MAX);
	js_add_int(o, "small", INT64_MIN);
	js_add_bool(o, "yes", true);
	js_add_decimal(o, "load", 4.1);
	js_add_decimal(o, "nan", (double)NAN);
	js_push(list, js_string("x"));
	js_add(o, "list", list);
	expect_written(o, JS_PRETTY,
		       "{\n"
		       "  \"path\": \"a/b\\t\\\"\\u0001\x7f\xc3\xa9\",\n"
		       "  \"broken\": \"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
		       "\xef\xbf\xbdz\",\n"
		       "  \"none\": \"\",\n"
		       "  \"big\": 9223372036854775807,\n"
		       "  \"small\": -9223372036854775808,\n"
		       "  \"yes\": true,\n"
		       "  \"load\": 4.10,\n"
		       "  \"nan\": 0.00,\n"
		       "  \"list\": [\n"
		       "    \"x\"\n"
		       "  ]\n"
		       "}\n");
	json_object_put(o);
	o = js_object();
	js_add_int(o, "a", 1);
	js_add(o, "b", js_array());
	expect_written(o, JS_LINE, "{\"a\":1,\"b\":[]}\n");
	json_object_put(o);
}

/* A NULL reading: refused. */
struct parse_case {
	const char *text, *reading;
};

static const struct parse_case parses[] = {
	{ "{}", "{}" },
	{ " {\"a\":[1,-2.5e3,true,null,\"\\u00e9\"]}\r\n\n",
	  "{\"a\":[1,-2.5e3,true,null,\"\xc3\xa9\"]}" },
	{ "3", "3" },
	{ "\"it's\"", "\"it's\"" },
	{ "\"a.\"", "\"a.\"" },
	{ "\"\\\"'\"", "\"\\\"'\"" },
	{ "{\"a\":1,\"a\":2}", "{\"a\":2}" },
	{ "", NULL },
	{ "  ", NULL },
	{ "null", NULL },
	{ "{", NULL },
	{ "[1", NULL },
	{ "{\"a\"", NULL },
	{ "\"a", NULL },
	{ "tru", NULL },
	{ "{} x", NULL },
	{ "{}\n\n{}", NULL },
	{ "[1]]", NULL },
	{ "[1,]", NULL },
	{ "{\"a\":1,}", NULL },
	{ "{a:1}", NULL },
	{ "{'a':1}", NULL },
	{ "['a']", NULL },
	{ "// c\n{}", NULL },
	{ "{}/* c */", NULL },
	{ "\xef\xbb\xbf{}", NULL },
	{ "[NaN]", NULL },
	{ "[-Infinity]", NULL },
	{ "[1e999]", NULL },
	{ "[TRUE]", NULL },
	{ "[01]", NULL },
	{ "[1.]", NULL },
	{ "[.5]", NULL },
	{ "[+1]", NULL },
	{ "\"a\nb\"", NULL },
	{ "\"a\tb\"", NULL },
	{ "\"\xff\"", NULL },
	{ "\"\xed\xa0\x80\"", NULL },
};

Test(json, parsed_strictly)
{
	for (size_t i = 0; i < COUNT(parses); i++) {
		struct json_object *o = NULL;
		struct error err = ERROR_INIT;
		int rc =
		    js_parse("name", parses[i].text, strlen(parses[i].text), &o, &err);
		struct buf out = BUF_INIT;

		cr_expect_eq(rc, parses[i].reading != NULL ? 0 : -1, "case %zu: %s", i,
			     parses[i].text);
		if (rc < 0) {
			cr_expect_null(o);
			cr_expect_eq(err.kind, ERROR_DATA);
			cr_expect_eq(strncmp(err.text, "name: ", 6), 0, "%s", err.text);
			continue;
		}
		js_write(o, JS_LINE, &out);
		out.data[out.len - 1] = '\0';
		if (parses[i].reading != NULL)
			cr_expect_str_eq(out.data, parses[i].reading, "case %zu", i);
		buf_release(&out);
		json_object_put(o);
	}
}

Test(json, a_nul_and_the_length_are_seen)
{
	struct json_object *o = NULL;
	struct error err = ERROR_INIT;

	cr_expect_eq(js_parse("n", "{}\0{}", 5, &o, &err), -1);
	cr_expect_eq(js_parse("n", "12]", 2, &o, &err), 0, "%s", err.text);
	cr_expect_eq(json_object_get_int64(o), 12);
	json_object_put(o);
}

Test(json, depth_is_bounded)
{
	for (size_t depth = JS_DEPTH_MAX; depth <= JS_DEPTH_MAX + 1; depth++) {
		char text[2 * JS_DEPTH_MAX + 2];
		struct json_object *o = NULL;
		struct error err = ERROR_INIT;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		cr_expect_eq(js_parse("n", text, 2 * depth, &o, &err),
			     depth <= JS_DEPTH_MAX ? 0 : -1, "%zu", depth);
		json_object_put(o);
	}
}

Test(json, members_by_type)
{
	static const char text[] = "{\"s\":\"x\",\"nul\":\"a\\u0000b\",\"i\":5,\"d\":5.5,"
				   "\"b\":true,\"n\":null}";
	struct json_object *o = NULL;
	struct error err = ERROR_INIT;
	int64_t n = 0;
	bool b = false;

	cr_assert_eq(js_parse("n", text, strlen(text), &o, &err), 0, "%s", err.text);
	cr_expect_str_eq(js_get_string(o, "s"), "x");
	cr_expect_null(js_get_string(o, "nul"));
	cr_expect_null(js_get_string(o, "i"));
	cr_expect_null(js_get_string(o, "n"));
	cr_expect_null(js_get_string(o, "missing"));
	cr_expect(js_get_int(o, "i", &n) && n == 5);
	cr_expect_not(js_get_int(o, "d", &n));
	cr_expect_not(js_get_int(o, "s", &n));
	cr_expect(js_get_bool(o, "b", &b) && b);
	cr_expect_not(js_get_bool(o, "i", &b));
	cr_expect_null(js_get(js_get(o, "s"), "x"), "no object");
	cr_expect_null(js_get(NULL, "x"));
	json_object_put(o);
}

Test(json, files)
{
	char path[] = "/tmp/test-json.XXXXXX";
	int fd = mkstemp(path);
	struct json_object *o = NULL;
	struct error err = ERROR_INIT;

	cr_assert_eq(fd_write(fd, "{\"a\":1}\n", 8), 0);
	cr_expect_eq(js_read(path, 100, &o, &err), 0, "%s", err.text);
	json_object_put(o);
	cr_expect_eq(js_read(path, 7, &o, &err), -1, "larger than allowed");
	cr_assert_eq(ftruncate(fd, 3), 0);
	cr_expect_eq(js_read(path, 100, &o, &err), -1, "cut");
	cr_expect_not_null(strstr(err.text, path), "%s", err.text);
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_expect_eq(js_read(path, 100, &o, &err), -1, "empty");
	fd_close(&fd);
	cr_assert_eq(unlink(path), 0);
	cr_expect_eq(js_read(path, 100, &o, &err), -1);
	cr_expect_eq(err.kind, ERROR_SYSTEM, "a file that is not there is told apart");
}
