/* SPDX-License-Identifier: MIT */
/*
 * Cycle: tiers that reach themselves.
 */
#ifndef SUPERVISOR_CONFIG_CYCLE_H
#define SUPERVISOR_CONFIG_CYCLE_H

#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/config/config.h"
#include "supervisor/config/document.h"

/* The name of a tier within a tier, and where it stands. */
struct tier_edge {
	size_t from, to;
	size_t value;
};

/* In the order of `from`, as reading one tier after the other yields them. */
struct tier_edges {
	struct tier_edge *items;
	size_t nitems;
	size_t room;
};

void tier_edges_add(struct tier_edges *e, size_t from, size_t to, size_t value);
void tier_edges_release(struct tier_edges *e);
/* Refuse a cycle by the path it went round; linear in tiers and edges. */
int tier_edges_check(const struct tier_edges *e, const struct document *d,
		     const struct config *c, struct error *err);

#endif
