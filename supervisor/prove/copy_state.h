/* SPDX-License-Identifier: MIT */
/*
 * Copy state: what a copy holds at one moment; and whether what a plant left is a change.
 *
 * A touch is none, nor is a file that was written with what it had, or one that was made
 * and removed again.  Ignored files, node_modules, and the refs and the index of a copy
 * with history count.
 */
#ifndef SUPERVISOR_PROVE_COPY_STATE_H
#define SUPERVISOR_PROVE_COPY_STATE_H

#include "ipc/error.h"
#include "supervisor/prove/copy.h"

int copy_state_take(const struct copy *c, struct copy_state **ret_state,
		    struct error *err);
/* Add to the changes what became of the copy between two states. */
void copy_state_compare(const struct copy *c, const struct copy_state *before,
			const struct copy_state *after, struct changes *changes);
void copy_state_free(struct copy_state *s);

#endif
