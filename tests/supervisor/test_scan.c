/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/config/scan.h"

static struct config_scan
scan_good(const char *text, size_t n)
{
	struct error err = ERROR_INIT;
	struct config_scan s = SCAN_INIT;

	cr_assert(config_scan_text("f", text, n, &s, &err) == 0, "%s: %s", text,
		  err.text);
	return s;
}

Test(scan, hands_on_strict_json_of_the_same_length)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "[1]", "[1]" },
		{ "\xef\xbb\xbf{}", "   {}" },
		{ "[1,]", "[1 ]" },
		{ "{\"a\":1,}", "{\"a\":1 }" },
		{ "[1 , /* c */ ]", "[1           ]" },
		{ "[1, // c\n]", "[1      \n]" },
		{ "/**/[]//", "    []  " },
		{ "/*/ */[]", "      []" },
		{ "[\"//\",\"/* */\",\",]\"]", "[\"//\",\"/* */\",\",]\"]" },
		{ "// a\r\n{\r\n}\r\n", "     \n{\r\n}\r\n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_scan s = scan_good(rows[i].in, strlen(rows[i].in));

		cr_expect(strcmp(buf_text(&s.text), rows[i].out) == 0, "%s: %s",
			  rows[i].in, buf_text(&s.text));
		config_scan_release(&s);
	}
}

Test(scan, knows_where_each_value_stands)
{
	static const char text[] = "{ // c\n"
				   "  \"a\": [1, {\"b c\": true}],\r\n"
				   "\t/* \n */ \"x\\u002ey\": null }";
	static const struct {
		const char *path;
		unsigned line, column;
		enum scan_kind kind;
	} rows[] = {
		{ "", 1, 1, SCAN_OBJECT },
		{ "a", 2, 8, SCAN_ARRAY },
		{ "a[0]", 2, 9, SCAN_NUMBER },
		{ "a[1]", 2, 12, SCAN_OBJECT },
		{ "a[1][\"b c\"]", 2, 20, SCAN_TRUE },
		{ "[\"x.y\"]", 4, 17, SCAN_NULL },
	};
	struct config_scan s = scan_good(text, sizeof(text) - 1);

	cr_assert(s.nvalues == sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < s.nvalues; i++) {
		struct buf path = BUF_INIT;

		config_scan_path(&s, i, &path);
		cr_expect(strcmp(buf_text(&path), rows[i].path) == 0, "%zu: %s", i,
			  buf_text(&path));
		cr_expect(s.values[i].place.line == rows[i].line &&
			      s.values[i].place.column == rows[i].column,
			  "%s: %u:%u", rows[i].path, s.values[i].place.line,
			  s.values[i].place.column);
		cr_expect(s.values[i].kind == rows[i].kind, "%s", rows[i].path);
		buf_release(&path);
	}
	cr_expect(s.values[0].next == 6 && s.values[1].next == 5 &&
		  s.values[3].next == 5);
	config_scan_release(&s);
}

Test(scan, unescapes_keys)
{
	static const char text[] = "{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac"
				   "\\ud83d\\ude00\": 1, \"\": 2}";
	struct config_scan s = scan_good(text, sizeof(text) - 1);

	cr_expect(strcmp(config_scan_key(&s, 1), "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac"
						 "\xf0\x9f\x98\x80") == 0,
		  "%s", config_scan_key(&s, 1));
	cr_expect(strcmp(config_scan_key(&s, 2), "") == 0);
	cr_expect(strcmp(config_scan_key(&s, 0), "") == 0);
	config_scan_release(&s);
}

Test(scan, leaves_its_output_alone_when_it_refuses)
{
	struct config_scan s = SCAN_INIT;
	struct error err = ERROR_INIT;

	s.nvalues = 7;
	cr_expect(config_scan_text("f.json", "[1,2", 4, &s, &err) == -1);
	cr_expect(s.nvalues == 7 && s.values == NULL);
	cr_expect(err.kind == ERROR_CONFIG);
	cr_expect(strncmp(err.text, "f.json:1:5: ", 12) == 0, "%s", err.text);
	cr_expect(config_scan_text("f.json", "[\0]", 3, &s, &err) == -1);
	cr_expect(strncmp(err.text, "f.json:1:2: the byte 0x00", 25) == 0, "%s",
		  err.text);
}

/* Every prefix of a text is refused: nothing that was cut passes for whole. */
Test(scan, refuses_every_cut)
{
	static const char text[] =
	    "{\"k\\u0041\": [1.5e+3, -0, true, false, null, \"a\\n\","
	    " {\"b\": [[]]}, /* c */ \"\xe2\x82\xac\",],}";
	struct config_scan s = SCAN_INIT;
	struct error err;

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		err = (struct error)ERROR_INIT;
		cr_expect(config_scan_text("f", text, n, &s, &err) == -1,
			  "%zu bytes pass", n);
		cr_expect(err.text[0] != '\0');
	}
	s = scan_good(text, sizeof(text) - 1);
	config_scan_release(&s);
}

/* The same work twice as large may not take much more than twice the time. */
static int64_t
scan_time(const char *open, const char *unit, const char *tail, const char *close,
	  size_t times)
{
	struct buf text = BUF_INIT;
	struct config_scan s = SCAN_INIT;
	struct error err = ERROR_INIT;
	int64_t start;

	buf_puts(&text, open);
	for (size_t i = 0; i < times; i++) {
		buf_puts(&text, unit);
		if (tail != NULL)
			buf_printf(&text, "%zu%s", i, tail);
	}
	buf_puts(&text, close);
	start = clock_now_ms();
	if (config_scan_text("f", text.data, text.len, &s, &err) == 0)
		config_scan_release(&s);
	start = clock_now_ms() - start;
	buf_release(&text);
	return start;
}

Test(scan, takes_large_texts, .timeout = 60)
{
	static const struct {
		const char *name, *open, *unit, *tail, *close;
		size_t times;
	} rows[] = {
		{ "keys", "{", "\"key", "\":0,", "}", 200000 },
		{ "same keys", "{", "\"key\":", ",", "}", 200000 },
		{ "keys that differ late", "{",
		  "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\":0,",
		  "}", 100000 },
		{ "a string", "\"", "abcd", NULL, "\"", 2000000 },
		{ "brackets", "", "[", NULL, "", 2000000 },
		{ "comments", "[", "/*", "*/\n", "]", 1000000 },
		{ "newlines", "[", "\n", NULL, "]", 4000000 },
		{ "a number", "", "1234", NULL, "", 1000000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ms = scan_time(rows[i].open, rows[i].unit, rows[i].tail,
				       rows[i].close, rows[i].times);

		/* Some ten milliseconds; quadratic ones would take minutes. */
		cr_expect(ms < 5000, "%s: %lld ms", rows[i].name, (long long)ms);
	}
}

Test(scan, bounds_the_number_of_values)
{
	struct buf text = BUF_INIT;
	struct config_scan s = SCAN_INIT;
	struct error err = ERROR_INIT;

	buf_putc(&text, '[');
	for (size_t i = 0; i < SCAN_VALUES_MAX; i++)
		buf_puts(&text, "1,");
	buf_putc(&text, ']');
	cr_expect(config_scan_text("f", text.data, text.len, &s, &err) == -1);
	cr_expect(strstr(err.text, "more than a million values") != NULL, "%s", err.text);
	/* One fewer, with the list itself, is the most there may be. */
	text.data[text.len - 3] = ' ';
	text.data[text.len - 2] = ' ';
	cr_expect(config_scan_text("f", text.data, text.len, &s, &err) == 0);
	cr_expect(s.nvalues == SCAN_VALUES_MAX);
	config_scan_release(&s);
	buf_release(&text);
}
