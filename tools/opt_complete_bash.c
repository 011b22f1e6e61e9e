/* SPDX-License-Identifier: MIT */
#include "tools/opt_complete.h"

/*
 * What stands before the cursor: `command`, `value` (the kind of value that is due),
 * `first` (where the first operand is), `ended` (by --).  Readline parts words at "=".
 */
static const char bash_head[] =
    "# bash completion for geonosis\n"
    "_geonosis() {\n"
    "\tlocal program=$1 cur=${COMP_WORDS[COMP_CWORD]} command='' value='' ended=''\n"
    "\tlocal options='' words='' first=0 at word\n"
    "\tCOMPREPLY=()\n"
    "\tfor ((at = 1; at < COMP_CWORD; at++)); do\n"
    "\t\tword=${COMP_WORDS[at]}\n"
    "\t\tif [ \"$word\" = = ]; then\n"
    "\t\t\tcontinue\n"
    "\t\telif [ -n \"$value\" ]; then\n"
    "\t\t\tvalue=''\n"
    "\t\telif [ \"$word\" = -- ]; then\n"
    "\t\t\tended=1 first=$((at + 1))\n"
    "\t\t\tbreak\n"
    "\t\telif [[ $word = -* ]]; then\n"
    "\t\t\tcase \"$command $word\" in\n";

static const char bash_middle[] = "\t\t\tesac\n"
				  "\t\telse\n"
				  "\t\t\tcase \"$first$command $word\" in\n"
				  "\t\t\t'0 '*) command=$word ;;\n"
				  "\t\t\t";

static const char bash_values[] = "\t\t\t*) [ \"$first\" -gt 0 ] || first=$at ;;\n"
				  "\t\t\tesac\n"
				  "\t\tfi\n"
				  "\tdone\n"
				  "\t[ \"$cur\" != = ] || cur=''\n"
				  "\tif [ \"$value\" = path ]; then\n"
				  "\t\tcompopt -o filenames 2>/dev/null\n"
				  "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
				  "\tfi\n"
				  "\t[ -z \"$value\" ] || return 0\n"
				  "\tcase $command in\n";

/* A command of somebody else's: his completions, where there are any. */
static const char bash_command[] =
    "\t\tif [ \"$first\" -gt 0 ] || [[ $cur != -* ]]; then\n"
    "\t\t\t[ \"$first\" -gt 0 ] || first=$COMP_CWORD\n"
    "\t\t\tif declare -F _command_offset >/dev/null; then\n"
    "\t\t\t\t_command_offset \"$first\"\n"
    "\t\t\telif [ \"$first\" = \"$COMP_CWORD\" ]; then\n"
    "\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
    "\t\t\telse\n"
    "\t\t\t\tcompopt -o filenames 2>/dev/null\n"
    "\t\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "\t\t\tfi\n"
    "\t\t\treturn 0\n"
    "\t\tfi\n";

static const char bash_tail[] =
    "\tesac\n"
    "\t[ -z \"$ended\" ] || options=''\n"
    "\tif [[ $cur = -* ]] || [[ $words != *[!\" \"]* ]]; then\n"
    "\t\twords=$options\n"
    "\tfi\n"
    "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
    "}\n"
    "complete -F _geonosis geonosis\n";

static void
bash_add_valued(struct buf *out, const struct command *c)
{
	for (size_t i = 0; i < c->nopts; i++) {
		const struct opt *o = &c->opts[i];

		if (o->planned || !complete_has_value(o))
			continue;
		buf_printf(out, "\t\t\t'%s --%s'", c->name, o->name);
		if (o->letter != '\0')
			buf_printf(out, " | '%s -%c'", c->name, o->letter);
		buf_printf(out, ") value=%s ;;\n",
			   complete_has_path(o) ? "path" : "other");
	}
}

static void
bash_add_operands(struct buf *out, const struct completion *all, const struct command *c)
{
	if (c->operand == OPERAND_NONE)
		return;
	if (c->operand == OPERAND_COMMAND) {
		buf_puts(out, bash_command);
		return;
	}
	buf_puts(out, "\t\tif [ \"$first\" = 0 ] || "
		      "[ \"$first\" = \"$COMP_CWORD\" ]; then\n\t\t\twords='");
	if (c->nsubcommands > 0)
		complete_names(out, all, c);
	else if (c->operand == OPERAND_WORD)
		complete_operand_words(out, c);
	buf_putc(out, '\'');
	if (c->operand == OPERAND_TIER)
		buf_puts(
		    out,
		    "\n\t\t\twords+=\" $(\"$program\" completion tiers 2>/dev/null)\"");
	buf_puts(out, "\n\t\tfi\n");
}

static void
bash_add_command(struct buf *out, const struct completion *all, const struct command *c)
{
	buf_printf(out, "\t'%s')\n\t\toptions='", c->name);
	for (size_t i = 0; i < c->nopts; i++)
		if (!c->opts[i].planned)
			buf_printf(out, "--%s ", c->opts[i].name);
	buf_puts(out, "--help'\n");
	bash_add_operands(out, all, c);
	buf_puts(out, "\t\t;;\n");
}

void
complete_bash(struct buf *out, const struct completion *c)
{
	const char *glue = "";
	size_t i;

	buf_puts(out, bash_head);
	for (i = 0; i < c->nitems; i++)
		bash_add_valued(out, c->items[i]);
	buf_puts(out, bash_middle);
	for (i = 0; i < c->nitems; i++)
		if (!complete_is_of(c->items[i], NULL)) {
			buf_printf(out, "%s'0%s'", glue, c->items[i]->name);
			glue = " | ";
		}
	buf_puts(out, ") command=\"$command $word\" ;;\n");
	buf_puts(out, bash_values);
	for (i = 0; i < c->nitems; i++)
		bash_add_command(out, c, c->items[i]);
	buf_puts(out, "\thelp) words='");
	complete_names(out, c, NULL);
	buf_puts(out, "' ;;\n\t'')\n\t\twords='");
	complete_names(out, c, NULL);
	buf_puts(out, " help'\n\t\toptions='--help --version'\n\t\t;;\n");
	buf_puts(out, bash_tail);
}
