/* SPDX-License-Identifier: MIT */
/*
 * Glob: the one dialect of paths in geonosis.json.
 *
 *   *      any characters of one segment, none too; a leading dot is no exception
 *   ?      one character of a segment
 *   […]    one character of a set or range; [!…] and [^…] one that is not of it
 *   **     as a whole segment: any number of segments, none too; as the
 *          last one of a glob at least one, so that it says all that is below a
 *          directory, and not the directory
 *   {a,b}  one of several, nested as one likes
 *
 * There is no negation and no escape ([*] is a star).  A character is a UTF-8
 * sequence, or a single byte where a path has none.  Matching takes time
 * proportional to path times glob, whatever the glob.
 */
#ifndef SUPERVISOR_BASE_GLOB_H
#define SUPERVISOR_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

enum {
	GLOB_BYTES_MAX = 4096,
	GLOB_BRACES_MAX = 32, /* nested */
};

struct glob; /* compiled; immutable */

/*
 * Compile a glob.  A leading `./` and one final `/` are no part of it: `plugin/`
 * matches `plugin`.  On failure *err is `offset N: <why>`, N in bytes from 0.
 */
int glob_compile(const char *text, struct glob **ret_glob, struct error *err);
/* Does it match the whole path (relative, without a leading `./` or final `/`)? */
bool glob_matches(const struct glob *g, const char *path, size_t n);
void glob_free(struct glob *g);

#endif
