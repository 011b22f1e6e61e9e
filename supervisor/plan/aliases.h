/* SPDX-License-Identifier: MIT */
/*
 * Aliases: the other paths at which a change is seen, through the links of the tree.
 *
 * A link in one workspace to a file or directory of another shows what changes there.
 * Links that git does not see are not known.
 */
#ifndef SUPERVISOR_PLAN_ALIASES_H
#define SUPERVISOR_PLAN_ALIASES_H

#include <stdbool.h>
#include <stddef.h>

#include "git/tree_key.h"

struct alias {
	char *path;	/* from the top of the tree */
	size_t changed; /* which of the changed paths is seen there */
};

struct alias_list {
	struct alias *items;
	size_t nitems, room;
	bool is_partial; /* there were too many to follow them all */
};

#define ALIAS_LIST_INIT       \
	{                     \
		.items = NULL \
	}

/*
 * Those of the changed paths, which are from the top of the tree.  A change is seen once
 * through each link.
 */
void aliases_find(const struct tree_key *tree, const char *const *paths, size_t npaths,
		  struct alias_list *ret_list);
void alias_list_release(struct alias_list *l);

#endif
