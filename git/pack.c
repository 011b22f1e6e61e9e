/* SPDX-License-Identifier: MIT */
#include "git/pack.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	IDX_HEADER = 8,
	IDX_FANOUT = 256 * 4,
	ENTRY_HEADER_MAX = 64, /* type and size, then a base's offset or id */
	INFLATE_CHUNK = 16384,
	KIND_OFFSET_DELTA = 6,
	KIND_ID_DELTA = 7
};

void
pack_init(struct pack *p, char *stem)
{
	*p = (struct pack){ .stem = stem, .idx_fd = -1, .pack_fd = -1 };
}

void
pack_release(struct pack *p)
{
	free(p->stem);
	fd_close(&p->idx_fd);
	fd_close(&p->pack_fd);
}

static int
read_at(int fd, uint64_t offset, void *bytes, size_t n)
{
	char *to = bytes;

	if (offset > INT64_MAX - n)
		return -1;
	while (n > 0) {
		ssize_t got = pread(fd, to, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		to += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static int
open_file(const char *stem, const char *suffix)
{
	char *path = xasprintf("%s%s", stem, suffix);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	free(path);
	return fd;
}

static int
pack_open(struct pack *p, size_t id_size)
{
	static const uint8_t magic[IDX_HEADER] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	uint8_t head[IDX_HEADER];
	struct stat st;
	uint32_t n;

	if (p->is_bad)
		return -1;
	if (p->idx_fd >= 0)
		return 0;
	p->is_bad = true;
	p->idx_fd = open_file(p->stem, ".idx");
	p->pack_fd = open_file(p->stem, ".pack");
	if (p->idx_fd < 0 || p->pack_fd < 0 || fstat(p->idx_fd, &st) < 0 ||
	    read_at(p->idx_fd, 0, head, sizeof(head)) < 0 ||
	    memcmp(head, magic, sizeof(magic)) != 0 ||
	    read_at(p->idx_fd, IDX_HEADER + 255 * 4, &n, sizeof(n)) < 0)
		return -1;
	p->nobjects = be32toh(n);
	p->idx_size = (uint64_t)st.st_size;
	if (p->idx_size < IDX_HEADER + IDX_FANOUT + (uint64_t)p->nobjects * (id_size + 8))
		return -1;
	p->is_bad = false;
	return 0;
}

/* The place of the at'th object, from the tables behind the ids. */
static int
offset_read(const struct pack *p, size_t id_size, uint32_t at, uint64_t *ret_offset)
{
	uint64_t table = IDX_HEADER + IDX_FANOUT + (uint64_t)p->nobjects * (id_size + 4);
	uint32_t small;
	uint64_t large;

	if (read_at(p->idx_fd, table + 4 * (uint64_t)at, &small, sizeof(small)) < 0)
		return -1;
	small = be32toh(small);
	if (!(small & 0x80000000u)) {
		*ret_offset = small;
		return 0;
	}
	table += 4 * (uint64_t)p->nobjects;
	if (read_at(p->idx_fd, table + 8 * (uint64_t)(small & 0x7fffffff), &large,
		    sizeof(large)) < 0)
		return -1;
	*ret_offset = be64toh(large);
	return 0;
}

int
pack_find(struct pack *p, enum object_format format, const uint8_t *id,
	  uint64_t *ret_offset)
{
	size_t id_size = object_format_size(format);
	uint32_t range[2] = { 0, 0 }, lo, hi;
	uint8_t other[OBJECT_ID_MAX];

	if (pack_open(p, id_size) < 0)
		return 0;
	if (id[0] == 0 ? read_at(p->idx_fd, IDX_HEADER, &range[1], 4) < 0
		       : read_at(p->idx_fd, IDX_HEADER + 4 * (id[0] - 1u), range, 8) < 0)
		return 0;
	lo = be32toh(range[0]);
	hi = be32toh(range[1]);
	if (lo > hi || hi > p->nobjects)
		return 0;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int c;

		if (read_at(p->idx_fd, IDX_HEADER + IDX_FANOUT + (uint64_t)mid * id_size,
			    other, id_size) < 0)
			return 0;
		c = memcmp(id, other, id_size);
		if (c == 0)
			return offset_read(p, id_size, mid, ret_offset) == 0;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return 0;
}

/* More room for the output, up to the wanted size: false when there must be no more. */
static bool
room_make(struct buf *out, size_t size)
{
	size_t want = size != SIZE_MAX ? size + 1 : out->room == 0 ? 4096 : out->room * 2;

	if (want <= out->room || want > OBJECT_SIZE_MAX)
		return false;
	out->data = xreallocarray(out->data, want + 1, 1);
	out->room = want;
	return true;
}

static int
inflate_run(z_stream *z, int fd, uint64_t offset, size_t size, struct buf *out)
{
	unsigned char chunk[INFLATE_CHUNK];
	int rc = Z_OK;

	while (rc != Z_STREAM_END) {
		ssize_t got = 0;

		if (z->avail_in == 0) {
			got = pread(fd, chunk, sizeof(chunk), (off_t)offset);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return -1;
			offset += (uint64_t)got;
			z->next_in = chunk;
			z->avail_in = (uInt)got;
		}
		if (out->len == out->room && !room_make(out, size))
			return -1;
		z->next_out = (unsigned char *)out->data + out->len;
		z->avail_out = (uInt)(out->room - out->len);
		rc = inflate(z, Z_NO_FLUSH);
		out->len = out->room - z->avail_out;
		if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
			return -1;
	}
	return 0;
}

int
inflate_at(int fd, uint64_t offset, size_t size, struct buf *ret_content)
{
	struct buf out = BUF_INIT;
	z_stream z = { .avail_in = 0 };
	int rc;

	if ((size != SIZE_MAX && size > OBJECT_SIZE_MAX - 2) || offset > INT64_MAX ||
	    inflateInit(&z) != Z_OK)
		return 0;
	rc = inflate_run(&z, fd, offset, size, &out);
	(void)inflateEnd(&z);
	if (rc < 0 || (size != SIZE_MAX && out.len != size)) {
		buf_release(&out);
		return 0;
	}
	if (out.data == NULL && !room_make(&out, SIZE_MAX))
		return 0;
	out.data[out.len] = '\0';
	*ret_content = out;
	return 1;
}

/* Kind and size at the head of an entry: bytes used, 0 where it is not sound. */
static size_t
head_parse(const uint8_t *p, size_t n, unsigned *ret_kind, size_t *ret_size)
{
	size_t at = 1, size = p[0] & 15;
	unsigned shift = 4;
	bool more = p[0] & 128;

	*ret_kind = p[0] >> 4 & 7;
	while (more) {
		if (at == n || shift > 32)
			return 0;
		more = p[at] & 128;
		size |= (size_t)(p[at++] & 127) << shift;
		shift += 7;
	}
	*ret_size = size;
	return at;
}

/* How far before the delta its base lies: bytes used, 0 where it is not sound. */
static size_t
distance_parse(const uint8_t *p, size_t n, uint64_t *ret_distance)
{
	uint64_t d = p[0] & 127;
	size_t at = 1;

	while (p[at - 1] & 128) {
		if (at == n || d > UINT64_MAX >> 8)
			return 0;
		d = (d + 1) << 7 | (p[at++] & 127);
	}
	*ret_distance = d;
	return at;
}

int
pack_entry_read(struct pack *p, enum object_format format, uint64_t offset,
		struct pack_entry *ret_entry)
{
	struct pack_entry e = { .is_delta = false };
	uint8_t head[ENTRY_HEADER_MAX];
	size_t id_size = object_format_size(format), used, more, size;
	uint64_t distance;
	unsigned kind;

	/* The shortest entry and the checksum at the end are longer than the head. */
	memset(head, 0, sizeof(head));
	if (offset > INT64_MAX ||
	    pread(p->pack_fd, head, sizeof(head), (off_t)offset) < (ssize_t)id_size)
		return 0;
	used = head_parse(head, 16, &kind, &size);
	if (used == 0)
		return 0;
	if (kind == KIND_OFFSET_DELTA) {
		more = distance_parse(head + used, 16, &distance);
		if (more == 0 || distance == 0 || distance > offset)
			return 0;
		used += more;
		e.is_delta = true;
		e.base_offset = offset - distance;
	} else if (kind == KIND_ID_DELTA) {
		e.is_delta = e.by_id = true;
		memcpy(e.base_id, head + used, id_size);
		used += id_size;
	} else if (kind < OBJECT_COMMIT || kind > OBJECT_TAG) {
		return 0;
	}
	e.kind = (enum object_kind)kind;
	if (inflate_at(p->pack_fd, offset + used, size, &e.content) == 0)
		return 0;
	*ret_entry = e;
	return 1;
}

/* A size at *at: 0, or -1. */
static int
delta_size(const struct buf *delta, size_t *at, size_t *ret_size)
{
	size_t size = 0;
	unsigned shift = 0;

	for (;;) {
		uint8_t c;

		if (*at == delta->len || shift > 32)
			return -1;
		c = (uint8_t)delta->data[(*at)++];
		size |= (size_t)(c & 127) << shift;
		shift += 7;
		if (!(c & 128))
			break;
	}
	*ret_size = size;
	return 0;
}

/* A copy instruction whose first byte is c. */
static int
delta_copy(const struct buf *base, const struct buf *delta, size_t *at, uint8_t c,
	   struct buf *out)
{
	size_t from = 0, n = 0;
	unsigned i;

	for (i = 0; i < 7; i++) {
		if (!(c >> i & 1))
			continue;
		if (*at == delta->len)
			return -1;
		if (i < 4)
			from |= (size_t)(uint8_t)delta->data[(*at)++] << 8 * i;
		else
			n |= (size_t)(uint8_t)delta->data[(*at)++] << 8 * (i - 4);
	}
	if (n == 0)
		n = 0x10000;
	if (from > base->len || n > base->len - from)
		return -1;
	buf_append(out, base->data + from, n);
	return 0;
}

int
delta_apply(const struct buf *base, const struct buf *delta, struct buf *ret_content)
{
	struct buf out = BUF_INIT;
	size_t at = 0, base_size, size;

	if (delta_size(delta, &at, &base_size) < 0 || delta_size(delta, &at, &size) < 0 ||
	    base_size != base->len || size > OBJECT_SIZE_MAX)
		return 0;
	while (at < delta->len && out.len <= size) {
		uint8_t c = (uint8_t)delta->data[at++];

		if (c & 128) {
			if (delta_copy(base, delta, &at, c, &out) < 0)
				break;
		} else if (c == 0 || c > delta->len - at) {
			break;
		} else {
			buf_append(&out, delta->data + at, c);
			at += c;
		}
	}
	if (at != delta->len || out.len != size) {
		buf_release(&out);
		return 0;
	}
	*ret_content = out;
	return 1;
}
