/* SPDX-License-Identifier: MIT */
/*
 * Asking: the `git` program, for what cannot be read here.
 *
 * The table of what is asked, and when:
 *
 *   met in the repository                      asked
 *   -----------------------------------------  ------------------------------------
 *   config that includes settings by a         git config --list
 *     condition, or has syntax unknown here
 *   refs kept in a table (reftable), HEAD      git rev-parse --verify HEAD
 *     or a ref in a form unknown here
 *   an index with an unknown extension or      git ls-files --stage --debug
 *     version, or that is not sound; a sparse
 *     directory that has files on disk
 *   a file whose stat data differ and that a   git status, for those paths
 *     filter, line endings, ident or an
 *     encoding may concern
 *   HEAD's trees, where they are not read      git ls-tree HEAD
 *     here (missing, or too odd)
 *
 * Every call: no lock and no write (GIT_OPTIONAL_LOCKS=0), no file system monitor, no
 * pager, no prompt, no replaced variables (GIT_* is scrubbed but for the names of the
 * configuration files), names ended by NUL, answer bounded.
 */
#ifndef GIT_ASK_H
#define GIT_ASK_H

#include "ipc/buf.h"
#include "ipc/error.h"

/*
 * Run `git -C dir <arguments>` (NULL-ended) and take its stdout.  1; 0 when git exits
 * non-zero, its last line of stderr in *err; -1 when it cannot be run, is killed, or
 * answers more than fits (1 GiB).
 */
int ask_git(const char *dir, const char *const *arguments, struct buf *ret_answer,
	    struct error *err);

#endif
