/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as git's index, of either object format (by the first byte), alone or with a
 * shared file (by the second: where that begins): refused, or in order with no path that
 * leads astray.  And any bytes as git's listing of an index.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
entries_read(const struct index *x, enum object_format format)
{
	size_t id_size = object_format_size(format), i;
	unsigned sum = 0;

	for (i = 0; i < x->nentries; i++) {
		const struct index_entry *e = &x->entries[i];

		if (strlen(e->path) != e->len || e->path[0] == '/' || e->path[0] == '\0')
			abort();
		if (i > 0 && strcmp(e[-1].path, e->path) > 0)
			abort();
		sum += index_stat_word(e, INDEX_STAT_BYTES) + e->id[id_size - 1];
		if (index_find(x, 0, x->nentries, e->path, e->len) > i)
			abort();
	}
	if (sum == 12345)
		(void)getenv("not optimised away");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, base = BUF_INIT, listing = BUF_INIT;
	struct index x = INDEX_INIT;
	struct error e = ERROR_INIT;
	enum object_format format;
	size_t split;

	if (size < 2)
		return 0;
	format = data[0] & 1 ? OBJECT_FORMAT_SHA256 : OBJECT_FORMAT_SHA1;
	split = size - 2;
	if (data[0] & 2)
		split = (size_t)data[1] * 8 < split ? (size_t)data[1] * 8 : split;
	data += 2;
	size -= 2;
	buf_append(&listing, data, size);
	buf_append(&whole, data, split);
	buf_append(&base, data + split, size - split);
	if (index_parse(&whole, &base, format, &x, &e) == 0)
		entries_read(&x, format);
	index_release(&x);
	if (index_parse_listing(&listing, format, &x, &e) == 0)
		entries_read(&x, format);
	index_release(&x);
	return 0;
}
