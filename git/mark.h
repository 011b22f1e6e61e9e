/* SPDX-License-Identifier: MIT */
/*
 * Marks: the ref of each tier that stands at the last commit it was green on, and what
 * is kept beside it of that run.
 *
 * All working trees of a repository share them.
 */
#ifndef GIT_MARK_H
#define GIT_MARK_H

#include "git/digest.h"
#include "git/mark_parts.h"
#include "git/repository.h"
#include "ipc/error.h"

/*
 * The name of a tier's mark, to be freed: `refs/geonosis/verified` for `fast`,
 * `refs/geonosis/verified-<tier>` for others.  For a configuration below the top
 * (`subdir` as repository_subdir has it) `refs/geonosis/in/<subdir>/…`, the directory
 * as one component: `/`, `%` and whatever a ref cannot hold are `%XX`.  No two
 * directories share a name; one that would be longer than a file's name may be ends in
 * `%-` and a digest.
 */
char *mark_name(const char *tier, const char *subdir);

enum mark_state {
	MARK_NONE, /* no such ref */
	MARK_GONE, /* it is there, but leads to no commit that can be read */
	MARK_FOUND
};

struct mark {
	enum mark_state state;
	char commit[DIGEST_HEX_SIZE]; /* of MARK_FOUND, else "" */
	char id[DIGEST_HEX_SIZE];     /* what the ref holds; "" where that is not known */
	struct error why;	      /* of MARK_GONE */
};

#define MARK_INIT                                      \
	{                                              \
		.state = MARK_NONE, .why = ERROR_INIT, \
	}

void mark_read(const struct repository *r, const char *name, struct mark *ret_mark);

/*
 * Move the mark to a commit, where it still stands as `from` says (as it was read), and
 * keep the parts of the run beside it (NULL: they are not known).  Killed in between, or
 * moved by anyone else, the mark's parts are not known, never those of another run.  -1
 * for all that a run would WARN about.
 */
int mark_move(const struct repository *r, const char *name, const struct mark *from,
	      const char *to, const struct mark_parts *parts, const char *message,
	      struct error *err);

#endif
