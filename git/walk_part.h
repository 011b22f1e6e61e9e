/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a walk share: walk.c has the threads, walk_dir.c one directory,
 * walk_entry.c one file, walk_ignore.c the ignore rules that hold in a directory.
 */
#ifndef GIT_WALK_PART_H
#define GIT_WALK_PART_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "git/ignore.h"
#include "git/walk.h"
#include "ipc/buf.h"

/*
 * A directory of the walk.  It stays until the walk ends, since those below match
 * against its ignore file.
 */
struct walk_dir {
	struct walk_dir *next;	    /* of all: to be freed */
	struct walk_dir *parent;    /* NULL: the top */
	size_t from, to;	    /* its entries in the index */
	struct ignore_list *ignore; /* set under the walk's lock */
	uint32_t ignore_entry;	    /* a .gitignore that is in the index only */
	bool has_ignore;	    /* a .gitignore lies in it */
	bool is_prepared;	    /* under the lock: ignore and is_ignored are set */
	bool is_ignored;
	bool is_unlisted; /* below a submodule that is not checked out */
	uint32_t len;
	char path[]; /* "" the top, else without a final '/' */
};

struct walk {
	const struct settings *settings;
	const struct index *index;
	struct objects *objects; /* under the lock */
	const char *root;
	int root_fd;
	struct timespec racy; /* stat data not older than this prove nothing */
	uint8_t empty_id[OBJECT_ID_MAX];
	uint8_t *states;
	uint64_t *sizes;
	uint8_t *odd_modes;

	struct ignore_list *exclude;	  /* info/exclude */
	struct ignore_list *user_exclude; /* core.excludesFile */

	pthread_mutex_t lock;	 /* over all that follows, and walk_dir's ignore */
	pthread_cond_t has_work; /* a directory was pushed, or all is done */
	struct walk_dir **stack;
	size_t nstack, stack_room;
	size_t nbusy; /* threads in a directory */
	struct walk_dir *all;
};

/* What a thread finds; put together at the end. */
struct walk_thread {
	struct walk *w;
	struct walk_item *items;
	size_t nitems, items_room;
	char **attribute_dirs;
	size_t nattribute_dirs, attribute_dirs_room;
	char **install_dirs;
	size_t ninstall_dirs, install_dirs_room;
	size_t nstale;
	bool hidden_attributes, wants_expansion;
	/* reused from directory to directory */
	struct walk_child *children;
	size_t nchildren, children_room;
	uint32_t *slots;
	size_t nslots, slots_room;
	struct buf names; /* of those that are not in the index: type, name, NUL */
	struct buf path;
	char *listing;
	struct walk_dir **found; /* directories to be walked */
	size_t nfound, found_room;
};

/* walk.c */
struct walk_dir *walk_dir_new(struct walk_dir *parent, const char *name, size_t n,
			      size_t from, size_t to);
struct walk_item *walk_item_add(struct walk_thread *t, const char *path, size_t len,
				uint32_t entry, enum tree_change_kind kind);

/* walk_dir.c */
void walk_dir_read(struct walk_thread *t, struct walk_dir *dir);

/* walk_entry.c */
/* A path's entries (all its stages) against what lies at fd/name. */
void walk_entry_check(struct walk_thread *t, const struct walk_dir *dir, int fd,
		      const char *name, size_t first, size_t n);
void walk_entries_gone(struct walk_thread *t, size_t from, size_t to);
/* A name that is not in the index and not ignored: file or link. */
void walk_untracked_add(struct walk_thread *t, const struct walk_dir *dir, int fd,
			const char *name, const char *path, size_t len);
void walk_repository_add(struct walk_thread *t, const struct walk_dir *dir,
			 const char *path, size_t len);
/* A directory that cannot be read. */
void walk_opaque_dir_add(struct walk_thread *t, const struct walk_dir *dir);
/* Is `name` in `dir` (open as fd) a repository of its own, as git's own walk judges? */
bool walk_is_repository(const struct walk *w, const struct walk_dir *dir, int fd,
			const char *name);

/* walk_ignore.c */
/* Load what is needed to judge names in this directory. */
void walk_dir_prepare(struct walk *w, struct walk_dir *dir);
/* Only of a prepared directory; `name` is the end of `path`. */
bool walk_is_ignored(const struct walk *w, const struct walk_dir *dir, const char *path,
		     size_t len, const char *name, bool is_dir);
/* The file's rules, or NULL where there are none. */
struct ignore_list *walk_ignore_load(const char *path, const char *base, bool fold_case);

#endif
