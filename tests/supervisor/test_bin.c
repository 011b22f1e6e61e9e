/* SPDX-License-Identifier: MIT */
#include "supervisor/run/bin.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BIN "node_modules/.bin/"

struct bin_case {
	const char *command;
	const char *runs; /* NULL: as it is */
};

/* eslint, tsc and a.b-c_d2 are there; plain is no program, gone is a dangling link. */
static const struct bin_case commands[] = {
	{ "npx eslint", BIN "eslint" },
	{ "npx eslint .", BIN "eslint ." },
	{ "pnpm exec eslint . --fix", BIN "eslint . --fix" },
	{ "bunx tsc -p .", BIN "tsc -p ." },
	{ "npx   eslint  .", BIN "eslint  ." },
	{ "npx a.b-c_d2", BIN "a.b-c_d2" },
	{ "npx eslint && npx tsc", BIN "eslint && npx tsc" },
	{ "npx eslint;true", BIN "eslint;true" },
	{ "npx eslint\nnpx tsc", BIN "eslint\nnpx tsc" },
	{ "npx eslint|cat", BIN "eslint|cat" },
	{ "npx eslint>out", BIN "eslint>out" },
	{ "npx eslint\t.", BIN "eslint\t." },
	/* As they are. */
	{ "npx --yes eslint", NULL },
	{ "npx -p eslint eslint", NULL },
	{ "npx eslint@8 .", NULL },
	{ "npx @scope/eslint", NULL },
	{ "pnpm exec -r eslint", NULL },
	{ "pnpm eslint", NULL },
	{ "pnpm  exec eslint", NULL },
	{ "npx 'eslint'", NULL },
	{ "npx \"eslint\"", NULL },
	{ "npx es$X", NULL },
	{ "npx eslint$X", NULL },
	{ "npx eslint\\ x", NULL },
	{ "npx esl*", NULL },
	{ "npx `eslint`", NULL },
	{ "npx ../eslint", NULL },
	{ "npx ./eslint", NULL },
	{ "npx .", NULL },
	{ "npx ..", NULL },
	{ "npx eslint/x", NULL },
	{ "npx eslint=x", NULL },
	{ "npx ~", NULL },
	{ "npx", NULL },
	{ "npx ", NULL },
	{ "npx\teslint", NULL },
	{ "xnpx eslint", NULL },
	{ " npx eslint", NULL },
	{ "X=1 npx eslint", NULL },
	{ "true && npx eslint", NULL },
	{ "npx missing", NULL },
	{ "npx plain", NULL },
	{ "npx gone", NULL },
	{ "npx #eslint", NULL },
	{ "", NULL },
};

static void
enter(void)
{
	(void)scratch_enter();
	cr_assert_eq(system("mkdir -p " BIN "; cd " BIN
			    "; for f in eslint tsc a.b-c_d2 sub-; do echo >$f; "
			    "chmod +x $f; done; echo >plain; ln -s nowhere gone"),
		     0);
}

TestSuite(bin, .init = enter, .fini = scratch_leave);

Test(bin, commands)
{
	for (size_t i = 0; i < COUNT(commands); i++) {
		const struct bin_case *c = &commands[i];
		const char *want = c->runs != NULL ? c->runs : c->command;
		char *got = bin_command(c->command);

		cr_expect_str_eq(got, want, "<%s>: <%s>", c->command, got);
		free(got);
	}
}

/* A directory can be `executed`, as access sees it. */
Test(bin, directory_is_no_program)
{
	char *got;

	cr_assert_eq(system("mkdir " BIN "folder"), 0);
	got = bin_command("npx folder");
	cr_expect_str_eq(got, "npx folder", "%s", got);
	free(got);
}
