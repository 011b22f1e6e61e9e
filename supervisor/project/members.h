/* SPDX-License-Identifier: MIT */
/*
 * Members: the directories that a manager's list of patterns names, by that manager's
 * own rules.  They were learned from the managers themselves, which a test asks again:
 *
 *            negation                        `**` follows links   besides
 *   npm      a later pattern brings back     no                   / before a pattern is
 * dropped pnpm     whatever the order              yes                  nothing in
 * bower_components Yarn 1   there is none                   no Yarn     whatever the
 * order, with all    yes                  a base before ** is none that lies below itself
 *   Bun      there is none                   no
 */
#ifndef SUPERVISOR_PROJECT_MEMBERS_H
#define SUPERVISOR_PROJECT_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/project/source.h"
#include "supervisor/project/workspace.h"

struct path_list {
	char **items;
	size_t nitems;
	size_t room;
};

#define PATH_LIST_INIT     \
	{                  \
		NULL, 0, 0 \
	}

void path_list_add(struct path_list *l, char *path);
/* Sort bytewise and drop doubles. */
void path_list_settle(struct path_list *l);
/* Is the path among the first n, which are settled? */
bool path_list_has(const struct path_list *l, size_t n, const char *path);
void path_list_release(struct path_list *l);

/*
 * Append every directory at or below `base` ("" the root) that the patterns name and
 * that holds a package.json, the base itself excepted, in any order, maybe twice.  Fails
 * (ERROR_DATA, the pattern quoted) where a pattern is too large to follow.
 */
int members_find(const struct source *from, enum manager manager, const char *base,
		 const struct path_list *patterns, struct path_list *into,
		 struct error *err);

#endif
