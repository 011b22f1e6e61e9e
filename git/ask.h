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
 * And of history, where the key's readers are no help:
 *
 *   wanted                                     asked
 *   -----------------------------------------  ------------------------------------
 *   a ref in a form unknown here; any name     git rev-parse --verify
 *     that a person may write
 *   a commit or a tree that is not read here   git cat-file
 *   a blob that is not read here; one that a   git cat-file, which may fetch
 *     partial clone has not got yet
 *   the merge-base of two commits, when one    git merge-base
 *     is no near ancestor of the other
 *   what a commit's tree and the index         git diff-index --cached
 *     differ in, when something is staged
 *   a mark to be moved                         git update-ref
 *
 * Every call: no lock and no write (GIT_OPTIONAL_LOCKS=0) but for update-ref's own, no
 * file system monitor, no pager, no prompt, no fetch unless allowed, no replaced
 * variables (GIT_* is scrubbed but for what names configuration files and what a fetch
 * connects with), names ended by NUL, answer bounded.
 */
#ifndef GIT_ASK_H
#define GIT_ASK_H

#include "ipc/buf.h"
#include "ipc/error.h"

/*
 * Run `git -C dir <arguments>` (NULL-ended) and take its stdout.  1; 0 when git exits
 * non-zero, with its complaint in *err; -1 when it cannot be run, is killed, or
 * answers more than fits (1 GiB), or not within five minutes.
 */
int ask_git(const char *dir, const char *const *arguments, struct buf *ret_answer,
	    struct error *err);

enum ask_flag {
	ASK_FETCH = 1 /* what a partial clone lacks may be fetched, for a minute */
};

/*
 * The same, for questions that git answers by its exit code too: 0 with *ret_code, *err
 * (where that is not 0) and *ret_answer; -1.
 */
int ask_git_code(const char *dir, const char *const *arguments, unsigned flags,
		 struct buf *ret_answer, int *ret_code, struct error *err);

/*
 * An object's content by its kind (`blob`) and its id in hex; one that a partial clone
 * lacks may be fetched: 1; 0 where it is not to be had, -1; both with *err.
 */
int object_ask(const char *dir, const char *kind, const char *hex,
	       struct buf *ret_content, struct error *err);

#endif
