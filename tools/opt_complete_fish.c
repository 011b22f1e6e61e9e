/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/opt_complete.h"

static const char fish_head[] =
    "# fish completion for geonosis\n"
    "# The words so far are exactly these.\n"
    "function __geonosis_at\n"
    "\tset -l words (commandline -opc)\n"
    "\ttest (count $words) -eq (math (count $argv) + 1)\n"
    "\tand __geonosis_in $argv\n"
    "end\n"
    "# The words so far begin with these.\n"
    "function __geonosis_in\n"
    "\tset -l words (commandline -opc)\n"
    "\tset -e words[1]\n"
    "\tset -l n (count $argv)\n"
    "\ttest $n -eq 0\n"
    "\tor begin\n"
    "\t\ttest (count $words) -ge $n\n"
    "\t\tand test \"$words[1..$n]\" = \"$argv\"\n"
    "\tend\n"
    "end\n"
    "function __geonosis_ended\n"
    "\tcontains -- -- (commandline -opc)\n"
    "end\n"
    "function __geonosis_tiers\n"
    "\tset -l words (commandline -opc)\n"
    "\t$words[1] completion tiers 2>/dev/null\n"
    "end\n"
    "# The command behind --, with its own completions.\n"
    "function __geonosis_command\n"
    "\tset -l words (commandline -opc)\n"
    "\tset -e words[1..(contains -i -- -- $words)]\n"
    "\tcomplete -C (string join -- ' ' (string escape -- $words) (commandline -ct))\n"
    "end\n"
    "complete -c geonosis -f\n";

/* `complete` where the words so far begin with this command, and no subcommand of it. */
static void
fish_add_condition(struct buf *out, const struct command *c)
{
	buf_printf(out, "complete -c geonosis -n '__geonosis_in %s", c->name);
	for (size_t i = 0; i < c->nsubcommands; i++)
		buf_printf(out, "; and not __geonosis_in %s", c->subcommands[i].name);
}

static void
fish_add_opt(struct buf *out, const struct command *c, const struct opt *o)
{
	fish_add_condition(out, c);
	buf_printf(out, "; and not __geonosis_ended' -l %s", o->name);
	if (o->letter != '\0')
		buf_printf(out, " -s %c", o->letter);
	if (complete_has_value(o))
		buf_puts(out, complete_has_path(o) ? " -r -F" : " -x");
	buf_puts(out, " -d ");
	complete_quote(out, o->help, "\\");
	buf_putc(out, '\n');
}

static void
fish_add_operands(struct buf *out, const struct command *c)
{
	switch (c->operand) {
	case OPERAND_NONE:
		break;
	case OPERAND_TIER:
		fish_add_condition(out, c);
		buf_puts(out, "; and not __fish_seen_subcommand_from (__geonosis_tiers)' "
			      "-a '(__geonosis_tiers)' -d tier\n");
		break;
	case OPERAND_WORD:
		if (c->nsubcommands > 0)
			break;
		buf_printf(out, "complete -c geonosis -n '__geonosis_at %s' -a '",
			   c->name);
		complete_operand_words(out, c);
		buf_puts(out, "'\n");
		break;
	case OPERAND_COMMAND:
		buf_printf(out,
			   "complete -c geonosis -n '__geonosis_in %s; and "
			   "__geonosis_ended' -a '(__geonosis_command)'\n",
			   c->name);
		break;
	}
}

static void
fish_add_command(struct buf *out, const struct command *c)
{
	static const struct opt help = { .name = "help",
					 .letter = 'h',
					 .help = "show this text" };
	const char *word = complete_word(c);
	int parent = (int)(word - c->name);

	buf_printf(out, "complete -c geonosis -n '__geonosis_at%s%.*s' -a %s -d ",
		   parent > 0 ? " " : "", parent > 0 ? parent - 1 : 0, c->name, word);
	complete_quote(out, c->summary, "\\");
	buf_putc(out, '\n');
	for (size_t i = 0; i < c->nopts; i++)
		if (!c->opts[i].planned)
			fish_add_opt(out, c, &c->opts[i]);
	fish_add_opt(out, c, &help);
	fish_add_operands(out, c);
}

void
complete_fish(struct buf *out, const struct completion *c)
{
	buf_puts(out, fish_head);
	for (size_t i = 0; i < c->nitems; i++)
		fish_add_command(out, c->items[i]);
	buf_puts(out, "complete -c geonosis -n __geonosis_at -a help -d 'show the help'\n"
		      "complete -c geonosis -n __geonosis_at -l help -s h "
		      "-d 'show the help'\n"
		      "complete -c geonosis -n __geonosis_at -l version "
		      "-d 'say which version this is'\n"
		      "complete -c geonosis -n '__geonosis_at help' -a '");
	complete_names(out, c, NULL);
	buf_puts(out, "'\n");
}
