/* SPDX-License-Identifier: MIT */
/*
 * Commands: each takes what stands after its name and returns the exit code.
 */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#include "ipc/error.h"

struct command; /* tools/opt.h */

/* Exit codes; a run that a signal ended exits 128 + signal. */
enum {
	EXIT_GREEN = 0,
	EXIT_RED = 1,
	EXIT_REFUSED = 2,
};

/* Prints `geonosis: <error>` and returns EXIT_REFUSED. */
int cmd_refuse(const struct error *err);

/* Prints the text of `--help` and returns EXIT_GREEN. */
int cmd_usage(const struct command *c);

int cmd_verify(int argc, char *argv[]);
int cmd_gate(int argc, char *argv[]);

#endif
