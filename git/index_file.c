/* SPDX-License-Identifier: MIT */
#include "git/index_file.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc/mem.h"

enum {
	HEADER_SIZE = 12,
	FLAG_ASSUME_UNCHANGED = 0x8000,
	FLAG_EXTENDED = 0x4000,
	FLAG_STAGE_SHIFT = 12,
	FLAG_NAME_MASK = 0xfff,
	EXTENDED_SKIP_WORKTREE = 0x4000,
	EXTENDED_INTENT_TO_ADD = 0x2000
};

struct parser {
	const uint8_t *p, *end; /* end: where the checksum begins */
	uint32_t version;
	size_t id_size;
	struct buf *names; /* version 4 */
	char *name;	   /* version 4: the one before */
	size_t name_len;
	struct index_file *file;
	struct error *err;
};

static uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static int
refuse(struct parser *ps, const char *what)
{
	return error_set(ps->err, ERROR_DATA, "index: %s", what);
}

static int
mode_settle(uint32_t raw, uint32_t *ret_mode)
{
	if (S_ISREG(raw))
		*ret_mode = raw & 0100 ? INDEX_MODE_EXEC : INDEX_MODE_FILE;
	else if (raw == INDEX_MODE_LINK || raw == INDEX_MODE_GITLINK ||
		 raw == INDEX_MODE_TREE)
		*ret_mode = raw;
	else
		return -1;
	return 0;
}

/* git's variable-length number: how many bytes of the name before are dropped. */
static int
strip_read(struct parser *ps, size_t *ret_n)
{
	size_t n;
	uint8_t c;

	if (ps->p == ps->end)
		return -1;
	c = *ps->p++;
	n = c & 127;
	while (c & 128) {
		if (ps->p == ps->end || n > (SIZE_MAX >> 8))
			return -1;
		c = *ps->p++;
		n = ((n + 1) << 7) + (c & 127);
	}
	*ret_n = n;
	return 0;
}

/*
 * A name of version 4, put together in `names`.  That buffer moves while it grows, so
 * entries keep offsets until all are read.
 */
static int
name_unpack(struct parser *ps, struct index_entry *e, size_t *ret_offset)
{
	size_t strip, at = ps->names->len, keep, prev = at - ps->name_len - 1;
	const uint8_t *nul;

	if (strip_read(ps, &strip) < 0 || strip > ps->name_len)
		return -1;
	nul = memchr(ps->p, '\0', (size_t)(ps->end - ps->p));
	if (nul == NULL)
		return -1;
	keep = ps->name_len - strip;
	if (keep + (size_t)(nul - ps->p) > UINT32_MAX / 2)
		return -1;
	if (keep > 0) {
		/* from the same buffer: make room first, then copy */
		char *copy = xstrndup(ps->names->data + prev, keep);

		buf_append(ps->names, copy, keep);
		free(copy);
	}
	buf_append(ps->names, ps->p, (size_t)(nul - ps->p));
	ps->name_len = ps->names->len - at;
	buf_putc(ps->names, '\0');
	ps->p = nul + 1;
	e->len = (uint32_t)ps->name_len;
	*ret_offset = at;
	return 0;
}

/* A name of versions 2 and 3, padded so that entries begin at multiples of 8. */
static int
name_point(struct parser *ps, const uint8_t *begin, struct index_entry *e)
{
	const uint8_t *nul = memchr(ps->p, '\0', (size_t)(ps->end - ps->p));
	size_t size;

	if (nul == NULL || (size_t)(nul - ps->p) > UINT32_MAX / 2)
		return -1;
	e->path = (const char *)ps->p;
	e->len = (uint32_t)(nul - ps->p);
	size = ((size_t)(nul - begin) + 8) & ~(size_t)7;
	if (size > (size_t)(ps->end - begin))
		return -1;
	ps->p = begin + size;
	return 0;
}

static int
flags_read(struct parser *ps, struct index_entry *e, uint32_t *ret_name_len)
{
	uint16_t flags = be16(ps->p), more;

	ps->p += 2;
	*ret_name_len = flags & FLAG_NAME_MASK;
	e->stage = (uint8_t)(flags >> FLAG_STAGE_SHIFT & 3);
	if (flags & FLAG_ASSUME_UNCHANGED)
		e->flags |= INDEX_ASSUME_UNCHANGED;
	if (!(flags & FLAG_EXTENDED))
		return 0;
	if (ps->version < 3 || ps->end - ps->p < 2)
		return -1;
	more = be16(ps->p);
	ps->p += 2;
	if (more & ~(EXTENDED_SKIP_WORKTREE | EXTENDED_INTENT_TO_ADD))
		return -1;
	if (more & EXTENDED_SKIP_WORKTREE)
		e->flags |= INDEX_SKIP_WORKTREE;
	if (more & EXTENDED_INTENT_TO_ADD)
		e->flags |= INDEX_INTENT_TO_ADD;
	return 0;
}

static int
entry_read(struct parser *ps, struct index_entry *e, size_t *ret_offset)
{
	const uint8_t *begin = ps->p;
	uint32_t name_len;

	if ((size_t)(ps->end - ps->p) < INDEX_STAT_SIZE + ps->id_size + 2)
		return refuse(ps, "an entry is cut off");
	e->stat = begin;
	e->id = begin + INDEX_STAT_SIZE;
	if (mode_settle(be32(begin + 24), &e->mode) < 0)
		return refuse(ps, "an entry has a mode not known here");
	ps->p += INDEX_STAT_SIZE + ps->id_size;
	if (flags_read(ps, e, &name_len) < 0)
		return refuse(ps, "an entry has flags not known here");
	if (ret_offset != NULL ? name_unpack(ps, e, ret_offset) < 0
			       : name_point(ps, begin, e) < 0)
		return refuse(ps, "a path is cut off");
	if (name_len != (e->len < FLAG_NAME_MASK ? e->len : FLAG_NAME_MASK))
		return refuse(ps, "a path is not as long as it says");
	ps->file->is_sparse |= e->mode == INDEX_MODE_TREE;
	return 0;
}

static int
entries_read(struct parser *ps)
{
	struct index_file *f = ps->file;
	size_t *offsets = NULL, i;
	int rc = -1;

	if (ps->version == 4)
		offsets = xreallocarray(NULL, f->nentries + 1, sizeof(*offsets));
	for (i = 0; i < f->nentries; i++)
		if (entry_read(ps, &f->entries[i], offsets != NULL ? &offsets[i] : NULL) <
		    0)
			goto out;
	for (i = 0; offsets != NULL && i < f->nentries; i++)
		f->entries[i].path = ps->names->data + offsets[i];
	rc = 0;
out:
	free(offsets);
	return rc;
}

static int
link_read(struct parser *ps, const uint8_t *p, size_t n)
{
	struct index_link *link = &ps->file->link;

	if (n < ps->id_size || link->is_there)
		return refuse(ps, "its link is not sound");
	link->is_there = true;
	memcpy(link->id, p, ps->id_size);
	link->bitmaps = p + ps->id_size;
	link->nbytes = n - ps->id_size;
	return 0;
}

/*
 * What git remembers of trees, the whole one first: an empty name, a NUL, how many
 * entries (-1: no longer known) and trees below, a line's end, the id.
 */
static void
tree_read(struct parser *ps, const uint8_t *p, size_t n)
{
	const uint8_t *end = n > 1 ? memchr(p, '\n', n) : NULL;
	size_t at = 1, digits;

	if (end == NULL || *p != '\0' || n - (size_t)(end + 1 - p) < ps->id_size)
		return;
	digits = strspn((const char *)p + at, "0123456789");
	if (digits > 0 && p[at + digits] == ' ')
		ps->file->tree = end + 1;
}

static int
extensions_read(struct parser *ps)
{
	while (ps->p < ps->end) {
		const uint8_t *tag = ps->p;
		uint32_t n;

		if (ps->end - ps->p < 8 ||
		    (size_t)(ps->end - ps->p - 8) < be32(ps->p + 4))
			return refuse(ps, "an extension is cut off");
		n = be32(ps->p + 4);
		ps->p += 8 + (size_t)n;
		if (memcmp(tag, "link", 4) == 0) {
			if (link_read(ps, tag + 8, n) < 0)
				return -1;
		} else if (memcmp(tag, "TREE", 4) == 0) {
			tree_read(ps, tag + 8, n);
		} else if (memcmp(tag, "sdir", 4) == 0) {
			ps->file->is_sparse = true;
		} else if (tag[0] < 'A' || tag[0] > 'Z') {
			return refuse(ps, "it has an extension not known here");
		}
	}
	return 0;
}

int
index_file_parse(const struct buf *bytes, enum object_format format, struct buf *names,
		 struct index_file *ret_file, struct error *err)
{
	const uint8_t *p = (const uint8_t *)bytes->data;
	size_t id_size = object_format_size(format);
	struct index_file f = { .entries = NULL };
	struct parser ps = { .names = names, .file = &f, .err = err };
	size_t smallest = INDEX_STAT_SIZE + id_size + 3;

	if (bytes->len < HEADER_SIZE + id_size || memcmp(p, "DIRC", 4) != 0)
		return refuse(&ps, "it is cut off or no index");
	ps.p = p + HEADER_SIZE;
	ps.end = p + bytes->len - id_size;
	ps.version = be32(p + 4);
	ps.id_size = id_size;
	f.nentries = be32(p + 8);
	if (ps.version < 2 || ps.version > 4)
		return refuse(&ps, "its version is not known here");
	if (f.nentries > (size_t)(ps.end - ps.p) / smallest)
		return refuse(&ps, "it is cut off");
	if (ps.version == 4)
		buf_putc(names, '\0'); /* the name before the first is "" */
	f.entries = xcalloc(f.nentries + 1, sizeof(*f.entries));
	if (entries_read(&ps) < 0 || extensions_read(&ps) < 0) {
		free(f.entries);
		return -1;
	}
	*ret_file = f;
	return 0;
}

static uint64_t
be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

/*
 * EWAH: words of 64 bits, each marker (a bit, how many words are all that bit, how many
 * literal words follow) with its literals.
 */
int
index_bitmap_parse(const uint8_t **at, size_t *nbytes, uint8_t *bits, size_t nbits)
{
	const uint8_t *p = *at;
	size_t nwords, w = 0, bit = 0;

	if (*nbytes < 12)
		return -1;
	nwords = be32(p + 4);
	if (nwords > (*nbytes - 12) / 8)
		return -1;
	p += 8;
	while (w < nwords) {
		uint64_t marker = be64(p + 8 * w++);
		uint64_t run = (marker >> 1 & 0xffffffff) * 64;
		size_t literals = (size_t)(marker >> 33);

		if (literals > nwords - w)
			return -1;
		for (; run > 0 && (marker & 1); run--, bit++) {
			if (bit >= nbits)
				return -1;
			bits[bit] = 1;
		}
		bit += (size_t)run;
		for (; literals > 0; literals--, w++, bit += 64) {
			uint64_t word = be64(p + 8 * w);
			unsigned i;

			for (i = 0; word != 0; i++, word >>= 1) {
				if (!(word & 1))
					continue;
				if (bit + i >= nbits)
					return -1;
				bits[bit + i] = 1;
			}
		}
	}
	*at += 12 + 8 * nwords;
	*nbytes -= 12 + 8 * nwords;
	return 0;
}
