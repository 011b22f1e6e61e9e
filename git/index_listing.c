/* SPDX-License-Identifier: MIT */
/*
 * The index as git itself lists it:
 *
 *   100644 <id> 0<TAB>path<NUL>  ctime: 1:2<LF>  mtime: 1:2<LF>  dev: 1<TAB>ino: 2<LF>
 *   uid: 1<TAB>gid: 2<LF>  size: 3<TAB>flags: 8000<LF>
 *
 * It is put back into the bytes that an index file has, so that what reads entries
 * need not know where they come from.
 */
#include "git/index.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

enum {
	LISTED_ASSUME_UNCHANGED = 0x8000,
	LISTED_INTENT_TO_ADD = 1 << 29,
	LISTED_SKIP_WORKTREE = 1 << 30
};

static void
word_put(uint8_t *stat, enum index_stat word, unsigned value)
{
	uint32_t be = htobe32(value);

	memcpy(stat + 4 * (size_t)word, &be, sizeof(be));
}

/* The lines after a path: how many bytes they are, or 0. */
static size_t
stat_parse(const char *p, uint8_t stat[INDEX_STAT_SIZE], unsigned *ret_flags)
{
	unsigned cs, cn, ms, mn, dev, ino, uid, gid, size;
	int used = 0;

	if (sscanf(p,
		   "  ctime: %u:%u\n  mtime: %u:%u\n  dev: %u\tino: %u\n"
		   "  uid: %u\tgid: %u\n  size: %u\tflags: %x\n%n",
		   &cs, &cn, &ms, &mn, &dev, &ino, &uid, &gid, &size, ret_flags,
		   &used) != 10)
		return 0;
	memset(stat, 0, INDEX_STAT_SIZE);
	word_put(stat, INDEX_STAT_CTIME, cs);
	word_put(stat, INDEX_STAT_CTIME_NSEC, cn);
	word_put(stat, INDEX_STAT_MTIME, ms);
	word_put(stat, INDEX_STAT_MTIME_NSEC, mn);
	word_put(stat, INDEX_STAT_INO, ino);
	word_put(stat, INDEX_STAT_UID, uid);
	word_put(stat, INDEX_STAT_GID, gid);
	word_put(stat, INDEX_STAT_BYTES, size);
	return (size_t)used;
}

/*
 * One record at p: bytes used, or 0 where it is not sound. stat and id go to `bytes`,
 * one after the other.
 */
static size_t
record_parse(const char *p, const char *end, size_t id_size, uint8_t *bytes,
	     struct index_entry *e)
{
	char hex[2 * OBJECT_ID_MAX + 1];
	unsigned mode, stage, flags;
	const char *path, *nul;
	int at = 0;
	size_t used;

	if (sscanf(p, "%o %64[0-9a-f] %u%n", &mode, hex, &stage, &at) != 3 || at == 0 ||
	    p[at] != '\t')
		return 0;
	path = p + at + 1;
	nul = memchr(path, '\0', (size_t)(end - path));
	if (nul == NULL || nul + 1 >= end || stage > 3 || strlen(hex) != 2 * id_size ||
	    hex_decode(hex, id_size, bytes + INDEX_STAT_SIZE) < 0)
		return 0;
	used = stat_parse(nul + 1, bytes, &flags);
	if (used == 0 || (size_t)(nul - path) > UINT32_MAX / 2)
		return 0;
	*e = (struct index_entry){ .path = path,
				   .len = (uint32_t)(nul - path),
				   .mode = mode,
				   .stage = (uint8_t)stage,
				   .stat = bytes,
				   .id = bytes + INDEX_STAT_SIZE };
	e->flags =
	    (uint8_t)((flags & LISTED_ASSUME_UNCHANGED ? INDEX_ASSUME_UNCHANGED : 0) |
		      (flags & LISTED_SKIP_WORKTREE ? INDEX_SKIP_WORKTREE : 0) |
		      (flags & LISTED_INTENT_TO_ADD ? INDEX_INTENT_TO_ADD : 0));
	return (size_t)(nul + 1 - p) + used;
}

static size_t
records_count(const struct buf *listing)
{
	const char *p = listing->data, *end = p + listing->len;
	size_t n = 0;

	while (p < end && (p = memchr(p, '\0', (size_t)(end - p))) != NULL) {
		n++;
		p++;
	}
	return n;
}

int
index_parse_listing(struct buf *listing, enum object_format format,
		    struct index *ret_index, struct error *err)
{
	struct index x = INDEX_INIT;
	size_t id_size = object_format_size(format), room, used;
	size_t each = INDEX_STAT_SIZE + id_size;
	const char *p, *end;

	x.bytes = *listing;
	*listing = (struct buf)BUF_INIT;
	room = x.bytes.len == 0 ? 0 : records_count(&x.bytes);
	x.entries = xcalloc(room + 1, sizeof(*x.entries));
	x.names.data = xcalloc(room + 1, each);
	p = buf_text(&x.bytes);
	end = p + x.bytes.len;
	for (; p < end; p += used) {
		used = x.nentries == room
			   ? 0
			   : record_parse(p, end, id_size,
					  (uint8_t *)x.names.data + x.nentries * each,
					  &x.entries[x.nentries]);
		if (used == 0) {
			index_release(&x);
			return error_set(err, ERROR_DATA,
					 "git ls-files: answer not understood");
		}
		x.nentries++;
	}
	if (index_check(&x, err) < 0) {
		index_release(&x);
		return -1;
	}
	*ret_index = x;
	return 0;
}
