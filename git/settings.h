/* SPDX-License-Identifier: MIT */
/*
 * Settings: git's configuration as far as it bears on what lies in a working tree.
 *
 * System, global, local and worktree files are read as git reads them, with their
 * includes; GIT_CONFIG_SYSTEM, GIT_CONFIG_GLOBAL and GIT_CONFIG_NOSYSTEM are honoured,
 * and of GIT_CONFIG_COUNT and GIT_CONFIG_PARAMETERS, which steps have too, what is in
 * core; but not where the repository lies.
 */
#ifndef GIT_SETTINGS_H
#define GIT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "git/digest.h"
#include "git/place.h"
#include "ipc/error.h"

struct settings {
	int version; /* core.repositoryFormatVersion */
	enum object_format format;
	bool file_mode;	   /* core.fileMode: the x bit on disk counts */
	bool symlinks;	   /* core.symlinks */
	bool ignore_case;  /* core.ignoreCase */
	bool is_bare;	   /* core.bare */
	bool autocrlf;	   /* core.autoCRLF is true or input */
	bool is_sparse;	   /* core.sparseCheckout */
	bool has_reftable; /* refs are not in files */
	bool has_worktree_config;
	char *work_tree;       /* core.worktree as written, or NULL */
	char *excludes_file;   /* absolute; the default too; NULL: cannot be */
	char *attributes_file; /* the same */
	char *unknown;	       /* an extension not known here: no answer is safe */
	char *puzzle;	       /* why the files could not be read here, or NULL */
	char **safe;	       /* values of safe.directory, in order */
	size_t nsafe, safe_room;
};

#define SETTINGS_INIT                               \
	{                                           \
		.file_mode = true, .symlinks = true \
	}

/*
 * What holds before a repository may be read: system and global files. -1 only where
 * a file that is there cannot be read.
 */
int settings_read_user(struct settings *s, struct error *err);
/*
 * Then the repository's own. Where the files puzzle us, git is asked; `puzzle` says
 * why.
 */
int settings_read_place(struct settings *s, const struct place *p, struct error *err);
/* Is a working tree that someone else owns to be read nonetheless? */
bool settings_trust(const struct settings *s, const char *root);
void settings_release(struct settings *s);

#endif
