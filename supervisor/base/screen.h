/* SPDX-License-Identifier: MIT */
/*
 * Screen: one quick pass over the bytes of many lines, so that most lines of most
 * outputs need no closer look.
 *
 * It tells how many lines there are, whether any byte is more than printable ASCII,
 * TAB and \n, and which signs the lines could hold.  A sign it does not name is not
 * there: each sign's pattern (supervisor/base/signs.h) needs one of the three-byte
 * marks that the pass looks for.  One that it names may be there.
 */
#ifndef SUPERVISOR_BASE_SCREEN_H
#define SUPERVISOR_BASE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/base/signs.h"

struct screened {
	bool plain;
	size_t newlines;
	unsigned signs; /* of enum sign */
};

struct screen {
	/* For each place of a mark: the marks that a byte's low and high half allow. */
	uint8_t low[3][16];
	uint8_t high[3][16];
	bool wide; /* the machine has AVX2 */
};

void screen_init(struct screen *s);
/* Screen whole lines, the first at `bytes`. */
struct screened screen_lines(const struct screen *s, const char *bytes, size_t n);

#endif
