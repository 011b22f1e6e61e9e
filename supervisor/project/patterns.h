/* SPDX-License-Identifier: MIT */
/*
 * Patterns: a manager's list of patterns as text, taken apart into those that name
 * directories and those that exclude some.
 */
#ifndef SUPERVISOR_PROJECT_PATTERNS_H
#define SUPERVISOR_PROJECT_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/project/workspace.h"

/* One pattern without braces, cut at its slashes. */
struct pattern_path {
	char **segments; /* `**` stands for any number of directories */
	size_t nsegments;
	size_t nstatic; /* how many of the first are plain names */
};

struct pattern_set {
	struct pattern_path *wanted;
	size_t nwanted;
	size_t wanted_room;
	struct pattern_path *excluded;
	size_t nexcluded;
	size_t excluded_room;
	bool excludes_dots; /* wildcards of `excluded` match a leading dot */
};

#define PATTERN_SET_INIT        \
	{                       \
		.wanted = NULL, \
	}

int pattern_set_build(enum manager manager, const char *const *patterns, size_t npatterns,
		      struct pattern_set *ret_set, struct error *err);
/*
 * Is the directory excluded?  `with_above`: so it is, too, below one that is.  Fails
 * where a pattern takes too long to match.
 */
int pattern_set_excludes(const struct pattern_set *set, const char *path, bool with_above,
			 bool *ret_excludes, struct error *err);
void pattern_set_release(struct pattern_set *set);
/* A name of a pattern without its backslashes; freed by the caller. */
char *pattern_plain_name(const char *segment);

#endif
