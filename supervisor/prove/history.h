/* SPDX-License-Identifier: MIT */
/*
 * History: the repository of its own that a copy is, for a step that reads it: the copy's
 * files as one commit, and the mark at it.
 */
#ifndef SUPERVISOR_PROVE_HISTORY_H
#define SUPERVISOR_PROVE_HISTORY_H

#include "git/digest.h"
#include "ipc/buf.h"
#include "ipc/error.h"
#include "supervisor/prove/ground.h"

/* What is to be known of the host's repository while it can still be seen. */
struct history {
	struct buf exclude; /* its info/exclude */
	struct buf forced;  /* tracked although ignored: paths, each with its NUL */
	struct buf modules; /* submodules: likewise */
};

#define HISTORY_INIT                         \
	{                                    \
		BUF_INIT, BUF_INIT, BUF_INIT \
	}

void history_read(const struct ground *g, struct history *ret_history);
/*
 * Make the repository at `root`, a copy without one.  `store` is a directory for a file
 * of ours.  Changes this process' environment: no variable of git's is left.  *ret_commit
 * is the commit's id.
 */
int history_make(const struct history *h, const char *root, const char *store,
		 char ret_commit[DIGEST_HEX_SIZE], struct error *err);
void history_release(struct history *h);

/*
 * Variables, beside those that make the copy the only repository, with which git is used
 * in such a copy: NAME, value, NAME, value, …, NULL.
 */
const char *const *history_variables(void);

#endif
