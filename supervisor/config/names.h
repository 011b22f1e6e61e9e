/* SPDX-License-Identifier: MIT */
/*
 * Names: tiers by name.
 */
#ifndef SUPERVISOR_CONFIG_NAMES_H
#define SUPERVISOR_CONFIG_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/config/config.h"

struct tier_name {
	const char *name; /* borrowed from the tier */
	size_t tier;	  /* its index */
};

struct tier_names {
	struct tier_name *items; /* sorted */
	size_t nitems;
};

/* All tiers of a config; valid as long as their names stand. */
struct tier_names tier_names_of(const struct config *c);
bool tier_names_find(const struct tier_names *n, const char *name, size_t *ret_tier);
void tier_names_release(struct tier_names *n);

/* Names that are commands of `geonosis verify`, and no tier's; NULL ends them. */
extern const char *const tier_names_taken[];
/* Why a name cannot be a tier's, or NULL when it can. */
const char *tier_name_fault(const char *name);
/* `did you mean "fast"? the tiers are fast, full`; freed by the caller. */
char *tier_names_hint(const struct config *c, const char *name);

#endif
