/* SPDX-License-Identifier: MIT */
/*
 * Bases: the commit that a tree's changes are counted from.
 */
#ifndef GIT_BASE_H
#define GIT_BASE_H

#include <stdbool.h>

#include "git/digest.h"
#include "git/repository.h"
#include "ipc/error.h"

enum base_state {
	BASE_FOUND,
	BASE_UNRELATED, /* the two have no commit in common */
	BASE_UNREADABLE /* the history that would say so is not here */
};

struct base {
	enum base_state state;
	char commit[DIGEST_HEX_SIZE]; /* the merge-base */
	char tip[DIGEST_HEX_SIZE];    /* the commit that HEAD was held against */
	bool has_head;		      /* the tip has HEAD in it: the merge-base is HEAD */
	struct error why;	      /* of the other states, one line */
};

#define BASE_INIT                                            \
	{                                                    \
		.state = BASE_UNREADABLE, .why = ERROR_INIT, \
	}

/*
 * The merge-base of HEAD and a commit (a mark's, or what commit_of_name found).  With
 * no commit at HEAD there is none.
 */
void base_find(const struct repository *r, const char *tip, struct base *ret_base);
/*
 * Where there is no mark: of HEAD and the main branch, refs/heads/main or else
 * refs/remotes/origin/main.  1; 0 where there is neither.
 */
int base_find_main(const struct repository *r, struct base *ret_base);

#endif
