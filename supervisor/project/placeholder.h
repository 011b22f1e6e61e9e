/* SPDX-License-Identifier: MIT */
/*
 * Placeholders: `{workspace}` and the like in a command, filled in so that the shell
 * reads the value and nothing else, wherever the placeholder stands.
 *
 * A plain value ([A-Za-z0-9_./@%+=:,-]+, no `-` first) stands as it is.  Any other is
 * quoted: bare it becomes one word, inside '…' and "…" it stays inside.  Where that
 * cannot be done (a here-document, `…`, $'…', ${…}, arithmetic, after a backslash, or
 * past syntax that shells read in different ways) it is refused.  `${workspace}` is the
 * shell's own syntax, and refused in any case.
 */
#ifndef SUPERVISOR_PROJECT_PLACEHOLDER_H
#define SUPERVISOR_PROJECT_PLACEHOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

struct placeholder {
	const char *name; /* without the braces */
	/*
	 * One value, or with is_list any number: words with a blank between them.  A list
	 * must be a word of its own; inside quotes its values must be plain.
	 */
	const char *const *values;
	size_t nvalues;
	bool is_list;
};

/*
 * The command with every placeholder of the table filled in, to be freed by the
 * caller.  Text in values is never looked at again.  On failure *err (ERROR_CONFIG) names
 * the value, the byte of the command (from 1) and what stands there.
 */
int placeholder_fill(const char *command, const struct placeholder *table, size_t n,
		     char **ret_command, struct error *err);
/* Does the command hold the placeholder of this name? */
bool placeholder_is_in(const char *command, const char *name);

#endif
