/* SPDX-License-Identifier: MIT */
/*
 * Far: the words of the network and of runners' timeouts (supervisor/base/signs.h) in the
 * bytes of lines that are longer than what patterns look at.
 */
#ifndef SUPERVISOR_BASE_FAR_H
#define SUPERVISOR_BASE_FAR_H

#include <stddef.h>

#include "supervisor/base/finder.h"
#include "supervisor/base/screen.h"
#include "supervisor/base/signs.h"

struct far {
	struct finder finders[SIGN_WORDS];
};

/* Nothing was found yet; a zeroed one may be reset, too. */
void far_reset(struct far *f);
/* Bytes of a line; only words of the signs that are wanted are looked for. */
void far_feed(struct far *f, const struct screen *screen, unsigned wanted,
	      const char *bytes, size_t n);
/* A word of a wanted sign that was found, or NULL. */
const struct sign_word *far_found(const struct far *f, unsigned wanted);
void far_release(struct far *f);

#endif
