/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/cmd.h"
#include "tools/help.h"

int
cmd_planned(const struct command *c, int argc, char *const argv[])
{
	struct error err = ERROR_INIT;
	int i;

	for (i = 0; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return cmd_usage(c);
	(void)command_refuse(c, &err);
	return cmd_refuse(&err);
}
