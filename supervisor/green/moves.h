/* SPDX-License-Identifier: MIT */
/*
 * Moves: what a green run does to its tier's mark.
 */
#ifndef SUPERVISOR_GREEN_MOVES_H
#define SUPERVISOR_GREEN_MOVES_H

#include <stdbool.h>

#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/green/key.h"

/*
 * Move the mark of a tier to HEAD, where the tree that was green is HEAD's own: nothing
 * tracked differs from it, is left out by a sparse checkout, or stands there untracked,
 * `documents` aside.  `k` was
 * computed after the run, and is the key that it ran under.  1 moved, or there already; 0
 * not, for a reason that is no fault; -1 with *err, for a WARN.
 */
int moves_to_head(const struct config *c, const char *tier, const struct key *k,
		  struct error *err);

#endif
