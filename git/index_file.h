/* SPDX-License-Identifier: MIT */
/*
 * One file of git's index, as far as its own bytes go: index.c puts a split index
 * together from two of them.
 */
#ifndef GIT_INDEX_FILE_H
#define GIT_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/index.h"
#include "ipc/buf.h"
#include "ipc/error.h"

/* The `link` extension; its bitmaps are still encoded. */
struct index_link {
	bool is_there;
	uint8_t id[OBJECT_ID_MAX]; /* of the shared file; zeros: there is none */
	const uint8_t *bitmaps;
	size_t nbytes;
};

struct index_file {
	struct index_entry *entries; /* in the file's order; freed by the caller */
	size_t nentries;
	bool is_sparse;
	const uint8_t *tree; /* its own word for struct index's */
	struct index_link link;
};

/*
 * Entries point into `bytes` and, for version 4, into *names, which the caller keeps as
 * long.  In a file with a link the first entries may have no name.
 */
int index_file_parse(const struct buf *bytes, enum object_format format,
		     struct buf *names, struct index_file *ret_file, struct error *err);

/*
 * One of a link's bitmaps, of which *at is the rest: a byte for each of nbits. Moves
 * *at past it. -1 where it is not sound or has bits past the end.
 */
int index_bitmap_parse(const uint8_t **at, size_t *nbytes, uint8_t *bits, size_t nbits);

#endif
