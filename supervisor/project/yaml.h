/* SPDX-License-Identifier: MIT */
/*
 * YAML: the one room that knows libyaml.  It reads the first document of a file whose
 * top is a mapping, and answers for keys at the top.
 */
#ifndef SUPERVISOR_PROJECT_YAML_H
#define SUPERVISOR_PROJECT_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

struct yaml;

/*
 * Read a file of at most 4 MiB.  An empty file is an empty mapping; anything else that is
 * no mapping, or does not parse, is an ERROR_DATA that names line and column.
 */
int yml_read(const char *path, struct yaml **ret_yaml, struct error *err);
/* The same from text; `name` stands for the file in messages. */
int yml_parse(const char *name, const char *text, size_t n, struct yaml **ret_yaml,
	      struct error *err);
/* Is there such a key at the top? */
bool yml_has(struct yaml *y, const char *key);
/*
 * The strings of a list at the top: their number, and each by index, borrowed.  0 where
 * the key is missing, -1 where its value is no list of scalars.
 */
int yml_list_count(struct yaml *y, const char *key);
const char *yml_list_item(struct yaml *y, const char *key, size_t i);
/* The scalar that a path of keys leads to, borrowed; NULL where there is none. */
const char *yml_string(struct yaml *y, const char *const *keys, size_t nkeys);
/* Call `pair` for each pair of scalars of a mapping at the top. */
void yml_each(struct yaml *y, const char *key,
	      void (*pair)(void *ctx, const char *key, const char *value), void *ctx);
void yml_free(struct yaml *y);

#endif
