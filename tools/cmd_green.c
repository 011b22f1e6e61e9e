/* SPDX-License-Identifier: MIT */
/* `geonosis verify green`: a tool's own greens, and whether a tier is recorded green. */
#include <stdio.h>
#include <string.h>

#include "supervisor/config/config.h"
#include "supervisor/green/key.h"
#include "supervisor/green/record.h"
#include "supervisor/green/tool.h"
#include "tools/cmd.h"
#include "tools/help.h"
#include "tools/opt.h"

static int
green_record(const struct opt_args *a, struct error *err)
{
	return tool_record(a->operands[0], a->values[GREEN_ASKED].text, err) < 0
		   ? EXIT_REFUSED
		   : EXIT_GREEN;
}

static int
green_check(const struct opt_args *a, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = tool_check(a->operands[0], a->values[GREEN_ASKED].text, &text, err);

	(void)fputs(buf_text(&text), stdout);
	buf_release(&text);
	if (rc < 0)
		return EXIT_REFUSED;
	return rc == 1 ? EXIT_GREEN : EXIT_RED;
}

/*
 * The record's own flags: a green is one whatever it was asked with; but not one that
 * left workspaces out of which nobody has said that they are green.
 */
static int
green_tier(const struct opt_args *a, struct error *err)
{
	struct config config = CONFIG_INIT;
	struct record record = RECORD_INIT;
	struct key key = KEY_INIT;
	const struct tier *tier;
	int code = EXIT_REFUSED;

	if (config_load(".", &config, err) < 0)
		return EXIT_REFUSED;
	tier = config_tier(&config, a->operands[0], err);
	if (tier == NULL)
		goto out;
	code = EXIT_RED;
	if (!record_read(tier->name, &record))
		goto out;
	if (key_compute(&config, tier->name, record.flags, GEONOSIS_VERSION, &key, err) <
	    0)
		code = EXIT_REFUSED;
	else if (key.is_there && record.moves_mark && strcmp(key.hex, record.inputs) == 0)
		code = EXIT_GREEN;
	if (code == EXIT_GREEN)
		(void)printf("green %s since %s\n", tier->name, record.finished_at);
out:
	key_release(&key);
	record_release(&record);
	config_release(&config);
	return code;
}

static const struct {
	const char *name;
	int (*run)(const struct opt_args *a, struct error *err);
} subcommands[] = {
	{ "verify green record", green_record },
	{ "verify green check", green_check },
	{ "verify green tier", green_tier },
};

static int
green_dispatch(const struct command *c, const struct opt_args *a, struct error *err)
{
	size_t i;

	if (a->noperands != 1) {
		(void)error_set(err, ERROR_USAGE,
				"%s: one %s is needed, as in `geonosis %s %s`", c->name,
				c->operands, c->name, c->operands);
		return EXIT_REFUSED;
	}
	for (i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (strcmp(subcommands[i].name, c->name) == 0)
			return subcommands[i].run(a, err);
	return EXIT_REFUSED;
}

int
cmd_green(int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c;
	struct opt_args args = OPT_ARGS_INIT;
	int code = EXIT_REFUSED;

	if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))
		return cmd_usage(green_command());
	c = green_command_find(argc > 0 ? argv[0] : NULL, &err);
	if (c == NULL || opt_parse(c, argc - 1, argv + 1, &args, &err) < 0)
		return cmd_refuse(&err);
	code = args.help ? cmd_usage(c) : green_dispatch(c, &args, &err);
	opt_args_release(&args);
	if (code == EXIT_REFUSED && err.kind != ERROR_NONE)
		return cmd_refuse(&err);
	return cmd_flush(code);
}
