/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a delta and its base (the first byte: where that begins), and as a
 * compressed object: refused, or of the size that was said.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "git/pack.h"
#include "ipc/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
entry_read(const uint8_t *data, size_t size)
{
	struct pack p;
	struct pack_entry e;

	pack_init(&p, NULL);
	p.pack_fd = memfd_create("pack", MFD_CLOEXEC);
	if (p.pack_fd < 0 || fd_write(p.pack_fd, data, size) < 0)
		abort();
	if (pack_entry_read(&p, OBJECT_FORMAT_SHA1, 0, &e) == 1) {
		if (strlen(e.content.data) > e.content.len)
			abort();
		buf_release(&e.content);
	}
	pack_release(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf base = BUF_INIT, delta = BUF_INIT, made = BUF_INIT;
	size_t split;

	if (size < 1)
		return 0;
	split = data[0] < size ? data[0] : size - 1;
	entry_read(data + 1, size - 1);
	buf_append(&base, data + 1, split);
	buf_append(&delta, data + 1 + split, size - 1 - split);
	(void)delta_apply(&base, &delta, &made);
	buf_release(&base);
	buf_release(&delta);
	buf_release(&made);
	return 0;
}
