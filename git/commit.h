/* SPDX-License-Identifier: MIT */
/*
 * Commits: their tree and their parents.
 */
#ifndef GIT_COMMIT_H
#define GIT_COMMIT_H

#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/repository.h"
#include "ipc/buf.h"
#include "ipc/error.h"

struct commit {
	int64_t date; /* of its committer, seconds since the epoch */
	uint8_t tree[OBJECT_ID_MAX];
	uint8_t (*parents)[OBJECT_ID_MAX];
	size_t nparents;
};

#define COMMIT_INIT             \
	{                       \
		.parents = NULL \
	}

/* 1; 0 where it is not there, or is no commit; -1 where that cannot be told. */
int commit_read(const struct repository *r, const uint8_t id[OBJECT_ID_MAX],
		struct commit *ret_commit, struct error *err);
/* The same without asking git: 1, or 0 where it cannot be read here. */
int commit_peek(const struct repository *r, const uint8_t id[OBJECT_ID_MAX],
		struct commit *ret_commit);
void commit_release(struct commit *c);

/* An id of this repository's format, in hex, whole: 0, else -1. */
int commit_parse(const struct repository *r, const char *hex,
		 uint8_t ret_id[OBJECT_ID_MAX]);

/*
 * The commit that a ref stands for, tags followed: 1; 0 where there is no such ref; -1
 * where it is there but leads to no commit that can be read.  `name` is full.
 */
int commit_of_ref(const struct repository *r, const char *name,
		  char ret_hex[DIGEST_HEX_SIZE], struct error *err);
/*
 * The commit that a person means (`v1.2`, `HEAD~3`, `origin/main`, an id): 1; 0 where
 * git knows none of that name; -1.
 */
int commit_of_name(const struct repository *r, const char *name,
		   char ret_hex[DIGEST_HEX_SIZE], struct error *err);

#endif
