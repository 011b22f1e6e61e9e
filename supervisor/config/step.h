/* SPDX-License-Identifier: MIT */
/*
 * Step: the object of one command, read by the table of keys.
 */
#ifndef SUPERVISOR_CONFIG_STEP_H
#define SUPERVISOR_CONFIG_STEP_H

#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/config/document.h"

/*
 * Read an object as a step: known keys of the right types, in combinations that
 * mean something.  Its id stays NULL.  On failure *ret_step is untouched.
 */
int step_read(const struct document *d, size_t object, struct step *ret_step,
	      struct error *err);
/* The step that a bare string stands for; takes the command. */
struct step step_plain(const struct document *d, size_t value, char *command);
void step_release(struct step *s);

#endif
