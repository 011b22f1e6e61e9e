/* SPDX-License-Identifier: MIT */
/*
 * Scanner: where a scan is in its text.  Private to scan.c and token.c.
 *
 * Functions that read something start with `at` on its first byte and leave it
 * behind the last; on failure it stays where it was understood to.
 */
#ifndef SUPERVISOR_CONFIG_SCANNER_H
#define SUPERVISOR_CONFIG_SCANNER_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/buf.h"
#include "ipc/error.h"
#include "supervisor/config/scan.h"

struct scanner {
	struct config_scan scan;
	const char *name;
	char *text; /* scan.text.data: what is not JSON is overwritten by spaces */
	size_t n;
	size_t at;
	unsigned line;
	size_t line_start;
	unsigned depth;
};

/* Refuse what stands at `at`, on the line that is scanned.  Returns -1. */
int scanner_refuse(const struct scanner *s, size_t at, struct error *err, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));
/* The byte at hand; 0 at the end (a NUL in the text is refused where it is met). */
char scanner_peek(const struct scanner *s);

/* A string; `key` NULL, or where to append what it stands for. */
int scanner_string(struct scanner *s, struct buf *key, struct error *err);
int scanner_number(struct scanner *s, struct error *err);
/* true, false, null; and the words that other languages have there, refused. */
int scanner_word(struct scanner *s, enum scan_kind *ret_kind, struct error *err);
bool scanner_is_word(char c);

#endif
