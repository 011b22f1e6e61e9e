/* SPDX-License-Identifier: MIT */
/*
 * Tiers: the object "verify", read.
 */
#ifndef SUPERVISOR_CONFIG_TIERS_H
#define SUPERVISOR_CONFIG_TIERS_H

#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/config/document.h"
#include "supervisor/config/names.h"

/*
 * Read all tiers into a fresh config, and their names into *ret_names.  On failure
 * the config is left as far as it came, for config_release; *ret_names untouched.
 */
int tiers_read(const struct document *d, size_t verify, struct config *c,
	       struct tier_names *ret_names, struct error *err);
void tier_release(struct tier *t);

#endif
