/* SPDX-License-Identifier: MIT */
/*
 * The syntax of git's configuration files.
 */
#ifndef GIT_CONFFILE_H
#define GIT_CONFFILE_H

#include <stddef.h>

/*
 * One setting, in the order of the file. `key` is `section.name` or
 * `section.subsection.name`, section and name in lower case. `value` is NULL for a name
 * without `=`. Anything but 0 stops the parse.
 */
typedef int conffile_fn(void *context, const char *key, const char *value);

/* 0; -1 where the text is not in the syntax known here; else what `fn` stopped with. */
int conffile_parse(const char *text, size_t n, conffile_fn *fn, void *context);

#endif
