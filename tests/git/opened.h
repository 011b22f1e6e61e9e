/* SPDX-License-Identifier: MIT */
/*
 * Opened repositories for tests, and what git itself says.
 */
#ifndef TESTS_GIT_OPENED_H
#define TESTS_GIT_OPENED_H

#include "git/repository.h"
#include "git/tree_key.h"

struct opened {
	struct tree_key key;
	struct repository repository;
};

/* The repository that the directory lies in, with all its changes. */
struct opened *opened_new(const char *dir);
void opened_free(struct opened *o);

/* What a shell command prints, less a final newline, to be freed; it may fail. */
char *out(const char *command);

#endif
