/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/opt_complete.h"

static const char zsh_head[] =
    "#compdef geonosis\n"
    "_geonosis_tiers() {\n"
    "\tlocal -a tiers expl\n"
    "\ttiers=(${(f)\"$(${~${(Q)program}} completion tiers 2>/dev/null)\"} $@)\n"
    "\t_wanted tiers expl tier compadd -a tiers\n"
    "}\n"
    "_geonosis() {\n"
    "\tlocal program=$words[1]\n"
    "\tlocal -a choices\n";

/* Read by `source` it registers itself; found in fpath it is the function's body. */
static const char zsh_tail[] = "if [[ $funcstack[1] == _geonosis ]]; then\n"
			       "\t_geonosis \"$@\"\n"
			       "else\n"
			       "\tcompdef _geonosis geonosis\n"
			       "fi\n";

/* A command of somebody else's behind --, which _arguments would take for its name. */
static const char zsh_command[] = "\t\tlocal -i at=${words[(i)--]}\n"
				  "\t\tif (( at < CURRENT )); then\n"
				  "\t\t\tshift at words\n"
				  "\t\t\t(( CURRENT -= at ))\n"
				  "\t\t\t_normal\n"
				  "\t\t\treturn\n"
				  "\t\tfi\n";

static void
zsh_add_opt(struct buf *out, const struct opt *o)
{
	bool valued = complete_has_value(o);

	buf_puts(out, " \\\n\t\t\t");
	if (o->letter != '\0')
		buf_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name,
			   o->letter, valued ? "+" : "", o->name, valued ? "=" : "");
	else
		buf_printf(out, "'--%s%s[", o->name, valued ? "=" : "");
	complete_escape(out, o->help, "[]:\\");
	buf_putc(out, ']');
	if (valued) {
		buf_putc(out, ':');
		buf_append(out, o->arg + 1, strlen(o->arg) - 2);
		buf_printf(out, ":%s", complete_has_path(o) ? "_files" : "");
	}
	buf_putc(out, '\'');
}

/* The function that completes behind a command with subcommands. */
static void
zsh_add_function(struct buf *out, const struct command *c)
{
	buf_puts(out, "_geonosis_");
	for (const char *s = c->name; *s != '\0'; s++)
		buf_putc(out, *s == ' ' ? '_' : *s);
}

static void
zsh_add_operands(struct buf *out, const struct completion *all, const struct command *c)
{
	switch (c->operand) {
	case OPERAND_NONE:
		/* A word that nothing is known of, or _arguments ends at it. */
		if (*c->operands != '\0')
			buf_puts(out, " \\\n\t\t\t'1:word:()'");
		break;
	case OPERAND_TIER:
		buf_puts(out, " \\\n\t\t\t'1:tier: _geonosis_tiers ");
		complete_names(out, all, c);
		buf_putc(out, '\'');
		break;
	case OPERAND_WORD:
		buf_puts(out, " \\\n\t\t\t'1:word:(");
		complete_operand_words(out, c);
		buf_puts(out, ")'");
		break;
	case OPERAND_COMMAND:
		buf_puts(out, " \\\n\t\t\t'(-)1:command: _command_names -e'"
			      " \\\n\t\t\t'*::argument: _normal'");
		break;
	}
}

/* The commands to choose from where the cursor is at the second word. */
static void
zsh_add_choice(struct buf *out, const struct completion *all,
	       const struct command *parent)
{
	buf_puts(out, "\tif (( CURRENT == 2 )); then\n"
		      "\t\tchoices=(\n");
	for (size_t i = 0; i < all->nitems; i++) {
		const struct command *c = all->items[i];

		if (!complete_is_of(c, parent))
			continue;
		buf_printf(out, "\t\t\t%s:", complete_word(c));
		complete_quote(out, c->summary, "\\:");
		buf_putc(out, '\n');
	}
	if (parent == NULL)
		buf_puts(out, "\t\t\thelp:'show the help'\n");
	buf_printf(out,
		   "\t\t)\n"
		   "\t\tif [[ $PREFIX == -* ]]; then\n"
		   "\t\t\tcompadd -- --help%s\n"
		   "\t\telse\n"
		   "\t\t\t_describe -t commands command choices\n"
		   "\t\tfi\n"
		   "\t\treturn\n"
		   "\tfi\n"
		   "\tshift words\n"
		   "\t(( CURRENT-- ))\n",
		   parent == NULL ? " --version" : "");
}

static void
zsh_add_arguments(struct buf *out, const struct completion *all, const struct command *c)
{
	if (c->operand == OPERAND_COMMAND)
		buf_puts(out, zsh_command);
	buf_puts(out, "\t\t_arguments -s -S");
	for (size_t k = 0; k < c->nopts; k++)
		if (!c->opts[k].planned)
			zsh_add_opt(out, &c->opts[k]);
	buf_puts(out, " \\\n\t\t\t'(- *)'{-h,--help}'[show this text]'");
	zsh_add_operands(out, all, c);
	buf_putc(out, '\n');
}

static void
zsh_add_case(struct buf *out, const struct completion *all, const struct command *c)
{
	buf_printf(out, "\t%s)\n", complete_word(c));
	if (c->nsubcommands > 0 && c->operand != OPERAND_WORD) {
		buf_puts(out, "\t\tif (( CURRENT > 2 )) && [[ \" ");
		complete_names(out, all, c);
		buf_puts(out, " \" == *\" $words[2] \"* ]]; then\n\t\t\t");
		zsh_add_function(out, c);
		buf_puts(out, "\n\t\t\treturn\n\t\tfi\n");
		zsh_add_arguments(out, all, c);
	} else if (c->nsubcommands > 0) {
		buf_puts(out, "\t\t");
		zsh_add_function(out, c);
		buf_putc(out, '\n');
	} else {
		zsh_add_arguments(out, all, c);
	}
	buf_puts(out, "\t\t;;\n");
}

static void
zsh_add_cases(struct buf *out, const struct completion *all, const struct command *parent)
{
	zsh_add_choice(out, all, parent);
	buf_puts(out, "\tcase $words[1] in\n");
	for (size_t i = 0; i < all->nitems; i++)
		if (complete_is_of(all->items[i], parent))
			zsh_add_case(out, all, all->items[i]);
	if (parent == NULL) {
		buf_puts(out, "\thelp)\n\t\t_arguments '1:command:(");
		complete_names(out, all, NULL);
		buf_puts(out, ")'\n\t\t;;\n");
	}
	buf_puts(out, "\tesac\n}\n");
}

void
complete_zsh(struct buf *out, const struct completion *c)
{
	buf_puts(out, zsh_head);
	zsh_add_cases(out, c, NULL);
	for (size_t i = 0; i < c->nitems; i++)
		if (c->items[i]->nsubcommands > 0) {
			zsh_add_function(out, c->items[i]);
			buf_puts(out, "() {\n\tlocal -a choices\n");
			zsh_add_cases(out, c, c->items[i]);
		}
	buf_puts(out, zsh_tail);
}
