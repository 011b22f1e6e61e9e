/* SPDX-License-Identifier: MIT */
/*
 * Changed paths: in what the tree on disk differs from commits.
 *
 * Committed since, staged, unstaged, untracked and not ignored alike; a rename is both
 * its paths; content, mode and type count, and so do files that the index says not to
 * look at (assume-unchanged, skip-worktree) and those below a submodule that is not
 * checked out.  A submodule, or a repository inside the tree, is one path.
 * `.geonosis/` at any depth is none.
 */
#ifndef GIT_CHANGED_H
#define GIT_CHANGED_H

#include <stddef.h>

#include "git/repository.h"
#include "ipc/error.h"

struct changed {
	char **paths; /* from the top, any bytes but NUL; sorted bytewise, each once */
	size_t npaths;
};

#define CHANGED_INIT          \
	{                     \
		.paths = NULL \
	}

/*
 * Every path whose state on disk, or in the index, is not that of each of the commits
 * (hex; all of them readable).  The repository's key was computed with
 * `want_changes` (else it fails) and `want_unlisted`: the disk is not looked at again.
 * With no commits: what differs from the index, and all that is in the index.
 */
int changed_find(const struct repository *r, const char *const *commits, size_t ncommits,
		 struct changed *ret_changed, struct error *err);
/* Sort paths, free those that are there twice; how many are left. */
size_t changed_settle(char **paths, size_t n);
void changed_release(struct changed *c);

/*
 * The path as seen from a directory of the tree (repository_subdir), to be freed:
 * `x` in it, `../x` outside of it.
 */
char *path_from(const char *subdir, const char *path);
/*
 * The path as one line, to be freed: quoted as git quotes it ("a\tb") where it has a
 * control character or begins with a quotation mark, else as it is.
 */
char *path_quote(const char *path);

#endif
