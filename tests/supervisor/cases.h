/* SPDX-License-Identifier: MIT */
/*
 * Cases: tests as data.  A file of cases holds, for each, some lines of input, lines
 * that begin with `=>` with what is expected, and an empty line; lines that begin with
 * `#` between cases say what follows.  In the input `@{hex}` stands for bytes and
 * `@{hex*n}` for n times those.
 */
#ifndef TESTS_SUPERVISOR_CASES_H
#define TESTS_SUPERVISOR_CASES_H

#include <stddef.h>

#include "ipc/buf.h"

struct test_case {
	unsigned line;	  /* of the file, where it begins */
	struct buf input; /* without a final newline */
	char *expected;	  /* lines without `=>` and a space, joined by newlines */
};

struct cases {
	struct test_case *items;
	size_t nitems;
};

/* The cases of a file under GN_DATA_DIR; fails the test where it cannot be read. */
struct cases cases_read(const char *name);
void cases_release(struct cases *c);

#endif
