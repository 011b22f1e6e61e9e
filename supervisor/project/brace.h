/* SPDX-License-Identifier: MIT */
/*
 * Braces: `{a,b}`, nested, and `{1..3}`, `{a..e}`, `{1..9..2}` in a manager's pattern.
 */
#ifndef SUPERVISOR_PROJECT_BRACE_H
#define SUPERVISOR_PROJECT_BRACE_H

#include <stddef.h>

#include "ipc/error.h"

enum {
	BRACE_EXPANSIONS_MAX = 10000
};

struct brace_list {
	char **items;
	size_t nitems;
	size_t room;
};

#define BRACE_LIST_INIT    \
	{                  \
		NULL, 0, 0 \
	}

/*
 * Append what the text expands to, at least one string.  Braces that hold neither a comma
 * nor a range are plain.  Fails (ERROR_DATA, without the text's place) past
 * BRACE_EXPANSIONS_MAX, or when nested too deep.
 */
int brace_expand(const char *text, struct brace_list *into, struct error *err);
void brace_list_release(struct brace_list *l);

#endif
