/* SPDX-License-Identifier: MIT */
#include "supervisor/green/record.h"

#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "supervisor/base/json.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PATH ".geonosis/green-fast.json"

static void
enter(void)
{
	(void)scratch_enter();
	cr_assert(mkdir(".geonosis", 0755) == 0);
}

TestSuite(record, .init = enter, .fini = scratch_leave);

static struct json_object *
report_of(const char *text)
{
	struct json_object *o = NULL;
	struct error e = ERROR_INIT;

	cr_assert(js_parse("report", text, strlen(text), &o, &e) == 0, "%s", e.text);
	return o;
}

/* Write one of `tier`: 0 or -1. */
static int
put(const char *tier, const char *report, bool moves)
{
	char inputs[] = "abc", flags[] = "--affected", at[] = "2026-01-01T00:00:00.000Z";
	struct record r = {
		.inputs = inputs,
		.flags = flags,
		.finished_at = at,
		.moves_mark = moves,
		.report = report_of(report),
	};
	struct error e = ERROR_INIT;
	int rc = record_write(tier, &r, &e);

	js_put(r.report);
	return rc;
}

static bool
is_believed(const char *tier)
{
	struct record r = RECORD_INIT;
	bool is = record_read(tier, &r);

	record_release(&r);
	return is;
}

Test(record, says_what_was_written)
{
	static const char *const reports[] = {
		"{\"ok\":true}",
		"{\"ok\":true,\"ms\":1e3,\"x\":1.50,\"y\":0.1,\"z\":-0}",
		"{\"ok\":true,\"tail\":\"\\u0000\\ud83d\\ude00/\\\"\\n\"}",
		"{\"ok\":true,\"steps\":[{\"ms\":9007199254740993}]}",
	};
	size_t i;

	for (i = 0; i < COUNT(reports); i++) {
		struct record r = RECORD_INIT;
		bool ok = false;

		cr_assert(put("fast", reports[i], i % 2 == 0) == 0);
		cr_assert(record_read("fast", &r), "%s", reports[i]);
		cr_expect_str_eq(r.inputs, "abc");
		cr_expect_str_eq(r.flags, "--affected");
		cr_expect_str_eq(r.finished_at, "2026-01-01T00:00:00.000Z");
		cr_expect(r.moves_mark == (i % 2 == 0));
		cr_expect(js_get_bool(r.report, "ok", &ok) && ok);
		record_release(&r);
	}
}

Test(record, is_of_one_tier)
{
	cr_assert(put("fast", "{\"ok\":true}", true) == 0);
	cr_expect(!is_believed("full"));
	cr_assert(rename(PATH, ".geonosis/green-full.json") == 0);
	cr_expect(!is_believed("full"));
	cr_expect(!is_believed("fast"));
}

/* The seal holds, and the report is none of a green. */
Test(record, is_of_a_green)
{
	static const char *const reports[] = { "{\"ok\":false}", "{}", "{\"ok\":1}",
					       "{\"ok\":\"true\"}", "[]" };
	size_t i;

	for (i = 0; i < COUNT(reports); i++) {
		cr_assert(put("fast", reports[i], true) == 0);
		cr_expect(!is_believed("fast"), "%s", reports[i]);
	}
}

Test(record, is_of_one_directory)
{
	cr_assert(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0);
	cr_assert(chdir("a") == 0 && mkdir(".geonosis", 0755) == 0);
	cr_assert(put("fast", "{\"ok\":true}", true) == 0);
	cr_expect(is_believed("fast"));
	cr_assert(rename(".geonosis", "../b/.geonosis") == 0 && chdir("../b") == 0);
	cr_expect(!is_believed("fast"));
	cr_assert(chdir("..") == 0 && rename("b", "\xff b") == 0 && chdir("\xff b") == 0);
	cr_assert(put("fast", "{\"ok\":true}", true) == 0);
	cr_expect(is_believed("fast"));
	cr_assert(chdir("..") == 0);
}

/* Each byte of a record, changed: it is none, or says the same. */
Test(record, is_sealed, .timeout = 120)
{
	char *whole, *changed;
	size_t n, i;

	cr_assert(put("fast", "{\"ok\":true,\"tail\":\"x\"}", true) == 0);
	whole = scratch_read(PATH);
	cr_assert(whole != NULL);
	n = strlen(whole);
	for (i = 0; i < n; i++) {
		struct record r = RECORD_INIT;

		changed = xstrdup(whole);
		changed[i] = changed[i] == 'x' ? 'y' : 'x';
		scratch_write(PATH, changed);
		/* A blank of the layout cannot become a letter. */
		cr_expect(!record_read("fast", &r), "byte %zu of %s", i, changed);
		record_release(&r);
		free(changed);
	}
	scratch_write(PATH, whole);
	cr_expect(is_believed("fast"));
	free(whole);
}

Test(record, is_whole)
{
	char *whole;
	size_t n;

	cr_assert(put("fast", "{\"ok\":true}", true) == 0);
	whole = scratch_read(PATH);
	n = strlen(whole) - 1;
	/* The newline at the end says nothing. */
	cr_assert(whole[n] == '\n');
	while (n-- > 0) {
		whole[n] = '\0';
		scratch_write(PATH, whole);
		cr_expect(!is_believed("fast"), "%zu bytes", n);
	}
	free(whole);
}

Test(record, is_ones_own)
{
	static const mode_t shared[] = { 0620, 0602, 0666, 0660 };
	size_t i;

	cr_expect(!record_file_is_ours(PATH));
	cr_assert(put("fast", "{\"ok\":true}", true) == 0);
	cr_expect(record_file_is_ours(PATH));
	for (i = 0; i < COUNT(shared); i++) {
		cr_assert(chmod(PATH, shared[i]) == 0);
		cr_expect(!is_believed("fast"), "mode %o", (unsigned)shared[i]);
	}
	cr_assert(chmod(PATH, 0644) == 0);
	cr_expect(is_believed("fast"));
	cr_assert(rename(PATH, "elsewhere") == 0 && symlink("../elsewhere", PATH) == 0);
	cr_expect(!is_believed("fast"));
	cr_assert(unlink(PATH) == 0 && mkfifo(PATH, 0600) == 0);
	cr_expect(!is_believed("fast"));
	cr_assert(unlink(PATH) == 0 && mkdir(PATH, 0700) == 0);
	cr_expect(!is_believed("fast"));
}

Test(record, is_taken_away)
{
	struct error e = ERROR_INIT;

	cr_expect(record_remove("fast", &e) == 0);
	cr_assert(put("fast", "{\"ok\":true}", true) == 0);
	cr_expect(record_remove("fast", &e) == 0);
	cr_expect(!is_believed("fast"));
	cr_assert(mkdir(PATH, 0700) == 0);
	cr_expect(record_remove("fast", &e) == -1 && e.kind == ERROR_SYSTEM);
}

Test(record, cannot_be_written)
{
	cr_assert(rmdir(".geonosis") == 0);
	cr_expect(put("fast", "{\"ok\":true}", true) == -1);
	cr_expect(!is_believed("fast"));
}
