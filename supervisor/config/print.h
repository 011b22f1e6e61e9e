/* SPDX-License-Identifier: MIT */
/*
 * Print: a configuration as geonosis.json says it.
 */
#ifndef SUPERVISOR_CONFIG_PRINT_H
#define SUPERVISOR_CONFIG_PRINT_H

#include "ipc/buf.h"
#include "supervisor/config/config.h"

/*
 * Append strict JSON that config_parse() reads as the same configuration; defaults
 * that the file left out (`documents`) are written, warnings are not.
 */
void config_print(const struct config *c, struct buf *out);

#endif
