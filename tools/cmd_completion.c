/* SPDX-License-Identifier: MIT */
/* `geonosis completion`: for a shell, once, and for its completions, at every key. */
#include <string.h>

#include "supervisor/config/config.h"
#include "tools/cmd.h"
#include "tools/help.h"
#include "tools/opt.h"

/*
 * Not for people: the tiers of the working directory, one a line.  Without a sound
 * geonosis.json it says nothing at all, since a word on stderr would stand in the
 * line that somebody is writing.
 */
static int
completion_tiers(void)
{
	struct config config = CONFIG_INIT;
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	int code;

	if (config_load(".", &config, &err) < 0)
		return EXIT_REFUSED;
	for (size_t i = 0; i < config.ntiers; i++)
		buf_printf(&text, "%s\n", config.tiers[i].name);
	code = cmd_print(&text);
	buf_release(&text);
	config_release(&config);
	return code;
}

static int
completion_shell(const struct opt_args *a, struct error *err)
{
	const struct command *const *commands;
	struct buf text = BUF_INIT;
	size_t ncommands;
	int code = EXIT_REFUSED;

	if (a->noperands != 1) {
		(void)error_set(err, ERROR_USAGE,
				"completion: say for which shell: bash, zsh or fish");
		return EXIT_REFUSED;
	}
	commands = command_list(&ncommands);
	if (opt_complete(a->operands[0], commands, ncommands, &text, err) == 0)
		code = cmd_print(&text);
	buf_release(&text);
	return code;
}

int
cmd_completion(int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c = command_find("completion", &err);
	struct opt_args args = OPT_ARGS_INIT;
	int code;

	if (argc == 1 && strcmp(argv[0], "tiers") == 0)
		return completion_tiers();
	if (c == NULL || opt_parse(c, argc, argv, &args, &err) < 0)
		return cmd_refuse(&err);
	code = args.help ? cmd_usage(c) : completion_shell(&args, &err);
	if (err.kind != ERROR_NONE)
		code = cmd_refuse(&err);
	opt_args_release(&args);
	return code;
}
