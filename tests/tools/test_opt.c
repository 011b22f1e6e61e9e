/* SPDX-License-Identifier: MIT */
#include "tools/opt.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/help.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum {
	ARGS_MAX = 8
};

static const struct command *
verify(void)
{
	struct error err = ERROR_INIT;
	const struct command *c = command_find("verify", &err);

	cr_assert_not_null(c, "%s", err.text);
	return c;
}

/* What was read, as `name[=value] … | operand …`. */
static void
args_to_text(const struct command *c, const struct opt_args *a, struct buf *out)
{
	for (size_t i = 0; i < c->nopts; i++) {
		const struct opt_value *v = &a->values[i];

		if (!v->set)
			continue;
		buf_printf(out, "%s", c->opts[i].name);
		if (c->opts[i].kind == OPT_STRING || c->opts[i].kind == OPT_ONE)
			buf_printf(out, "=%s", v->text);
		else if (c->opts[i].kind != OPT_FLAG)
			buf_printf(out, "=%lld", (long long)v->number);
		buf_putc(out, ' ');
	}
	buf_putc(out, '|');
	for (size_t i = 0; i < a->noperands; i++)
		buf_printf(out, " %s", a->operands[i]);
}

struct taken_case {
	const char *args[ARGS_MAX];
	const char *reading;
};

static const struct taken_case taken[] = {
	{ { NULL }, "|" },
	{ { "fast" }, "| fast" },
	{ { "fast", "--jobs", "3" }, "jobs=3 | fast" },
	{ { "--jobs=3", "fast" }, "jobs=3 | fast" },
	{ { "-j", "3", "fast" }, "jobs=3 | fast" },
	{ { "-j3", "fast" }, "jobs=3 | fast" },
	{ { "--jobs", "100000" }, "jobs=100000 |" },
	{ { "--jobs", "007" }, "jobs=7 |" },
	{ { "-kn", "fast" }, "keep-going dry-run | fast" },
	{ { "-knj2", "fast" }, "jobs=2 keep-going dry-run | fast" },
	{ { "--report", "a b.json", "--json" }, "report=a b.json json |" },
	{ { "--report=--odd" }, "report=--odd |" },
	{ { "--report", "-" }, "report=- |" },
	{ { "--report=a=b" }, "report=a=b |" },
	{ { "--only", "full/4@1/2", "full" }, "only=full/4@1/2 | full" },
	{ { "--retry-environment-failures", "0" }, "retry-environment-failures=0 |" },
	{ { "--jobs", "2", "--jobs", "3" }, "jobs=3 |" },
	{ { "--fresh", "--fresh" }, "fresh |" },
	{ { "--only", "a/1", "--only=a/1" }, "only=a/1 |" },
	{ { "fast", "--", "--jobs", "-x" }, "| fast --jobs -x" },
	{ { "-", "fast" }, "| - fast" },
	{ { "" }, "| " },
};

/* What it reads stays valid until the next call. */
static int
parse(const char *const args[], struct opt_args *a, struct error *err)
{
	static char room[ARGS_MAX][64];
	char *argv[ARGS_MAX];
	int n;

	for (n = 0; n < ARGS_MAX && args[n] != NULL; n++) {
		cr_assert_lt(strlen(args[n]), sizeof(room[n]));
		argv[n] = strcpy(room[n], args[n]);
	}
	return opt_parse(verify(), n, argv, a, err);
}

Test(opt, taken)
{
	for (size_t i = 0; i < COUNT(taken); i++) {
		struct opt_args a = OPT_ARGS_INIT;
		struct error err = ERROR_INIT;
		struct buf out = BUF_INIT;

		cr_expect_eq(parse(taken[i].args, &a, &err), 0, "case %zu: %s", i,
			     err.text);
		args_to_text(verify(), &a, &out);
		cr_expect_str_eq(buf_text(&out), taken[i].reading, "case %zu: %s", i,
				 buf_text(&out));
		cr_expect_not(a.help, "case %zu", i);
		buf_release(&out);
		opt_args_release(&a);
	}
}

struct refused_case {
	const char *args[ARGS_MAX];
	const char *text;
};

#define NUMBER " is not a whole number from 1 to 100000"

static const struct refused_case refused[] = {
	{ { "--only", "a/1", "--only", "a/2" },
	  "verify: --only: given twice, and only one can count" },
	{ { "--jobs", "0" }, "verify: --jobs: \"0\"" NUMBER },
	{ { "--jobs", "-1" }, "verify: --jobs: \"-1\"" NUMBER },
	{ { "--jobs", "+1" }, "verify: --jobs: \"+1\"" NUMBER },
	{ { "--jobs", "x" }, "verify: --jobs: \"x\"" NUMBER },
	{ { "--jobs", "2x" }, "verify: --jobs: \"2x\"" NUMBER },
	{ { "--jobs", " 2" }, "verify: --jobs: \" 2\"" NUMBER },
	{ { "--jobs", "" }, "verify: --jobs: \"\"" NUMBER },
	{ { "--jobs=" }, "verify: --jobs: \"\"" NUMBER },
	{ { "-jx" }, "verify: --jobs: \"x\"" NUMBER },
	{ { "--jobs", "100001" }, "verify: --jobs: \"100001\"" NUMBER },
	{ { "--jobs", "99999999999999999999" },
	  "verify: --jobs: \"99999999999999999999\"" NUMBER },
	{ { "--jobs", "1", "--jobs", "0" }, "verify: --jobs: \"0\"" NUMBER },
	{ { "--retry-environment-failures", "-1" },
	  "verify: --retry-environment-failures: \"-1\" is not a whole number from 0" },
	{ { "--exclusive-timeout", "soon" },
	  "verify: --exclusive-timeout: \"soon\" is not a whole number of seconds" },
	{ { "--exclusive-timeout=31536001" },
	  "verify: --exclusive-timeout: \"31536001\"" },
	{ { "fast", "--jobs" }, "verify: --jobs: needs a value, <n>" },
	{ { "-j" }, "verify: --jobs: needs a value, <n>" },
	{ { "--report" }, "verify: --report: needs a value, <path>" },
	{ { "--only" }, "verify: --only: needs a value, <id>" },
	{ { "--since" }, "verify: --since: needs a value, <ref>" },
	{ { "--exclusive-timeout" },
	  "verify: --exclusive-timeout: needs a value, <seconds>" },
	{ { "--report", "--jobs", "3" }, "verify: --report: needs a value, <path>" },
	{ { "--report", "" }, "verify: --report: needs a value that is not empty" },
	{ { "--report= " }, "verify: --report: needs a value that is not empty" },
	{ { "--fresh=1" }, "verify: --fresh: takes no value" },
	{ { "--jbs", "3" },
	  "verify: unknown option \"--jbs\": did you mean \"--jobs\"?" },
	{ { "--jbs=3" }, "verify: unknown option \"--jbs\": did you mean \"--jobs\"?" },
	{ { "--rep", "x" },
	  "verify: unknown option \"--rep\": did you mean \"--report\"?" },
	{ { "-fresh" }, "verify: unknown option \"-fresh\": did you mean \"--fresh\"?" },
	{ { "-kx" }, "verify: unknown option \"-kx\"" },
	{ { "--zzzzzz" },
	  "verify: unknown option \"--zzzzzz\": `geonosis verify --help`" },
	{ { "--\x1b[31m" }, "verify: unknown option \"--\xef\xbf\xbd[31m\"" },
	{ { "--=x" }, "verify: unknown option \"--\"" },
	{ { "--affected", "--jobs", "x" }, "verify: --jobs: \"x\"" NUMBER },
};

Test(opt, refused)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct opt_args a = OPT_ARGS_INIT;
		struct error err = ERROR_INIT;

		cr_expect_eq(parse(refused[i].args, &a, &err), -1, "case %zu was taken",
			     i);
		cr_expect_eq(err.kind, ERROR_USAGE, "case %zu", i);
		cr_expect_eq(strncmp(err.text, refused[i].text, strlen(refused[i].text)),
			     0, "case %zu: %s\nwanted: %s", i, err.text, refused[i].text);
		cr_expect_null(a.operands, "case %zu", i);
	}
}

static const struct taken_case helps[] = {
	{ { "--help" }, NULL },
	{ { "-h" }, NULL },
	{ { "fast", "-kh" }, NULL },
	{ { "--help", "--nonsense" }, NULL },
	{ { "--affected", "--help" }, NULL },
};

Test(opt, help_is_asked)
{
	for (size_t i = 0; i < COUNT(helps); i++) {
		struct opt_args a = OPT_ARGS_INIT;
		struct error err = ERROR_INIT;

		cr_expect_eq(parse(helps[i].args, &a, &err), 0, "case %zu: %s", i,
			     err.text);
		cr_expect(a.help, "case %zu", i);
		opt_args_release(&a);
	}
}

Test(opt, usage_names_every_option)
{
	struct buf out = BUF_INIT;
	const struct command *c = verify();
	const char *line, *end;

	opt_usage(c, &out);
	cr_expect_eq(strncmp(buf_text(&out), "usage: geonosis verify [options] <tier>\n",
			     strlen("usage: geonosis verify [options] <tier>\n")),
		     0, "%s", buf_text(&out));
	for (size_t i = 0; i < c->nopts; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "--%s", c->opts[i].name);
		cr_expect_not_null(strstr(buf_text(&out), name), "%s", name);
	}
	for (line = buf_text(&out); (end = strchr(line, '\n')) != NULL; line = end + 1)
		cr_expect_leq(end - line, 80, "%.*s", (int)(end - line), line);
	buf_release(&out);
}

Test(opt, tables_are_sound)
{
	size_t n;
	const struct command *const *commands = command_list(&n);

	cr_expect_geq(n, 5);
	for (size_t i = 0; i < n; i++) {
		const struct command *c = commands[i];

		cr_assert_leq(c->nopts, OPT_MAX);
		for (size_t k = 0; k < c->nopts; k++) {
			const struct opt *o = &c->opts[k];

			cr_assert_not_null(o->name, "%s: option %zu", c->name, k);
			cr_expect_not_null(o->help, "%s", o->name);
			cr_expect_eq(o->arg == NULL, o->kind == OPT_FLAG, "%s", o->name);
			for (size_t j = 0; j < k; j++) {
				cr_expect_str_neq(o->name, c->opts[j].name);
				cr_expect(o->letter == '\0' ||
					      o->letter != c->opts[j].letter,
					  "%s", o->name);
			}
		}
	}
}

Test(opt, commands_are_found_or_the_nearest_named)
{
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	size_t n;
	const struct command *const *commands = command_list(&n);

	help_text(&out);
	for (size_t i = 0; i < n; i++) {
		cr_expect_eq(command_find(commands[i]->name, &err), commands[i]);
		cr_expect_not_null(strstr(buf_text(&out), commands[i]->name));
	}
	buf_release(&out);
	cr_expect_null(command_find("verfy", &err));
	cr_expect_str_eq(err.text, "unknown command \"verfy\": did you mean \"verify\"?");
	cr_expect_null(command_find("", &err));
	cr_expect_null(command_find("VERIFY", &err));
	cr_expect_eq(command_refuse(command_find("gate", &err), &err), -1);
	cr_expect_str_eq(err.text, "gate: not available in this version");
}

static const char *const shells[] = { "bash", "zsh", "fish" };

Test(opt, completions_name_every_option_that_is_there)
{
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	size_t n;
	const struct command *const *commands = command_list(&n);
	const struct command *c = verify();

	for (size_t i = 0; i < COUNT(shells); i++) {
		cr_assert_eq(opt_complete(shells[i], commands, n, &out, &err), 0, "%s",
			     err.text);
		for (size_t k = 0; k < c->nopts; k++)
			if (!c->opts[k].planned)
				cr_expect_not_null(
				    strstr(buf_text(&out), c->opts[k].name), "%s: %s",
				    shells[i], c->opts[k].name);
		buf_clear(&out);
	}
	cr_expect_eq(opt_complete("cmd.exe", commands, n, &out, &err), -1);
	buf_release(&out);
}

/* The shell itself reads it and answers. */
Test(opt, bash_completes, .timeout = 30)
{
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	char answer[64] = "";
	size_t n;
	const struct command *const *commands = command_list(&n);
	FILE *shell;

	cr_assert_eq(opt_complete("bash", commands, n, &out, &err), 0, "%s", err.text);
	buf_puts(&out, "COMP_WORDS=(geonosis verify --ke) COMP_CWORD=2\n_geonosis\n"
		       "[ \"${COMPREPLY[*]}\" = --keep-going ] || exit 1\n"
		       "COMP_WORDS=(geonosis sch) COMP_CWORD=1\n_geonosis\n"
		       "[ \"${COMPREPLY[*]}\" = schema ] || exit 2\n"
		       "COMP_WORDS=(geonosis verify --jobs '') COMP_CWORD=3\n_geonosis\n"
		       "[ \"${#COMPREPLY[@]}\" = 0 ] || exit 3\n"
		       "cd /dev; COMP_WORDS=(geonosis verify --report ful) COMP_CWORD=3\n"
		       "_geonosis\n[ \"${COMPREPLY[*]}\" = full ] || exit 4\n");
	setenv("SCRIPT", buf_text(&out), 1);
	shell = popen("bash -c \"$SCRIPT\"; echo $?", "r");
	cr_assert_not_null(shell);
	cr_expect_not_null(fgets(answer, sizeof(answer), shell));
	cr_expect_eq(pclose(shell), 0);
	cr_expect_str_eq(answer, "0\n");
	buf_release(&out);
}
