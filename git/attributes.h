/* SPDX-License-Identifier: MIT */
/*
 * Attributes: which files git may keep in another form than they have on disk.
 *
 * No answer about a file's attributes, only whether it can be ruled out that git would
 * convert it: by a filter, an encoding, `ident`, or line endings. What cannot be ruled
 * out is asked of git.
 */
#ifndef GIT_ATTRIBUTES_H
#define GIT_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "git/place.h"
#include "git/settings.h"

struct attributes;

/*
 * Read the files: the system's, the user's, info/attributes, and those in `dirs` of the
 * working tree.  With is_hidden there are others that cannot be read, and nothing is
 * ruled out.
 */
struct attributes *attributes_load(const struct place *p, const struct settings *s,
				   char *const *dirs, size_t ndirs, bool is_hidden);
/* May a filter, an encoding or `ident` apply to this file? */
bool attributes_may_filter(const struct attributes *a, const char *path, size_t len);
/*
 * And may it make the same of two contents of this file, or of any file at all?  Line
 * endings aside.
 */
bool attributes_may_hide(const struct attributes *a, const char *path, size_t len);
bool attributes_hide_something(const struct attributes *a);
/* May CR LF on disk be LF for git? */
bool attributes_may_end_lines(const struct attributes *a, const char *path, size_t len);
void attributes_free(struct attributes *a);

#endif
