/* SPDX-License-Identifier: MIT */
/*
 * An index is read whole into memory, not mapped: eight megabytes are read in two
 * milliseconds, and a file that someone cuts meanwhile then costs a wrong answer at
 * most, not a SIGBUS.  git itself replaces the file by rename.
 */
#include "git/index.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/index_file.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	PLAIN_MAX = 1 << 30 /* bytes of an index */
};

uint32_t
index_stat_word(const struct index_entry *e, enum index_stat word)
{
	uint32_t v;

	memcpy(&v, e->stat + 4 * (size_t)word, sizeof(v));
	return be32toh(v);
}

static bool
component_is_sound(const char *c, size_t n)
{
	if (n == 0 || (n == 1 && c[0] == '.') || (n == 2 && c[0] == '.' && c[1] == '.'))
		return false;
	return !(n == 4 && strncasecmp(c, ".git", 4) == 0);
}

bool
index_path_is_sound(const char *path, size_t len)
{
	const char *slash;

	while ((slash = memchr(path, '/', len)) != NULL) {
		if (!component_is_sound(path, (size_t)(slash - path)))
			return false;
		len -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	return component_is_sound(path, len);
}

static int
entry_compare(const struct index_entry *a, const struct index_entry *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int c = memcmp(a->path, b->path, n);

	if (c != 0)
		return c;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return (int)a->stage - (int)b->stage;
}

size_t
index_find(const struct index *x, size_t from, size_t to, const char *path, size_t len)
{
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct index_entry *e = &x->entries[mid];
		int c = memcmp(e->path, path, e->len < len ? e->len : len);

		if (c < 0 || (c == 0 && e->len < len))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Order and paths: what all that follows relies on. */
int
index_check(const struct index *x, struct error *err)
{
	size_t i;

	for (i = 0; i < x->nentries; i++) {
		const struct index_entry *e = &x->entries[i];
		bool is_tree = e->mode == INDEX_MODE_TREE;

		if (e->len == 0 || (is_tree && e->path[e->len - 1] != '/') ||
		    !index_path_is_sound(e->path, e->len - is_tree))
			return error_set(err, ERROR_DATA, "index: a path leads astray");
		if (i > 0 && entry_compare(e - 1, e) >= 0)
			return error_set(err, ERROR_DATA, "index: it is not in order");
		if (is_tree && !(e->flags & INDEX_SKIP_WORKTREE))
			return error_set(err, ERROR_DATA,
					 "index: a directory that is not left out");
	}
	return 0;
}

/* What is left of the shared file once the bitmaps have spoken. */
static int
base_apply(const struct index_link *link, struct index_file *base, struct index_file *own,
	   size_t *ret_replaced, struct error *err)
{
	uint8_t *gone = xcalloc(base->nentries + 1, 1);
	uint8_t *replaced = xcalloc(base->nentries + 1, 1);
	const uint8_t *at = link->bitmaps;
	size_t nbytes = link->nbytes, i, kept = 0, next = 0;
	int rc = -1;

	if (nbytes > 0 &&
	    (index_bitmap_parse(&at, &nbytes, gone, base->nentries) < 0 ||
	     index_bitmap_parse(&at, &nbytes, replaced, base->nentries) < 0))
		goto out;
	for (i = 0; i < base->nentries; i++) {
		struct index_entry e = base->entries[i];

		if (replaced[i]) {
			if (next == own->nentries || own->entries[next].len != 0)
				goto out;
			e = own->entries[next++];
			e.path = base->entries[i].path;
			e.len = base->entries[i].len;
		}
		if (!gone[i])
			base->entries[kept++] = e;
	}
	base->nentries = kept;
	*ret_replaced = next;
	rc = 0;
out:
	if (rc < 0)
		(void)error_set(err, ERROR_DATA, "index: its bitmaps are not sound");
	free(gone);
	free(replaced);
	return rc;
}

/* Two ordered lists into one; where both have an entry, the index's own stands. */
static void
entries_merge(struct index *x, const struct index_file *base,
	      const struct index_file *own, size_t from)
{
	size_t i = 0, j = from, n = 0;

	x->entries = xcalloc(base->nentries + own->nentries + 1, sizeof(*x->entries));
	while (i < base->nentries || j < own->nentries) {
		int c = i == base->nentries ? 1
			: j == own->nentries
			    ? -1
			    : entry_compare(&base->entries[i], &own->entries[j]);

		if (c == 0)
			i++;
		x->entries[n++] = c < 0 ? base->entries[i++] : own->entries[j++];
	}
	x->nentries = n;
}

static bool
id_is_null(const uint8_t id[OBJECT_ID_MAX])
{
	static const uint8_t null[OBJECT_ID_MAX];

	return memcmp(id, null, OBJECT_ID_MAX) == 0;
}

static int
split_join(struct index *x, const struct index_file *own, enum object_format format,
	   struct error *err)
{
	struct index_file base = { .entries = NULL }, mine = *own;
	size_t replaced;
	int rc = -1;

	if (x->base.len == 0)
		return error_set(err, ERROR_DATA, "index: its shared file is missing");
	if (index_file_parse(&x->base, format, &x->base_names, &base, err) < 0)
		return -1;
	if (base.link.is_there) {
		(void)error_set(err, ERROR_DATA, "index: its shared file is split too");
	} else if (base_apply(&own->link, &base, &mine, &replaced, err) == 0) {
		entries_merge(x, &base, &mine, replaced);
		x->is_sparse |= base.is_sparse;
		rc = 0;
	}
	free(base.entries);
	return rc;
}

/* From the parsed file to the list; own->entries are taken or freed. */
static int
index_finish(struct index *x, struct index_file *own, enum object_format format,
	     struct error *err)
{
	int rc = 0;

	x->is_sparse = own->is_sparse;
	x->tree = own->tree;
	if (own->link.is_there && !id_is_null(own->link.id)) {
		rc = split_join(x, own, format, err);
		free(own->entries);
	} else {
		x->entries = own->entries;
		x->nentries = own->nentries;
	}
	return rc < 0 ? -1 : index_check(x, err);
}

int
index_parse(struct buf *bytes, struct buf *base, enum object_format format,
	    struct index *ret_index, struct error *err)
{
	struct index x = INDEX_INIT;
	struct index_file own = { .entries = NULL };
	int rc;

	x.bytes = *bytes;
	*bytes = (struct buf)BUF_INIT;
	if (base != NULL) {
		x.base = *base;
		*base = (struct buf)BUF_INIT;
	}
	rc = index_file_parse(&x.bytes, format, &x.names, &own, err);
	if (rc == 0)
		rc = index_finish(&x, &own, format, err);
	if (rc == 0)
		*ret_index = x;
	else
		index_release(&x);
	return rc;
}

/* The bytes of an index file and when it was written: 1, 0 no such file, -1. */
static int
file_load(const char *path, struct buf *ret_bytes, struct timespec *ret_written,
	  struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct buf b = BUF_INIT;
	struct stat st;
	int rc = -1;

	if (fd < 0)
		return errno == ENOENT ? 0 : error_system(err, "%s", path);
	if (fstat(fd, &st) < 0) {
		(void)error_system(err, "%s", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > PLAIN_MAX) {
		(void)error_set(err, ERROR_DATA, "%s: too large, or no file", path);
		goto out;
	}
	b.room = (size_t)st.st_size + 1;
	b.data = xmalloc(b.room);
	while (b.len < (size_t)st.st_size) {
		ssize_t got = read(fd, b.data + b.len, (size_t)st.st_size - b.len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		b.len += (size_t)got;
	}
	b.data[b.len] = '\0';
	*ret_bytes = b;
	*ret_written = st.st_mtim;
	rc = 1;
out:
	fd_close(&fd);
	return rc;
}

/* The shared file of a split index; one that is missing is found missing later. */
static int
base_load(const char *git_dir, const struct index_link *link, enum object_format format,
	  struct buf *ret_base, struct error *err)
{
	char hex[2 * OBJECT_ID_MAX + 1];
	struct timespec unused;
	char *path;
	int rc;

	if (!link->is_there || id_is_null(link->id))
		return 0;
	hex_encode(link->id, object_format_size(format), hex);
	path = xasprintf("%s/sharedindex.%s", git_dir, hex);
	rc = file_load(path, ret_base, &unused, err);
	free(path);
	return rc < 0 ? -1 : 0;
}

int
index_read(const char *git_dir, enum object_format format, struct index *ret_index,
	   struct error *err)
{
	char *path = xasprintf("%s/index", git_dir);
	struct index x = INDEX_INIT;
	struct index_file own = { .entries = NULL };
	int rc;

	rc = file_load(path, &x.bytes, &x.written, err);
	free(path);
	if (rc == 1) {
		rc = index_file_parse(&x.bytes, format, &x.names, &own, err);
		if (rc == 0 && base_load(git_dir, &own.link, format, &x.base, err) < 0) {
			free(own.entries);
			rc = -1;
		}
		if (rc == 0)
			rc = index_finish(&x, &own, format, err);
	}
	if (rc == 0)
		*ret_index = x;
	else
		index_release(&x);
	return rc;
}

void
index_release(struct index *x)
{
	free(x->entries);
	buf_release(&x->bytes);
	buf_release(&x->base);
	buf_release(&x->names);
	buf_release(&x->base_names);
	*x = (struct index)INDEX_INIT;
}
