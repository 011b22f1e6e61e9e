/* SPDX-License-Identifier: MIT */
/*
 * Wildcards of ignore and attribute files: `*`, `?`, `[…]` with classes, `\`, and `**`
 * as a whole component.  fnmatch(3) knows no `**` and differs inside brackets.
 */
#ifndef GIT_WILDMATCH_H
#define GIT_WILDMATCH_H

#include <stdbool.h>

enum wild_flag {
	WILD_PATHNAME = 1, /* `*`, `?` and `[…]` match no '/' */
	WILD_FOLD_CASE = 2
};

bool wildmatch(const char *pattern, const char *text, unsigned flags);

#endif
