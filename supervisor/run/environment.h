/* SPDX-License-Identifier: MIT */
/*
 * Environment: what a step inherits, less what would bind it to its caller.
 */
#ifndef SUPERVISOR_RUN_ENVIRONMENT_H
#define SUPERVISOR_RUN_ENVIRONMENT_H

#include <stddef.h>

struct environment {
	char **vars; /* NULL-terminated */
	size_t nvars;
	size_t room;
};

#define ENVIRONMENT_INIT   \
	{                  \
		NULL, 0, 0 \
	}

/*
 * From the caller's environment: git's repository variables and the jobserver words of an
 * outer make are left out, and what only one run may say (GEONOSIS_BASE, …);
 * node_modules/.bin of the working directory, where there is one, is put first on PATH;
 * pnpm is told not to install.
 */
void environment_fill(struct environment *e, char *const *caller);
/* Set NAME=value, over an older one. */
void environment_set(struct environment *e, const char *name, const char *value);
void environment_unset(struct environment *e, const char *name);
/* The value, or NULL. */
const char *environment_get(const struct environment *e, const char *name);
void environment_release(struct environment *e);

#endif
