/* SPDX-License-Identifier: MIT */
/*
 * The key of a tree: one digest that changes with every edit of what git sees in a
 * working tree, and with nothing else.
 *
 * It covers HEAD's commit; every file as it lies on disk, tracked or untracked and not
 * ignored (path, mode, content or link target); submodules and repositories inside the
 * tree by their own keys; what the index holds that neither the disk nor HEAD does; and
 * what npm, pnpm or yarn recorded of the install.  `.geonosis/` at any depth is no part
 * of it.  A touch, a repack, a refresh of the index, or `git add` of what lies on disk
 * changes nothing.  What git's filters, encodings and line endings, or core.fileMode,
 * make one are two: of a large file that a filter may apply to, the stat data count in
 * the place of its bytes.
 *
 * Nothing is written, no lock taken.  The `git` program is asked only for what cannot
 * be read here (git/ask.h has the table); `asked` says why.
 */
#ifndef GIT_TREE_KEY_H
#define GIT_TREE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "ipc/error.h"

enum tree_state {
	TREE_NONE,    /* in no working tree of git */
	TREE_DUBIOUS, /* owned by someone else, and not in safe.directory */
	TREE_FOUND
};

enum tree_change_kind {
	TREE_CHANGE_ADDED,    /* in the index by intent only (git add -N) */
	TREE_CHANGE_MODIFIED, /* content, mode, or a submodule's state */
	TREE_CHANGE_DELETED,
	TREE_CHANGE_TYPE, /* file, link and submodule for one another */
	TREE_CHANGE_UNMERGED,
	TREE_CHANGE_UNTRACKED /* a repository inside the tree: its path and `/` */
};

struct tree_change {
	char *path; /* from the top, any bytes but NUL */
	enum tree_change_kind kind;
};

/* A file whose bytes or mode on disk are not the index's, and git takes them for those.
 */
struct tree_hidden {
	char *path; /* from the top */
	char *text; /* which bytes and which mode: no more than that it differs */
};

struct tree_key_options {
	bool want_changes; /* fill `changes` */
	/*
	 * And with what git lists not: files below a submodule that is not checked out,
	 * directories that cannot be read (`.` is the top).
	 */
	bool want_unlisted;
	bool ask_git;	  /* read the index through git always: for tests */
	unsigned threads; /* 0: as many as there are processors, within reason */
};

struct tree_key {
	enum tree_state state;
	char *root;		      /* top of the working tree, absolute */
	char *git_dir;		      /* of this working tree (HEAD, index) */
	char *common_dir;	      /* of all its working trees (refs, objects) */
	char *why;		      /* of TREE_NONE and TREE_DUBIOUS: what was met */
	char *asked;		      /* why git was asked, or NULL: it was not */
	char head[DIGEST_HEX_SIZE];   /* commit id, "" with no commit yet */
	char index[DIGEST_HEX_SIZE];  /* id of the index as a tree, "" not known */
	uint8_t tree[DIGEST_SIZE];    /* all but the install */
	uint8_t install[DIGEST_SIZE]; /* the install alone; zeros: none recorded */
	char hex[DIGEST_HEX_SIZE];    /* of both: the key */
	struct tree_change *changes;  /* disk against index, sorted bytewise by path */
	size_t nchanges;
	char **links;  /* with `changes`: where links lie on disk; not those of */
	size_t nlinks; /* repositories inside */
	struct tree_hidden *hidden; /* with `changes`; in no order */
	size_t nhidden;
	bool is_staged;	 /* of a submodule: the index holds what HEAD has not */
	bool is_partial; /* a sparse checkout leaves something out */
	uint8_t absent[DIGEST_SIZE]; /* the submodules not checked out; zeros: none */
	size_t nentries;	     /* of the index */
	size_t nstale; /* unchanged, but read to know so: `git status` would help */
};

#define TREE_KEY_INIT              \
	{                          \
		.state = TREE_NONE \
	}

/*
 * The key of the working tree that `dir` lies in.  0 also for TREE_NONE and
 * TREE_DUBIOUS, where there is no key; -1 where git's own files cannot be read.
 *
 * What lies on disk around `dir` decides: GIT_DIR, GIT_WORK_TREE and GIT_INDEX_FILE,
 * which git sets for its hooks, are not looked at.
 */
int tree_key_compute(const char *dir, const struct tree_key_options *options,
		     struct tree_key *ret_key, struct error *err);
void tree_key_release(struct tree_key *k);

#endif
