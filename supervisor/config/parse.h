/* SPDX-License-Identifier: MIT */
/*
 * Parse: a whole configuration from its text.
 */
#ifndef SUPERVISOR_CONFIG_PARSE_H
#define SUPERVISOR_CONFIG_PARSE_H

#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/config/config.h"

/*
 * config_parse() for a file that lies in `dir` (NULL: unknown), which decides what
 * is outside of the repository.
 */
int config_parse_in(const char *dir, const char *name, const char *text, size_t n,
		    struct config *ret_config, struct error *err);

#endif
