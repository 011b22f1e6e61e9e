/* SPDX-License-Identifier: MIT */
/*
 * Live region: the last lines of a terminal, drawn again and again while a run goes on:
 * what runs, since when, with its last line of output, and what waits and for whom.
 *
 * The cursor always rests at the region's first cell, so that erasing it is "erase
 * below": however the terminal is resized or re-wrapped meanwhile, nothing above is ever
 * touched.  No mode of the terminal is changed but within one write, so there is nothing
 * to restore when we are killed.
 */
#ifndef TOOLS_LIVE_H
#define TOOLS_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/buf.h"
#include "supervisor/plan/plan.h"
#include "supervisor/run/run.h"

enum {
	LIVE_TICK_MS = 200
};

struct live {
	bool is_on;
	struct buf lines; /* of the region, in full, each ended by \n */
};

/*
 * Is stdout a terminal that wants more than plain lines: not for NO_COLOR, CI (set and
 * not empty) or a dumb terminal.
 */
void live_open(struct live *l);
/* New content of the region. */
void live_fill(struct live *l, const struct plan *p, const struct run_activity *a,
	       size_t n);
void live_clear(struct live *l);
/*
 * Append what puts permanent text (may be empty) above the region, and draws the region
 * again. Where the region is off the text is all there is.
 */
void live_print(const struct live *l, const char *text, size_t n, struct buf *out);
void live_release(struct live *l);

#endif
