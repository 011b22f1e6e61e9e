/* SPDX-License-Identifier: MIT */
/*
 * Packs: one pack of git's object store and its index, read by position, never mapped
 * (a file cut meanwhile is then no more than a wrong answer).
 */
#ifndef GIT_PACK_H
#define GIT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/objects.h"
#include "ipc/buf.h"

enum {
	OBJECT_SIZE_MAX = 256 << 20
};

struct pack {
	char *stem; /* the path without .idx */
	int idx_fd, pack_fd;
	bool is_bad; /* cannot be read; not tried again */
	uint32_t nobjects;
	uint64_t idx_size;
};

/* One link of a delta's chain, or the object whole. */
struct pack_entry {
	bool is_delta;
	bool by_id; /* the base is named by its id, else by its place in this pack */
	uint8_t base_id[OBJECT_ID_MAX];
	uint64_t base_offset;
	enum object_kind kind;
	struct buf content; /* or the delta's instructions */
};

/* Takes stem. Opened when first asked. */
void pack_init(struct pack *p, char *stem);
/* Where the object lies in the pack: 1, 0. */
int pack_find(struct pack *p, enum object_format format, const uint8_t *id,
	      uint64_t *ret_offset);
/* What lies there: 1; 0 where it is not sound. */
int pack_entry_read(struct pack *p, enum object_format format, uint64_t offset,
		    struct pack_entry *ret_entry);
/* The object that a delta makes of its base: 1; 0 where it is not sound. */
int delta_apply(const struct buf *base, const struct buf *delta, struct buf *ret_content);
void pack_release(struct pack *p);

/*
 * Inflate from a descriptor's offset: exactly `size` bytes, or, where size is
 * SIZE_MAX, all there is up to OBJECT_SIZE_MAX. 1, 0.
 */
int inflate_at(int fd, uint64_t offset, size_t size, struct buf *ret_content);

#endif
