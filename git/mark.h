/* SPDX-License-Identifier: MIT */
/*
 * Marks: the ref of each tier that stands at the last commit it was green on, and what
 * is kept beside it of that run.
 *
 * All working trees of a repository share them.
 */
#ifndef GIT_MARK_H
#define GIT_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "git/digest.h"
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
	struct error why;	      /* of MARK_GONE */
};

#define MARK_INIT                                      \
	{                                              \
		.state = MARK_NONE, .why = ERROR_INIT, \
	}

void mark_read(const struct repository *r, const char *name, struct mark *ret_mark);

/* A part of the key that no diff shows: `keyEnv CI` and a digest, as the caller likes. */
struct mark_part {
	char *name; /* neither may hold a control character */
	char *value;
};

struct mark_parts {
	struct mark_part *items;
	size_t n;
};

#define MARK_PARTS_INIT       \
	{                     \
		.items = NULL \
	}

/*
 * Move the mark to a commit, where it still stands as `from` says (as it was read), and
 * keep the parts of the run beside it.  Killed in between, or moved by anyone else, the
 * mark's parts are not known, never those of another run.  -1 for all that a run would
 * WARN about.
 */
int mark_move(const struct repository *r, const char *name, const struct mark *from,
	      const char *to, const struct mark_parts *parts, const char *message,
	      struct error *err);
/*
 * The parts that were kept when the mark came to stand where it stands: 1; 0 where they
 * are not known (none were kept, or for another commit, or what is there is not sound:
 * then *err says so); -1 where the file cannot be read.
 */
int mark_parts_read(const struct repository *r, const char *name, const struct mark *m,
		    struct mark_parts *ret_parts, struct error *err);
void mark_parts_release(struct mark_parts *p);

#endif
