/* SPDX-License-Identifier: MIT */
/*
 * Version cuts: what the release of a new version writes, and is no change.
 */
#ifndef SUPERVISOR_PROJECT_VERSION_CUT_H
#define SUPERVISOR_PROJECT_VERSION_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

enum cut_kind {
	CUT_NONE,      /* any difference is a change */
	CUT_CHANGELOG, /* none is: CHANGELOG.md, GROUP-CHANGELOG.md */
	CUT_MANIFEST,  /* a package.json */
	CUT_VERSIONS,  /* a path that versionFiles names */
	CUT_EITHER,    /* a package.json that versionFiles names */
};

struct version_files; /* compiled globs */

/* Fails (ERROR_CONFIG) for a glob that does not compile. */
int version_files_compile(const char *const *globs, size_t nglobs,
			  struct version_files **ret_files, struct error *err);
void version_files_free(struct version_files *f);

/* What a path is: which contents to read for it, and how to compare them. */
enum cut_kind cut_kind_of(const char *path, const struct version_files *files);
/*
 * Is the difference between two contents what a version cut writes?  Whatever else
 * differs (a side is missing, is no regular file, has another mode) is a change, which
 * the caller decides without asking; a CUT_CHANGELOG needs no contents at all.
 */
bool cut_explains(enum cut_kind kind, const char *before, size_t nbefore,
		  const char *after, size_t nafter);
/*
 * Two JSON objects (a BOM is no part of them) that parse strictly and differ in the value
 * of the top-level `version` only: key order and layout are differences too.
 */
bool manifest_differs_in_version_only(const char *before, size_t nbefore,
				      const char *after, size_t nafter);
/*
 * Two texts that are the same once every x.y.z (`-rc.1` and the like with it) is masked;
 * a number of four parts is no version.
 */
bool text_differs_in_versions_only(const char *before, size_t nbefore, const char *after,
				   size_t nafter);

#endif
