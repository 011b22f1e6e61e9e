/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/base/json.h"
#include "supervisor/config/config.h"
#include "supervisor/config/keys.h"
#include "supervisor/config/print.h"
#include "supervisor/config/schema.h"
#include "tests/supervisor/cases.h"

static bool
text_fits(const char *text, const char *expected)
{
	size_t n = strlen(expected);

	if (n >= 3 && strcmp(expected + n - 3, "...") == 0)
		return strncmp(text, expected, n - 3) == 0;
	return strcmp(text, expected) == 0;
}

Test(config, refuses_the_bad_ones, .timeout = 60)
{
	struct cases cases = cases_read("bad-configs.txt");

	for (size_t i = 0; i < cases.nitems; i++) {
		const struct test_case *t = cases.items + i;
		struct config c = CONFIG_INIT;
		struct error err = ERROR_INIT;
		int rc = config_parse(CONFIG_FILE, buf_text(&t->input), t->input.len, &c,
				      &err);

		cr_expect(rc == -1, "bad-configs.txt:%u: accepted", t->line);
		cr_expect(text_fits(err.text, t->expected), "bad-configs.txt:%u: %s",
			  t->line, err.text);
		cr_expect(err.kind == ERROR_CONFIG && c.tiers == NULL);
		config_release(&c);
	}
	cr_expect(cases.nitems >= 150);
	cases_release(&cases);
}

static void
show_list(struct buf *out, const char *name, const struct string_list *l)
{
	if (l->nitems == 0)
		return;
	buf_printf(out, " | %s", name);
	for (size_t i = 0; i < l->nitems; i++)
		buf_printf(out, "%s%s", i > 0 ? ", " : " ", l->items[i]);
}

static void
show_text(struct buf *out, const char *name, const char *text)
{
	if (text != NULL)
		buf_printf(out, " | %s %s", name, text);
}

static void
show_step(struct buf *out, const struct step *s)
{
	buf_printf(out, "%s %s", s->id, s->command);
	if (s->per == STEP_PER_WORKSPACE)
		buf_puts(out, " | per workspace");
	if (s->per == STEP_PER_SHARD)
		buf_printf(out, " | %u shards", s->shards);
	show_list(out, "exclude", &s->exclude);
	show_text(out, "batch", s->batch);
	show_list(out, "also", &s->also);
	buf_puts(out, s->counts ? " | counts" : "");
	buf_puts(out, s->graph ? " | graph" : "");
	show_text(out, "turbo", s->turbo);
	buf_puts(out, s->force ? " | force" : "");
	show_text(out, "plant", s->plant);
	show_text(out, "expect", s->expect);
	buf_puts(out, s->history ? " | history" : "");
	buf_puts(out, s->runner ? " | runner" : "");
	show_text(out, "mark", s->failure_mark);
	if (s->slots_kind == STEP_SLOTS_ALL)
		buf_puts(out, " | all slots");
	if (s->slots_kind == STEP_SLOTS_NUMBER)
		buf_printf(out, " | %u slots", s->slots);
	buf_puts(out, s->jobserver ? " | jobserver" : "");
}

static void
show_items(struct buf *out, const struct config *c, const struct item *items, size_t n,
	   int depth)
{
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "\n%*s", depth * 2, "");
		switch (items[i].kind) {
		case ITEM_STEP:
			show_step(out, items[i].step);
			break;
		case ITEM_TIER:
			buf_printf(out, "= %s", c->tiers[items[i].tier].name);
			break;
		case ITEM_GROUP:
			buf_puts(out, "parallel");
			show_items(out, c, items[i].members, items[i].nmembers,
				   depth + 1);
			break;
		}
	}
}

static bool
documents_are_default(const struct string_list *l)
{
	return l->nitems == 2 && strcmp(l->items[0], "**/*.md") == 0 &&
	       strcmp(l->items[1], ".changeset/**") == 0;
}

/* The tiers, and under them what else is said. */
static char *
show_config(const struct config *c)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < c->ntiers; i++) {
		buf_printf(&out, "%s%s", i > 0 ? "\n" : "", c->tiers[i].name);
		if (c->tiers[i].budget_ms >= 0)
			buf_printf(&out, " (%lld ms)", (long long)c->tiers[i].budget_ms);
		show_items(&out, c, c->tiers[i].items, c->tiers[i].nitems, 1);
	}
	if (c->caps_heavy > 0)
		buf_printf(&out, "\n | heavy %u", c->caps_heavy);
	if (!documents_are_default(&c->documents)) {
		buf_puts(&out, c->documents.nitems > 0 ? "\n" : "\n | no documents");
		show_list(&out, "documents", &c->documents);
	}
	buf_puts(&out, c->version_files.nitems > 0 ? "\n" : "");
	show_list(&out, "versionFiles", &c->version_files);
	buf_puts(&out, c->key_env.nitems > 0 ? "\n" : "");
	show_list(&out, "keyEnv", &c->key_env);
	buf_puts(&out, c->key_files.nitems > 0 ? "\n" : "");
	show_list(&out, "keyFiles", &c->key_files);
	for (size_t i = 0; i < c->warnings.nitems; i++)
		buf_printf(&out, "\nWARN %s", c->warnings.items[i]);
	return buf_steal(&out);
}

/* Printed and read again it is the same, but for its warnings. */
static void
check_printed(const struct config *c, const struct test_case *t)
{
	struct config again = CONFIG_INIT;
	struct error err = ERROR_INIT;
	struct buf first = BUF_INIT, second = BUF_INIT;

	config_print(c, &first);
	if (config_parse("printed", first.data, first.len, &again, &err) == 0) {
		char *before = show_config(c), *after = show_config(&again);
		char *warnings = strstr(before, "\nWARN ");

		if (warnings != NULL)
			*warnings = '\0';
		config_print(&again, &second);
		cr_expect(strcmp(before, after) == 0, "good-configs.txt:%u: %s", t->line,
			  after);
		cr_expect(strcmp(first.data, second.data) == 0, "good-configs.txt:%u",
			  t->line);
		free(before);
		free(after);
	} else
		cr_expect(false, "good-configs.txt:%u: %s", t->line, err.text);
	config_release(&again);
	buf_release(&first);
	buf_release(&second);
}

Test(config, reads_the_good_ones, .timeout = 60)
{
	struct cases cases = cases_read("good-configs.txt");

	for (size_t i = 0; i < cases.nitems; i++) {
		const struct test_case *t = cases.items + i;
		struct config c = CONFIG_INIT;
		struct error err = ERROR_INIT;
		char *shown;

		if (config_parse(CONFIG_FILE, buf_text(&t->input), t->input.len, &c,
				 &err) != 0) {
			cr_expect(false, "good-configs.txt:%u: %s", t->line, err.text);
			continue;
		}
		shown = show_config(&c);
		cr_expect(strcmp(shown, t->expected) == 0, "good-configs.txt:%u:\n%s",
			  t->line, shown);
		check_printed(&c, t);
		free(shown);
		config_release(&c);
	}
	cases_release(&cases);
}

Test(config, says_where_each_step_and_tier_stands)
{
	static const char text[] =
	    "{\n  \"verify\": {\n    \"fast\": [\"a\",\n      {\"parallel\": [\"b\", "
	    "{\"command\": \"c\"}]}],\n    \"x.y\": [\"d\"]}}";
	static const struct {
		const char *path;
		unsigned line, column;
	} rows[] = { { "verify.fast[0]", 3, 14 },
		     { "verify.fast[1].parallel[0]", 4, 21 },
		     { "verify.fast[1].parallel[1]", 4, 26 },
		     { "verify[\"x.y\"][0]", 5, 13 } };
	struct config c = CONFIG_INIT;
	struct error err = ERROR_INIT;
	const struct step *steps[4];

	cr_assert(config_parse("f", text, sizeof(text) - 1, &c, &err) == 0, "%s",
		  err.text);
	steps[0] = c.tiers[0].items[0].step;
	steps[1] = c.tiers[0].items[1].members[0].step;
	steps[2] = c.tiers[0].items[1].members[1].step;
	steps[3] = c.tiers[1].items[0].step;
	for (size_t i = 0; i < 4; i++) {
		cr_expect(strcmp(steps[i]->path, rows[i].path) == 0, "%s",
			  steps[i]->path);
		cr_expect(steps[i]->place.line == rows[i].line &&
			      steps[i]->place.column == rows[i].column,
			  "%s: %u:%u", rows[i].path, steps[i]->place.line,
			  steps[i]->place.column);
	}
	cr_expect(c.tiers[1].place.line == 5 && c.tiers[1].place.column == 5);
	config_release(&c);
	config_release(&c);
	config_release(NULL);
}

Test(config, finds_a_tier_or_says_which_there_are)
{
	static const char text[] = "{\"verify\":{\"fast\":[\"a\"],\"full\":[\"b\"]}}";
	static const struct {
		const char *name, *message;
	} rows[] = {
		{ "fst", "\"fst\": no such tier in geonosis.json; did you mean \"fast\"? "
			 "the tiers are fast, full" },
		{ "zzz", "\"zzz\": no such tier in geonosis.json; the tiers are fast, "
			 "full" },
		{ "", "\"\": no such tier in geonosis.json; the tiers are fast, full" },
		{ NULL, "no tier is named, and none is the default: the tiers are fast, "
			"full" },
		{ "__proto__", "\"__proto__\": no such tier in geonosis.json; the tiers "
			       "are fast, full" },
		{ "\x1b[31m\xff", "\"\xef\xbf\xbd[31m\xef\xbf\xbd\": no such tier in "
				  "geonosis.json; the tiers are fast, full" },
	};
	struct config c = CONFIG_INIT;
	struct error err = ERROR_INIT;

	cr_assert(config_parse("f", text, sizeof(text) - 1, &c, &err) == 0);
	cr_expect(config_tier(&c, "full", &err) == c.tiers + 1);
	cr_expect(err.kind == ERROR_NONE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect(config_tier(&c, rows[i].name, &err) == NULL);
		cr_expect(strcmp(err.text, rows[i].message) == 0, "%s", err.text);
		cr_expect(err.kind == ERROR_USAGE);
	}
	config_release(&c);
}

/* A directory of the test's own; left empty-handed by scratch_remove. */
static char *
scratch_make(void)
{
	char *dir = xstrdup("/tmp/geonosis-config-XXXXXX");

	cr_assert(mkdtemp(dir) != NULL);
	return dir;
}

static void
scratch_remove(char *dir)
{
	char *command = xasprintf("rm -rf %s", dir);

	cr_assert(system(command) == 0);
	free(command);
	free(dir);
}

static void
file_put(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	cr_assert(f != NULL);
	cr_assert(fputs(text, f) >= 0 && fclose(f) == 0);
	free(path);
}

static void
load_fails(const char *dir, const char *start)
{
	struct config c = CONFIG_INIT;
	struct error err = ERROR_INIT;

	cr_expect(config_load(dir, &c, &err) == -1);
	cr_expect(strncmp(err.text, start, strlen(start)) == 0, "%s", err.text);
	cr_expect(c.tiers == NULL);
}

static void
load_passes(const char *dir)
{
	struct config c = CONFIG_INIT;
	struct error err = ERROR_INIT;

	cr_expect(config_load(dir, &c, &err) == 0, "%s", err.text);
	config_release(&c);
}

Test(config, names_a_file_that_is_missing_and_one_above)
{
	char *dir = scratch_make(), *below, *above, *real;

	cr_assert(chdir(dir) == 0);
	real = realpath(".", NULL);
	load_fails(".", "geonosis.json: no such file in this directory; it declares");
	cr_assert(mkdir("a", 0755) == 0 && mkdir("a/b", 0755) == 0);
	file_put(dir, "geonosis.json", "{\"verify\":{\"fast\":[\"a\"]}}");
	load_passes(".");
	load_passes(dir);
	above = xasprintf("there is one in %s: run geonosis there", real);
	below = xasprintf("%s/a/b/geonosis.json: no such file in this directory; %s",
			  real, above);
	cr_assert(chdir("a/b") == 0);
	free(above);
	above = xasprintf("%s/a/b", real);
	load_fails(above, below);
	free(above);
	above = xasprintf("geonosis.json: no such file in this directory; there is one "
			  "in %s:",
			  real);
	load_fails(".", above);
	free(above);
	free(below);
	free(real);
	scratch_remove(dir);
}

Test(config, refuses_what_is_no_file_of_its_size)
{
	char *dir = scratch_make();

	cr_assert(chdir(dir) == 0);
	cr_assert(symlink("nowhere", "geonosis.json") == 0);
	load_fails(".", "geonosis.json: a link to a file that is not there");
	cr_assert(unlink("geonosis.json") == 0);
	cr_assert(mkdir("geonosis.json", 0755) == 0);
	load_fails(".", "geonosis.json: not a regular file");
	cr_assert(rmdir("geonosis.json") == 0);
	cr_assert(mkfifo("geonosis.json", 0644) == 0);
	load_fails(".", "geonosis.json: not a regular file");
	cr_assert(unlink("geonosis.json") == 0);
	cr_assert(symlink("geonosis.json", "geonosis.json") == 0);
	load_fails(".", "geonosis.json: ");
	cr_assert(unlink("geonosis.json") == 0);
	file_put(dir, "geonosis.json", "");
	cr_assert(truncate("geonosis.json", 17 * 1024 * 1024) == 0);
	load_fails(".", "geonosis.json: larger than");
	scratch_remove(dir);
}

Test(config, keeps_key_files_within_the_repository)
{
	char *dir = scratch_make();

	cr_assert(chdir(dir) == 0);
	cr_assert(mkdir("repo", 0755) == 0 && mkdir("repo/a", 0755) == 0);
	cr_assert(mkdir("repo/.git", 0755) == 0);
	file_put(dir, "repo/a/geonosis.json",
		 "{\"verify\":{\"fast\":[\"a\"]},\"keyFiles\":[\"../.env\",\"x\"]}");
	load_passes("repo/a");
	file_put(dir, "repo/a/geonosis.json",
		 "{\"verify\":{\"fast\":[\"a\"]},\"keyFiles\":[\"x/../../../.env\"]}");
	load_fails("repo/a", "repo/a/geonosis.json:1:38: keyFiles[0]: "
			     "\"x/../../../.env\" is outside the repository");
	file_put(dir, "repo/geonosis.json",
		 "{\"verify\":{\"fast\":[\"a\"]},\"keyFiles\":[\"../x\"]}");
	load_fails("repo", "repo/geonosis.json:1:38: keyFiles[0]: \"../x\" is outside");
	file_put(dir, "repo/geonosis.json",
		 "{\"verify\":{\"fast\":[\"a\"]},\"keyFiles\":[\"a/../x\",\"./y\"]}");
	load_passes("repo");
	scratch_remove(dir);
}

static void
tiers_put(struct buf *out, size_t n, const char *last)
{
	buf_puts(out, "{\"verify\":{");
	for (size_t i = 0; i + 1 < n; i++)
		buf_printf(out, "\"t%zu\":[\"t%zu\",\"t%zu\"],", i, i + 1, i + 1);
	buf_printf(out, "\"t%zu\":[\"%s\"]}}", n - 1, last);
}

Test(config, reads_tiers_that_multiply_and_tiers_without_end, .timeout = 60)
{
	static const struct {
		size_t tiers;
		const char *last;
		int rc;
	} rows[] = { { 40, "true", 0 }, { 60000, "true", 0 }, { 60000, "t0", -1 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config c = CONFIG_INIT;
		struct error err = ERROR_INIT;
		struct buf text = BUF_INIT;
		int64_t start = clock_now_ms();

		tiers_put(&text, rows[i].tiers, rows[i].last);
		cr_expect(config_parse("f", text.data, text.len, &c, &err) == rows[i].rc,
			  "%zu: %s", rows[i].tiers, err.text);
		cr_expect(clock_now_ms() - start < 10000);
		config_release(&c);
		buf_release(&text);
	}
}

Test(config, warns_a_few_times_only)
{
	struct config c = CONFIG_INIT;
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;

	buf_puts(&text, "{\"verify\":{\"fast\":[\"a\"]}");
	for (int i = 0; i < 30; i++)
		buf_printf(&text, ",\"budget%d\":1", i);
	buf_putc(&text, '}');
	cr_assert(config_parse("f", text.data, text.len, &c, &err) == 0);
	cr_assert(c.warnings.nitems == 11);
	cr_expect(strcmp(c.warnings.items[10], "f: 20 more keys like these") == 0, "%s",
		  c.warnings.items[10]);
	config_release(&c);
	buf_release(&text);
}

/* The schema is made of the same tables, so this is about its frame. */
Test(config, has_a_schema_that_names_every_key)
{
	struct json_object *root, *properties, *command;
	struct buf text = BUF_INIT;
	struct error err = ERROR_INIT;

	config_schema(&text);
	cr_assert(js_parse("schema", text.data, text.len, &root, &err) == 0, "%s",
		  err.text);
	properties = js_get(root, "properties");
	for (size_t i = 0; i < ROOT_KEYS; i++)
		cr_expect(js_get(properties, root_keys[i].name) != NULL, "%s",
			  root_keys[i].name);
	command = js_get(js_get(root, "$defs"), "command");
	properties = js_get(command, "properties");
	for (size_t i = 0; i < STEP_KEYS; i++)
		cr_expect(js_get(properties, step_keys[i].name) != NULL, "%s",
			  step_keys[i].name);
	cr_expect(json_object_array_length(js_get(command, "allOf")) ==
		  nstep_rules + nstep_light_rules);
	json_object_put(root);
	buf_release(&text);
}
