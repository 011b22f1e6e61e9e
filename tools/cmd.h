/* SPDX-License-Identifier: MIT */
/*
 * Commands: each takes what stands after its name and returns the exit code.
 */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#include "ipc/buf.h"
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

/* Prints all of a text: EXIT_GREEN, or EXIT_REFUSED where it could not be written. */
int cmd_print(const struct buf *text);
/* At the end of a command that printed to stdout: its code, or EXIT_REFUSED as above. */
int cmd_flush(int code);
/* Prints the text of `--help`; returns as cmd_print(). */
int cmd_usage(const struct command *c);

/* A command that is known and not there yet: it answers for its help, and is refused. */
int cmd_planned(const struct command *c, int argc, char *const argv[]);

int cmd_verify(int argc, char *argv[]);
/* `geonosis verify green …` */
int cmd_green(int argc, char *argv[]);
/* `verify prove`, likewise. */
int cmd_prove(int argc, char *argv[]);
int cmd_gate(int argc, char *argv[]);
int cmd_schema(int argc, char *argv[]);
int cmd_completion(int argc, char *argv[]);

#endif
