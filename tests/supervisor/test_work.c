/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/work.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/list.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct work_row {
	const char *name;
	const char
	    *changes; /* a path a line; `!` before it: a version cut's, `-`: gone */
	const char *untested; /* NULL: none */
};

/* The workspaces are p/a, p/a/in and p/b. */
static const struct work_row rows[] = {
	{ "nothing", "", NULL },
	{ "code", "p/a/x.ts", "p/a/x.ts" },
	{ "the first of two", "p/a/x.ts\np/b/y.ts", "p/a/x.ts" },
	{ "no code", "p/a/x.json\np/a/y.css\np/a/z\np/a/.ts", "p/a/.ts" },
	{ "no ending", "p/a/ts\np/a.ts/x", NULL },
	{ "an ending is whole", "p/a/x.tsxx\np/a/x.jst\np/a/x.TS", NULL },
	{ "many kinds", "p/a/x.svelte", "p/a/x.svelte" },
	{ "a document", "docs/x.ts", NULL },
	{ "a cut", "!p/a/version.ts", NULL },
	{ "a cut and code", "!p/a/version.ts\np/a/x.ts", "p/a/x.ts" },
	{ "a test alone", "p/a/x.test.ts", NULL },
	{ "code and its test", "p/a/x.ts\np/a/x.test.ts", NULL },
	{ "code and a spec", "p/a/deep/x.ts\np/a/other.spec.js", NULL },
	{ "a test of another workspace", "p/a/x.ts\np/b/x.test.ts", "p/a/x.ts" },
	{ "of the nested one", "p/a/x.ts\np/a/in/x.test.ts", "p/a/x.ts" },
	{ "of the one around", "p/a/in/x.ts\np/a/x.test.ts", "p/a/in/x.ts" },
	{ "__tests__", "p/a/x.ts\np/a/__tests__/any.txt", NULL },
	{ "test", "p/a/x.ts\np/a/test/x.ts", NULL },
	{ "tests, deep", "p/a/x.ts\np/a/src/tests/deep/x.ts", NULL },
	{ "no directory of that name", "p/a/x.ts\np/a/mytests/x.txt", "p/a/x.ts" },
	{ "nor a file", "p/a/x.ts\np/a/tests", "p/a/x.ts" },
	{ "nor a part of one", "p/a/x.ts\np/a/xtest.ts\np/a/test.ts", "p/a/x.ts" },
	{ "in no workspace", "x.ts", "x.ts" },
	{ "in no workspace, tested", "x.ts\ntest/x", NULL },
	{ "that test is nobody else's", "p/a/x.ts\ntest/x", "p/a/x.ts" },
	{ "a test that is gone", "p/a/x.ts\n-p/a/x.test.ts", "p/a/x.ts" },
	{ "one that is gone and one that came", "p/a/x.ts\n-p/a/x.test.ts\np/a/test/x",
	  NULL },
	{ "code that is gone", "-p/a/x.ts", "p/a/x.ts" },
	{ "outside", "../x.ts\n../x.test.ts", NULL },
	{ "the second is not tested", "p/a/x.ts\np/a/x.test.ts\np/b/x.ts", "p/b/x.ts" },
};

static void
scope_make(struct scope *s, const char *changes)
{
	static const char *const paths[] = { "p/a", "p/a/in", "p/b" };
	struct list_builder b = LIST_BUILDER_INIT;
	char *copy = xstrdup(changes), *rest = copy, *one;
	size_t i;

	*s = (struct scope)SCOPE_INIT;
	for (i = 0; i < COUNT(paths); i++) {
		struct workspace w = { .path = xstrdup(paths[i]),
				       .name = xstrdup(paths[i]) };

		list_builder_add(&b, &w);
	}
	list_builder_finish(&b, MANAGER_NPM, &s->workspaces);
	s->changes = xcalloc(20, sizeof(*s->changes));
	s->is_cut = xcalloc(20, sizeof(*s->is_cut));
	s->is_gone = xcalloc(20, sizeof(*s->is_gone));
	while ((one = strsep(&rest, "\n")) != NULL) {
		if (*one == '\0')
			continue;
		s->is_cut[s->nchanges] = *one == '!';
		s->is_gone[s->nchanges] = *one == '-';
		s->changes[s->nchanges++] = xstrdup(one + (*one == '!' || *one == '-'));
	}
	free(copy);
}

Test(work, untested)
{
	static const char text[] = "{\"verify\": {\"fast\": [\"true\"]}, "
				   "\"documents\": [\"docs/**\"]}";
	struct config c = CONFIG_INIT;
	struct error e = ERROR_INIT;
	size_t i;

	cr_assert(config_parse("x", text, strlen(text), &c, &e) == 0, "%s", e.text);
	for (i = 0; i < COUNT(rows); i++) {
		const struct work_row *r = &rows[i];
		struct scope s;
		const char *got;

		scope_make(&s, r->changes);
		got = work_untested(&s, &c);
		cr_expect((got == NULL) == (r->untested == NULL) &&
			      (got == NULL || strcmp(got, r->untested) == 0),
			  "%s: %s", r->name, got != NULL ? got : "none");
		scope_release(&s);
	}
	config_release(&c);
}

/* Without knowing what a version cut wrote, all that is code counts. */
Test(work, unknown_cuts)
{
	static const char text[] = "{\"verify\": {\"fast\": [\"true\"]}}";
	struct config c = CONFIG_INIT;
	struct error e = ERROR_INIT;
	struct scope s;

	cr_assert(config_parse("x", text, strlen(text), &c, &e) == 0, "%s", e.text);
	scope_make(&s, "!p/a/x.ts");
	free(s.is_cut);
	s.is_cut = NULL;
	cr_expect_str_eq(work_untested(&s, &c), "p/a/x.ts");
	scope_release(&s);
	config_release(&c);
}
