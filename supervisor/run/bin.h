/* SPDX-License-Identifier: MIT */
/*
 * Bin: the tools that a package manager put into node_modules/.bin of the working
 * directory, run without the package manager in between.
 */
#ifndef SUPERVISOR_RUN_BIN_H
#define SUPERVISOR_RUN_BIN_H

/*
 * The command as it is to be executed: one that begins with `pnpm exec `, `npx ` or
 * `bunx ` and a plain tool name runs `node_modules/.bin/<tool>` where that can be
 * executed; any other is returned as it is.  Freed by the caller.
 */
char *bin_command(const char *command);

#endif
