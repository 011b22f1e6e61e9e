/* SPDX-License-Identifier: MIT */
/*
 * Field: one value of the file, read as what it should be or refused.
 *
 * All return 0, or -1 with *err naming the place, the JSON path and what would be
 * right; outputs are the caller's to free.
 */
#ifndef SUPERVISOR_CONFIG_FIELD_H
#define SUPERVISOR_CONFIG_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/config/document.h"

/* What a value is, for a message: "a string", "an empty list". */
const char *field_kind(const struct document *d, size_t value);
/* A name for a message: cleaned, cut where it is long; freed by the caller. */
char *field_quote(const char *text);

/* A string that is not blank; `wanted` says what it should be: "a command". */
int field_text(const struct document *d, size_t value, const char *wanted,
	       char **ret_text, struct error *err);
/* One that the shell has something to do with: not a comment alone. */
int field_command(const struct document *d, size_t value, const char *wanted,
		  char **ret_command, struct error *err);
int field_flag(const struct document *d, size_t value, bool *ret_flag, struct error *err);
/* A whole number from min to max. */
int field_number(const struct document *d, size_t value, int64_t min, int64_t max,
		 int64_t *ret_number, struct error *err);
/* A regex that compiles. */
int field_regex(const struct document *d, size_t value, char **ret_regex,
		struct error *err);

/* What the strings of a list are. */
enum field_list {
	FIELD_GLOBS, /* of files */
	FIELD_PATHS, /* globs of files or directories: `plugin/` is one */
	FIELD_NAMES, /* of environment variables */
	FIELD_FILES, /* plain paths */
};

int field_list(const struct document *d, size_t value, enum field_list what,
	       struct string_list *ret_list, struct error *err);
void string_list_add(struct string_list *l, char *item);
void string_list_release(struct string_list *l);

#endif
