/* SPDX-License-Identifier: MIT */
#include "git/objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/pack.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	STORES_MAX = 32, /* alternates of alternates, too */
	ALTERNATES_MAX = 1 << 20,
	CHAIN_MAX = 4096
};

struct objects {
	enum object_format format;
	bool is_open;
	char *stores[STORES_MAX]; /* objects directories; the first is our own */
	size_t nstores;
	struct pack *packs;
	size_t npacks, packs_room;
};

struct objects *
objects_new(const char *common_dir, enum object_format format)
{
	struct objects *o = xcalloc(1, sizeof(*o));

	o->format = format;
	o->stores[o->nstores++] = xasprintf("%s/objects", common_dir);
	return o;
}

static void
store_add(struct objects *o, const char *base, const char *line, size_t n)
{
	char *path =
	    *line == '/' ? xstrndup(line, n) : xasprintf("%s/%.*s", base, (int)n, line);
	char *real = realpath(path, NULL);
	size_t i;

	free(path);
	for (i = 0; real != NULL && i < o->nstores; i++)
		if (strcmp(o->stores[i], real) == 0)
			break;
	if (real == NULL || i < o->nstores || o->nstores == STORES_MAX)
		free(real);
	else
		o->stores[o->nstores++] = real;
}

/* One path a line, relative to the store; quoted ones are not understood here. */
static void
alternates_read(struct objects *o, const char *store)
{
	char *path = xasprintf("%s/info/alternates", store);
	struct error ignored = ERROR_INIT;
	struct buf text = BUF_INIT;
	const char *p;

	if (file_read(path, ALTERNATES_MAX, &text, &ignored) == 0) {
		for (p = buf_text(&text); *p != '\0';) {
			size_t n = strcspn(p, "\n");

			if (n > 0 && n < 4096 && *p != '#' && *p != '"')
				store_add(o, store, p, n);
			p += n + (p[n] == '\n');
		}
	}
	buf_release(&text);
	free(path);
}

static void
packs_list(struct objects *o, const char *store)
{
	char *path = xasprintf("%s/pack", store);
	DIR *dir = opendir(path);
	const struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		size_t n = strlen(d->d_name);

		if (n < 5 || strcmp(d->d_name + n - 4, ".idx") != 0)
			continue;
		o->packs =
		    xgrow(o->packs, o->npacks + 1, &o->packs_room, sizeof(*o->packs));
		pack_init(&o->packs[o->npacks++],
			  xasprintf("%s/%.*s", path, (int)n - 4, d->d_name));
	}
	if (dir != NULL)
		(void)closedir(dir);
	free(path);
}

static void
stores_open(struct objects *o)
{
	size_t i;

	if (o->is_open)
		return;
	o->is_open = true;
	for (i = 0; i < o->nstores; i++) {
		alternates_read(o, o->stores[i]);
		packs_list(o, o->stores[i]);
	}
}

/* `<kind> <size>` and a NUL, then the content, which alone is left. */
static int
loose_split(struct buf *raw, enum object_kind *ret_kind)
{
	static const char *const kinds[] = { "commit ", "tree ", "blob ", "tag " };
	const char *nul = memchr(raw->data, '\0', raw->len < 64 ? raw->len : 64);
	size_t i, head;
	char *end;

	for (i = 0; nul != NULL && i < 4; i++) {
		size_t n = strlen(kinds[i]);

		if (strncmp(raw->data, kinds[i], n) != 0)
			continue;
		head = (size_t)(nul + 1 - raw->data);
		if (strtoull(raw->data + n, &end, 10) != raw->len - head || end != nul)
			return 0;
		memmove(raw->data, raw->data + head, raw->len - head + 1);
		raw->len -= head;
		*ret_kind = (enum object_kind)(i + 1);
		return 1;
	}
	return 0;
}

static int
loose_read(struct objects *o, const uint8_t *id, enum object_kind *ret_kind,
	   struct buf *ret_content)
{
	char hex[2 * OBJECT_ID_MAX + 1];
	size_t i;

	hex_encode(id, object_format_size(o->format), hex);
	for (i = 0; i < o->nstores; i++) {
		char *path = xasprintf("%s/%.2s/%s", o->stores[i], hex, hex + 2);
		struct buf raw = BUF_INIT;
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

		free(path);
		if (fd < 0)
			continue;
		rc = inflate_at(fd, 0, SIZE_MAX, &raw);
		fd_close(&fd);
		if (rc == 1 && loose_split(&raw, ret_kind) == 1) {
			*ret_content = raw;
			return 1;
		}
		buf_release(&raw);
	}
	return 0;
}

static int
packed_find(struct objects *o, const uint8_t *id, struct pack **ret_pack,
	    uint64_t *ret_offset)
{
	size_t i;

	for (i = 0; i < o->npacks; i++) {
		if (pack_find(&o->packs[i], o->format, id, ret_offset) == 1) {
			*ret_pack = &o->packs[i];
			return 1;
		}
	}
	return 0;
}

/* Apply the chain of deltas, the last first. *content is replaced. */
static int
chain_apply(struct buf *content, const struct buf *deltas, size_t n)
{
	while (n-- > 0) {
		struct buf next = BUF_INIT;

		if (delta_apply(content, &deltas[n], &next) == 0)
			return 0;
		buf_release(content);
		*content = next;
	}
	return 1;
}

static int
packed_read(struct objects *o, const uint8_t *id, enum object_kind *ret_kind,
	    struct buf *ret_content)
{
	struct buf *deltas = NULL;
	size_t ndeltas = 0, room = 0, i;
	struct pack_entry e = { .is_delta = true };
	struct pack *pack;
	uint64_t offset;
	int rc = packed_find(o, id, &pack, &offset);

	while (rc == 1) {
		rc = pack_entry_read(pack, o->format, offset, &e);
		if (rc == 0 || !e.is_delta)
			break;
		deltas = xgrow(deltas, ndeltas + 1, &room, sizeof(*deltas));
		deltas[ndeltas++] = e.content;
		offset = e.base_offset;
		if (e.by_id)
			rc = packed_find(o, e.base_id, &pack, &offset);
		if (ndeltas == CHAIN_MAX)
			rc = 0;
	}
	if (rc == 1) {
		rc = chain_apply(&e.content, deltas, ndeltas);
		*ret_kind = e.kind;
		if (rc == 1)
			*ret_content = e.content;
		else
			buf_release(&e.content);
	}
	for (i = 0; i < ndeltas; i++)
		buf_release(&deltas[i]);
	free(deltas);
	return rc;
}

int
object_read(struct objects *o, const uint8_t id[OBJECT_ID_MAX],
	    enum object_kind *ret_kind, struct buf *ret_content)
{
	stores_open(o);
	if (loose_read(o, id, ret_kind, ret_content) == 1)
		return 1;
	return packed_read(o, id, ret_kind, ret_content);
}

void
objects_free(struct objects *o)
{
	size_t i;

	if (o == NULL)
		return;
	for (i = 0; i < o->nstores; i++)
		free(o->stores[i]);
	for (i = 0; i < o->npacks; i++)
		pack_release(&o->packs[i]);
	free(o->packs);
	free(o);
}
