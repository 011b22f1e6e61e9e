/* SPDX-License-Identifier: MIT */
#include "git/tree.h"

#include <stdlib.h>
#include <string.h>

#include "git/ask.h"
#include "git/objects.h"
#include "ipc/mem.h"

struct tree {
	uint8_t id[OBJECT_ID_MAX];
	struct buf content;
};

struct trees {
	const struct repository *r;
	size_t id_size;
	struct tree **items; /* sorted by id */
	size_t n, room;
};

struct trees *
trees_new(const struct repository *r)
{
	struct trees *t = xcalloc(1, sizeof(*t));

	t->r = r;
	t->id_size = object_format_size(r->settings.format);
	return t;
}

void
trees_free(struct trees *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->n; i++) {
		buf_release(&t->items[i]->content);
		free(t->items[i]);
	}
	free(t->items);
	free(t);
}

size_t
trees_id_size(const struct trees *t)
{
	return t->id_size;
}

bool
tree_entry_next(const struct trees *t, const struct buf *tree, const char **p,
		struct tree_entry *ret_entry)
{
	const char *end = buf_text(tree) + tree->len;
	const char *nul = *p < end ? memchr(*p, '\0', (size_t)(end - *p)) : NULL;
	const char *digit = *p;
	uint32_t mode = 0;

	if (nul == NULL || (size_t)(end - nul - 1) < t->id_size)
		return false;
	for (; *digit >= '0' && *digit <= '7' && mode <= 0777777; digit++)
		mode = mode * 8 + (uint32_t)(*digit - '0');
	if (digit == *p || *digit != ' ' || mode > 0777777)
		return false;
	ret_entry->name = digit + 1;
	ret_entry->mode = mode;
	ret_entry->id = (const uint8_t *)nul + 1;
	*p = nul + 1 + t->id_size;
	return *ret_entry->name != '\0' && strchr(ret_entry->name, '/') == NULL &&
	       strcmp(ret_entry->name, ".") != 0 && strcmp(ret_entry->name, "..") != 0;
}

static bool
tree_is_sound(const struct trees *t, const struct buf *content)
{
	const char *p = buf_text(content), *end = p + content->len;
	struct tree_entry e;

	while (p < end)
		if (!tree_entry_next(t, content, &p, &e))
			return false;
	return true;
}

/* Where the tree of this id is among those read, or belongs. */
static size_t
tree_place(const struct trees *t, const uint8_t *id, bool *ret_found)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = memcmp(t->items[middle]->id, id, t->id_size);

		if (c == 0) {
			*ret_found = true;
			return middle;
		}
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = false;
	return low;
}

static int
content_read(const struct trees *t, const uint8_t *id, bool ask, struct buf *ret_content,
	     struct error *err)
{
	char hex[DIGEST_HEX_SIZE];
	uint8_t whole[OBJECT_ID_MAX] = { 0 };
	struct buf content = BUF_INIT;
	enum object_kind kind;

	memcpy(whole, id, t->id_size);
	if (object_read(t->r->objects, whole, &kind, &content) == 1) {
		if (kind == OBJECT_TREE) {
			*ret_content = content;
			return 0;
		}
		buf_release(&content);
	}
	hex_encode(id, t->id_size, hex);
	if (!ask)
		return error_set(err, ERROR_REPO, "tree %s cannot be read here", hex);
	return object_ask(t->r->place.root, "tree", hex, ret_content, err) == 1 ? 0 : -1;
}

const struct buf *
tree_get(struct trees *t, const uint8_t *id, bool ask, struct error *err)
{
	bool found;
	size_t at = tree_place(t, id, &found);
	struct buf content = BUF_INIT;
	struct tree *tree;

	if (found)
		return &t->items[at]->content;
	if (content_read(t, id, ask, &content, err) < 0)
		return NULL;
	if (!tree_is_sound(t, &content)) {
		buf_release(&content);
		(void)error_set(err, ERROR_DATA, "a tree of the commit is damaged");
		return NULL;
	}
	tree = xcalloc(1, sizeof(*tree));
	memcpy(tree->id, id, t->id_size);
	tree->content = content;
	t->items = xgrow(t->items, t->n + 1, &t->room, sizeof(*t->items));
	memmove(t->items + at + 1, t->items + at, (t->n - at) * sizeof(*t->items));
	t->items[at] = tree;
	t->n++;
	return &tree->content;
}
