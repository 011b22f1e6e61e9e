/* SPDX-License-Identifier: MIT */
/*
 * List: making a workspace list, a workspace at a time.
 */
#ifndef SUPERVISOR_PROJECT_LIST_H
#define SUPERVISOR_PROJECT_LIST_H

#include <stddef.h>

#include "supervisor/project/workspace.h"

struct list_builder {
	struct workspace_list list;
	size_t room;
};

#define LIST_BUILDER_INIT                    \
	{                                    \
		.list = WORKSPACE_LIST_INIT, \
	}

/* Takes what the workspace owns; one at path "." becomes the root. */
void list_builder_add(struct list_builder *b, struct workspace *w);
/* Sort by path, drop a path that is there twice; the list is the caller's. */
void list_builder_finish(struct list_builder *b, enum manager manager,
			 struct workspace_list *ret_list);
void list_builder_release(struct list_builder *b);

#endif
