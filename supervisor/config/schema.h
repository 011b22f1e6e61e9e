/* SPDX-License-Identifier: MIT */
/*
 * Schema: geonosis.json for editors, as a JSON Schema (2020-12) made from the
 * tables of keys.
 */
#ifndef SUPERVISOR_CONFIG_SCHEMA_H
#define SUPERVISOR_CONFIG_SCHEMA_H

#include "ipc/buf.h"

/*
 * Append the schema.  It accepts what config_parse() accepts, and more where a schema
 * cannot tell: globs, regexes, cycles, keys that stand twice.
 */
void config_schema(struct buf *out);

#endif
