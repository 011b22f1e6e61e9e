/* SPDX-License-Identifier: MIT */
#include "supervisor/config/schema.h"
#include "tools/cmd.h"
#include "tools/help.h"
#include "tools/opt.h"

int
cmd_schema(int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c = command_find("schema", &err);
	struct opt_args args = OPT_ARGS_INIT;
	struct buf text = BUF_INIT;
	int code;

	if (c == NULL || opt_parse(c, argc, argv, &args, &err) < 0)
		return cmd_refuse(&err);
	if (args.help) {
		code = cmd_usage(c);
	} else {
		config_schema(&text);
		code = cmd_print(&text);
	}
	buf_release(&text);
	opt_args_release(&args);
	return code;
}
