/* SPDX-License-Identifier: MIT */
/*
 * Shell completions from the option tables.  Names and values are plain words of
 * ours; only summaries and help texts need quoting.
 */
#include <string.h>

#include "tools/opt.h"

struct shell {
	const char *name;
	void (*write)(struct buf *out, const struct command *const *commands,
		      size_t ncommands);
};

/* For the inside of '…'; characters of `special` get a backslash in front. */
static void
add_escaped(struct buf *out, const char *text, const char *special)
{
	const char *s;

	for (s = text; *s != '\0'; s++) {
		if (strchr(special, *s) != NULL)
			buf_putc(out, '\\');
		if (*s == '\'')
			buf_puts(out, "'\\'");
		buf_putc(out, *s);
	}
}

static void
add_quoted(struct buf *out, const char *text, const char *special)
{
	buf_putc(out, '\'');
	add_escaped(out, text, special);
	buf_putc(out, '\'');
}

static void
add_names(struct buf *out, const struct command *const *commands, size_t ncommands)
{
	size_t i;

	for (i = 0; i < ncommands; i++)
		buf_printf(out, "%s ", commands[i]->name);
	buf_puts(out, "help --help --version");
}

static bool
opt_wants_path(const struct opt *o)
{
	return o->arg != NULL && strcmp(o->arg, "<path>") == 0;
}

static void
bash_add_command(struct buf *out, const struct command *c)
{
	size_t i;

	buf_printf(out, "\t%s) words='", c->name);
	for (i = 0; i < c->nopts; i++)
		buf_printf(out, "--%s ", c->opts[i].name);
	buf_puts(out, "--help' ;;\n");
}

/* The options with a value, `--a|--b`, of one kind: a path or not. */
static void
bash_add_valued(struct buf *out, const struct command *const *commands, size_t ncommands,
		bool paths)
{
	const char *glue = "";
	size_t i, k;

	for (i = 0; i < ncommands; i++)
		for (k = 0; k < commands[i]->nopts; k++) {
			const struct opt *o = &commands[i]->opts[k];

			if (o->kind == OPT_FLAG || opt_wants_path(o) != paths)
				continue;
			buf_printf(out, "%s--%s", glue, o->name);
			glue = "|";
		}
}

static void
bash_write(struct buf *out, const struct command *const *commands, size_t ncommands)
{
	size_t i;

	buf_puts(out, "# bash completion for geonosis\n"
		      "_geonosis() {\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
		      "\tCOMPREPLY=()\n"
		      "\tcase ${COMP_WORDS[COMP_CWORD-1]} in\n\t");
	bash_add_valued(out, commands, ncommands, true);
	buf_puts(out,
		 ") mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n\t");
	bash_add_valued(out, commands, ncommands, false);
	buf_puts(out, ") return ;;\n\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (i = 0; i < ncommands; i++)
		bash_add_command(out, commands[i]);
	buf_puts(out, "\tesac\n\t[ \"$COMP_CWORD\" -gt 1 ] || words='");
	add_names(out, commands, ncommands);
	buf_puts(out, "'\n"
		      "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		      "}\n"
		      "complete -F _geonosis geonosis\n");
}

static void
zsh_add_opt(struct buf *out, const struct opt *o)
{
	bool flag = o->kind == OPT_FLAG;

	buf_printf(out, " \\\n\t\t\t'--%s%s[", o->name, flag ? "" : "=");
	add_escaped(out, o->help, "[]:\\");
	buf_putc(out, ']');
	if (!flag)
		buf_printf(out, ":value:%s", opt_wants_path(o) ? "_files" : "");
	buf_putc(out, '\'');
}

static void
zsh_write(struct buf *out, const struct command *const *commands, size_t ncommands)
{
	size_t i, k;

	buf_puts(out, "#compdef geonosis\n"
		      "_geonosis() {\n"
		      "\tlocal -a commands\n"
		      "\tcommands=(\n");
	for (i = 0; i < ncommands; i++) {
		buf_printf(out, "\t\t%s:", commands[i]->name);
		add_quoted(out, commands[i]->summary, "");
		buf_putc(out, '\n');
	}
	buf_puts(out, "\t\thelp:'show the help'\n\t)\n"
		      "\tif (( CURRENT == 2 )); then\n"
		      "\t\t_describe command commands\n"
		      "\t\treturn\n"
		      "\tfi\n"
		      "\tcase $words[2] in\n");
	for (i = 0; i < ncommands; i++) {
		buf_printf(out, "\t%s)\n\t\t_arguments", commands[i]->name);
		for (k = 0; k < commands[i]->nopts; k++)
			zsh_add_opt(out, &commands[i]->opts[k]);
		buf_puts(out, " \\\n\t\t\t'--help[show this text]' ;;\n");
	}
	buf_puts(out, "\tesac\n}\n_geonosis \"$@\"\n");
}

static void
fish_add_opt(struct buf *out, const struct command *c, const struct opt *o)
{
	buf_printf(out, "complete -c geonosis -n '__fish_seen_subcommand_from %s' -l %s",
		   c->name, o->name);
	if (o->letter != '\0')
		buf_printf(out, " -s %c", o->letter);
	if (o->kind != OPT_FLAG)
		buf_puts(out, opt_wants_path(o) ? " -r -F" : " -x");
	buf_puts(out, " -d ");
	add_quoted(out, o->help, "\\");
	buf_putc(out, '\n');
}

static void
fish_write(struct buf *out, const struct command *const *commands, size_t ncommands)
{
	static const struct opt help = { .name = "help",
					 .letter = 'h',
					 .help = "show this text" };
	size_t i, k;

	buf_puts(out, "# fish completion for geonosis\ncomplete -c geonosis -f\n");
	for (i = 0; i < ncommands; i++) {
		buf_printf(out, "complete -c geonosis -n __fish_use_subcommand -a %s -d ",
			   commands[i]->name);
		add_quoted(out, commands[i]->summary, "\\");
		buf_putc(out, '\n');
		for (k = 0; k < commands[i]->nopts; k++)
			fish_add_opt(out, commands[i], &commands[i]->opts[k]);
		fish_add_opt(out, commands[i], &help);
	}
	buf_puts(out, "complete -c geonosis -n __fish_use_subcommand -a help "
		      "-d 'show the help'\n");
}

static const struct shell shells[] = {
	{ "bash", bash_write },
	{ "zsh", zsh_write },
	{ "fish", fish_write },
};

int
opt_complete(const char *shell, const struct command *const *commands, size_t ncommands,
	     struct buf *out, struct error *err)
{
	size_t i;

	for (i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].write(out, commands, ncommands);
			return 0;
		}
	return error_set(err, ERROR_USAGE,
			 "completion: no such shell here: bash, zsh or fish");
}
