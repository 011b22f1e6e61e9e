/* SPDX-License-Identifier: MIT */
/*
 * Scan: JSON as people write it, checked byte by byte.
 *
 * Accepted is RFC 8259 with comments, one trailing comma and a UTF-8 BOM.
 * Refused, with line and column, is everything else, and also what parsers
 * differ about: duplicate keys (compared unescaped), lone surrogates, \u0000 in a
 * key, nesting past CONFIG_DEPTH_MAX.  What comes out is strict JSON of the same
 * length, and where each value stands.
 */
#ifndef SUPERVISOR_CONFIG_SCAN_H
#define SUPERVISOR_CONFIG_SCAN_H

#include <stddef.h>

#include "ipc/buf.h"
#include "ipc/error.h"
#include "supervisor/config/config.h"

enum {
	SCAN_VALUES_MAX = 1000000
};

enum scan_kind {
	SCAN_OBJECT,
	SCAN_ARRAY,
	SCAN_STRING,
	SCAN_NUMBER,
	SCAN_TRUE,
	SCAN_FALSE,
	SCAN_NULL,
};

/* Values are numbered as they begin (pre-order): the root is 0. */
struct scan_value {
	enum scan_kind kind;
	struct file_place place;
	struct file_place key_place; /* of a member */
	unsigned parent;	     /* itself for the root */
	unsigned next;		     /* the first value past this one and all within it */
	unsigned ordinal;	     /* its index in its array or object */
	unsigned key; /* of a member: where its name is, see config_scan_key() */
	unsigned key_bytes;
};

struct config_scan {
	struct buf text; /* strict JSON */
	struct scan_value *values;
	size_t nvalues;
	size_t room;
	struct buf keys; /* unescaped names, each followed by a NUL */
};

#define SCAN_INIT            \
	{                    \
		.nvalues = 0 \
	}

/*
 * Scan a whole text; `name` stands for the file in messages.  On failure *err is
 * `<name>:<line>:<column>: <why>` and *ret_scan untouched.  Takes time
 * proportional to n (n log n in the number of keys).
 */
int config_scan_text(const char *name, const char *text, size_t n,
		     struct config_scan *ret_scan, struct error *err);
/* The unescaped name of a member of an object; "" for other values. */
const char *config_scan_key(const struct config_scan *s, size_t value);
/* Append the JSON path: `verify.fast[2].proves`; nothing for the root. */
void config_scan_path(const struct config_scan *s, size_t value, struct buf *out);
void config_scan_release(struct config_scan *s);

#endif
