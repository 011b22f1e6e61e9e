/* SPDX-License-Identifier: MIT */
#include "git/tree_digest.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"

enum {
	FLUSH_AT = 1 << 16
};

/* Beside git's modes, which take 16 bits. */
enum record_flag {
	RECORD_STAGE_SHIFT = 24,
	RECORD_LEFT_OUT = 1 << 20, /* not on disk, by a sparse checkout */
	RECORD_OPAQUE = 1 << 21,
	RECORD_STAGED = 1 << 22, /* only the index has it */
	RECORD_RAW = 1 << 23	 /* what a filter hides of a file */
};

struct writer {
	struct scan *s;
	size_t id_size;
	struct digest digest;
	struct buf pending; /* small records are hashed many at a time */
};

static void
number_encode(uint64_t n, uint8_t *bytes, unsigned count)
{
	while (count-- > 0) {
		bytes[count] = (uint8_t)n;
		n >>= 8;
	}
}

struct record {
	const char *path;
	size_t len;
	uint32_t mode;
	uint64_t size;
	const uint8_t *id;
};

static void
record_put(struct writer *w, const struct record *r)
{
	uint8_t len[4], tail[12];

	number_encode(r->len, len, 4);
	number_encode(r->mode, tail, 4);
	number_encode(r->mode == INDEX_MODE_LINK ? 0 : r->size, tail + 4, 8);
	buf_append(&w->pending, len, sizeof(len));
	buf_append(&w->pending, r->path, r->len);
	buf_append(&w->pending, tail, sizeof(tail));
	buf_append(&w->pending, r->id, w->id_size);
	if (w->pending.len >= FLUSH_AT) {
		digest_add(&w->digest, buf_text(&w->pending), w->pending.len);
		buf_clear(&w->pending);
	}
}

static bool
side_equals(const struct writer *w, uint32_t mode_a, const uint8_t *id_a, uint32_t mode_b,
	    const uint8_t *id_b)
{
	if (mode_a != mode_b)
		return false;
	return mode_a == 0 || memcmp(id_a, id_b, w->id_size) == 0;
}

/* All entries of an unmerged path. */
static void
stages_put(struct writer *w, const struct walk_item *item)
{
	const struct index *x = &w->s->index;
	size_t i;

	for (i = item->entry; i < x->nentries && x->entries[i].len == item->len &&
			      memcmp(x->entries[i].path, item->path, item->len) == 0;
	     i++) {
		const struct index_entry *e = &x->entries[i];

		const struct record r = { e->path, e->len,
					  e->mode | (uint32_t)e->stage
							<< RECORD_STAGE_SHIFT,
					  0, e->id };

		record_put(w, &r);
	}
}

/* The index's side of an item, where neither the disk nor HEAD has the same. */
static int
staged_put(struct writer *w, const struct walk_item *item, size_t len, uint32_t disk_mode,
	   const uint8_t *disk_id, struct error *err)
{
	uint8_t staged_id[OBJECT_ID_MAX] = { 0 }, head_id[OBJECT_ID_MAX] = { 0 };
	uint32_t staged_mode = 0, head_mode = 0;
	struct scan *s = w->s;

	if (item->entry != WALK_NO_ENTRY) {
		const struct index_entry *e = &s->index.entries[item->entry];

		if (!(e->flags & INDEX_INTENT_TO_ADD)) {
			staged_mode = e->mode;
			memcpy(staged_id, e->id, w->id_size);
		}
	}
	if (side_equals(w, staged_mode, staged_id, disk_mode, disk_id))
		return 0;
	if (s->head_tree == NULL)
		s->head_tree =
		    head_tree_new(&s->place, &s->settings, &s->head, s->objects);
	if (head_tree_find(s->head_tree, item->path, len, &head_mode, head_id, err) < 0)
		return -1;
	if (!side_equals(w, staged_mode, staged_id, head_mode, head_id)) {
		const struct record r = { item->path, len, staged_mode | RECORD_STAGED, 0,
					  staged_id };

		record_put(w, &r);
	}
	return 0;
}

/* The mode on disk, where that of the index counts for git. */
static uint32_t
mode_on_disk(const struct writer *w, uint32_t entry, uint32_t mode)
{
	const uint8_t *odd = w->s->walk.odd_modes;

	if (odd == NULL || entry == WALK_NO_ENTRY || !odd[entry])
		return mode;
	if (mode == INDEX_MODE_FILE)
		return INDEX_MODE_EXEC;
	return mode == INDEX_MODE_EXEC ? INDEX_MODE_FILE : mode;
}

static int
raw_compare(const void *key, const void *raw)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct walk_raw *)raw)->entry;

	return a < b ? -1 : a > b;
}

/* The bytes on disk, where they are not what the index has. */
static void
raw_put(struct writer *w, size_t at, uint64_t size)
{
	const struct walk_result *walk = &w->s->walk;
	const struct index_entry *e = &w->s->index.entries[at];
	uint32_t key = (uint32_t)at;
	const struct walk_raw *raw = NULL;
	struct record r = { e->path, e->len, RECORD_RAW, size, NULL };

	if (walk->nraws > 0)
		raw = bsearch(&key, walk->raws, walk->nraws, sizeof(*raw), raw_compare);
	if (raw == NULL)
		return;
	r.id = raw->id;
	record_put(w, &r);
}

static void
entry_put(struct writer *w, size_t at, enum walk_state state)
{
	const struct index_entry *e = &w->s->index.entries[at];
	const struct record r = { e->path, e->len,
				  mode_on_disk(w, (uint32_t)at, e->mode) |
				      (state == WALK_LEFT_OUT ? RECORD_LEFT_OUT : 0),
				  w->s->walk.sizes[at], e->id };

	if (state == WALK_CLEAN || state == WALK_LEFT_OUT)
		record_put(w, &r);
	if (state == WALK_CLEAN)
		raw_put(w, at, r.size);
}

static int
item_put(struct writer *w, const struct walk_item *item, const struct tree_inner *inner,
	 struct error *err)
{
	bool is_repository = inner != NULL && (item->flags & WALK_REPOSITORY);
	bool is_opaque = item->flags & WALK_OPAQUE;
	size_t len = item->len - (item->path[item->len - 1] == '/');
	const uint8_t *id = is_repository ? inner->head : item->id;
	const struct record r = { item->path, len,
				  mode_on_disk(w, item->entry, item->mode) |
				      (is_opaque ? RECORD_OPAQUE : 0),
				  item->size, id };

	if (item->dropped) {
		entry_put(w, item->entry, WALK_CLEAN);
		return 0;
	}
	if (item->mode != 0 || is_opaque)
		record_put(w, &r);
	if (is_repository)
		buf_append(&w->pending, inner->tree, DIGEST_SIZE);
	if (item->kind == TREE_CHANGE_UNMERGED) {
		stages_put(w, item);
		return 0;
	}
	return staged_put(w, item, len, item->mode, id, err);
}

/* Does the entry come before the item? */
static bool
entry_is_first(const struct index_entry *e, const struct walk_item *item)
{
	size_t len = item->len - (item->path[item->len - 1] == '/');
	size_t n = e->len < len ? e->len : len;
	int c = memcmp(e->path, item->path, n);

	return c != 0 ? c < 0 : e->len < len;
}

int
tree_digest(struct scan *s, const struct tree_inner *inner, uint8_t ret[DIGEST_SIZE],
	    struct error *err)
{
	static const char title[] = "geonosis tree 1";
	static const uint8_t none[OBJECT_ID_MAX];
	struct writer w = { .s = s, .id_size = object_format_size(s->settings.format) };
	const struct walk_result *walk = &s->walk;
	size_t entry = 0, i;
	int rc = 0;

	digest_init(&w.digest);
	digest_add(&w.digest, title, sizeof(title));
	digest_add_u32(&w.digest, (uint32_t)w.id_size);
	digest_add(&w.digest, s->head.is_unborn ? none : s->head.id, w.id_size);
	for (i = 0; i < walk->nitems && rc == 0; i++) {
		const struct walk_item *item = &walk->items[i];

		for (; entry < s->index.nentries &&
		       entry_is_first(&s->index.entries[entry], item);
		     entry++)
			entry_put(&w, entry, (enum walk_state)walk->states[entry]);
		/* Its own entry has nothing more to say. */
		if (item->dropped)
			walk->states[item->entry] = WALK_ITEM;
		rc = item_put(&w, item, inner == NULL ? NULL : &inner[i], err);
	}
	for (; entry < s->index.nentries; entry++)
		entry_put(&w, entry, (enum walk_state)walk->states[entry]);
	digest_add(&w.digest, buf_text(&w.pending), w.pending.len);
	digest_add_u32(&w.digest, 0);
	digest_end(&w.digest, ret);
	buf_release(&w.pending);
	return rc;
}
