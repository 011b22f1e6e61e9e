/* SPDX-License-Identifier: MIT */
/*
 * Document: a JSON text as values that know where they stand.  The one room of
 * config that knows json-c.
 *
 * Values are numbers, as in scan.h: 0 is the root, and stands for "none" where a
 * child is asked for.
 */
#ifndef SUPERVISOR_CONFIG_DOCUMENT_H
#define SUPERVISOR_CONFIG_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/config/scan.h"

struct json_object;

struct document {
	char *name; /* that stands for the file in messages */
	struct config_scan scan;
	struct json_object *root;
	struct json_object **nodes; /* by number of the value; borrowed from root */
};

#define DOCUMENT_INIT        \
	{                    \
		.name = NULL \
	}

int document_read(const char *name, const char *text, size_t n,
		  struct document *ret_document, struct error *err);
void document_release(struct document *d);

/* The children of an object or array, in the order written; 0 when there is no more. */
size_t document_first(const struct document *d, size_t value);
size_t document_next(const struct document *d, size_t child);
/* The name of a member. */
const char *document_key(const struct document *d, size_t value);
enum scan_kind document_kind(const struct document *d, size_t value);
/* A string's text, or NULL when the value is none or holds a NUL. */
const char *document_text(const struct document *d, size_t value);
/* A whole number from min to max (within 2^53)?  Also as `1e3` or `2.0`. */
bool document_whole(const struct document *d, size_t value, int64_t min, int64_t max,
		    int64_t *ret_number);
/* The JSON path; freed by the caller. */
char *document_path(const struct document *d, size_t value);

/*
 * Fill *err with `<name>:<line>:<column>: <path>: <why>`, the place that of the
 * value, or of its key.  Returns -1.
 */
int document_refuse(const struct document *d, size_t value, struct error *err,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int document_refuse_key(const struct document *d, size_t value, struct error *err,
			const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
