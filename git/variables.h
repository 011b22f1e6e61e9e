/* SPDX-License-Identifier: MIT */
/*
 * Variables: configuration that the environment carries, as `git -c` and CI set it:
 * GIT_CONFIG_COUNT with its keys and values, and GIT_CONFIG_PARAMETERS (git's
 * config.c has the form of both).  It counts after all files.
 */
#ifndef GIT_VARIABLES_H
#define GIT_VARIABLES_H

/* `key` as it was written, in any case; `value` NULL: none, which is true. */
typedef void variable_fn(void *context, const char *key, const char *value);

/* Each of them, the later counts; what is malformed ends its variable. */
void variables_read(variable_fn *take, void *context);

#endif
