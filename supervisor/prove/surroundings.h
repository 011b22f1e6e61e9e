/* SPDX-License-Identifier: MIT */
/*
 * Surroundings: the environment of what runs in a copy: that of a run's step, less what
 * leads out of the copy.
 */
#ifndef SUPERVISOR_PROVE_SURROUNDINGS_H
#define SUPERVISOR_PROVE_SURROUNDINGS_H

#include "supervisor/prove/copy.h"
#include "supervisor/run/environment.h"

/* In the environment of every step that is proved: the tiers that are, outermost first.
 */
#define SURROUNDINGS_VARIABLE "GEONOSIS_PROVING"

/*
 * From the caller's environment, in the working directory of the copy.  Where the copy
 * lies elsewhere, what names the tree names the copy.
 */
void surroundings_fill(struct environment *e, const struct copy *c, char *const *caller);
/* `text` with every item of it (between colons) that lies in `root` led to `to`. */
char *surroundings_lead(const char *text, const char *root, const char *to);

#endif
