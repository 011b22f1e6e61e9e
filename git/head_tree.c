/* SPDX-License-Identifier: MIT */
/*
 * Trees are kept while the paths asked for lie in them, one for each level: paths in
 * order read every tree once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "git/ask.h"
#include "git/head.h"
#include "git/index.h"
#include "ipc/buf.h"
#include "ipc/mem.h"

enum {
	LEVELS_MAX = 512
};

struct level {
	char *name; /* of the directory in the one above; NULL: the top */
	struct buf tree;
	struct buf last; /* the name looked for before */
	size_t cursor;	 /* what lies before it comes before that name */
};

struct listed {
	const char *path;
	size_t len;
	uint32_t mode;
	uint8_t id[OBJECT_ID_MAX];
};

struct head_tree {
	const char *root;
	struct objects *objects;
	size_t id_size;
	struct head head;
	struct level levels[LEVELS_MAX];
	size_t nlevels;
	bool is_listed; /* git was asked: `listed` stands for the trees */
	struct buf listing;
	struct listed *listed;
	size_t nlisted, listed_room;
};

struct head_tree *
head_tree_new(const struct place *p, const struct settings *s, const struct head *h,
	      struct objects *objects)
{
	struct head_tree *t = xcalloc(1, sizeof(*t));

	t->root = p->root;
	t->objects = objects;
	t->id_size = object_format_size(s->format);
	t->head = *h;
	return t;
}

static void
levels_drop(struct head_tree *t, size_t keep)
{
	while (t->nlevels > keep) {
		struct level *l = &t->levels[--t->nlevels];

		free(l->name);
		buf_release(&l->tree);
		buf_release(&l->last);
		*l = (struct level){ .name = NULL };
	}
}

/* 1, 0 not to be read here. */
static int
tree_read(struct head_tree *t, const uint8_t *id, struct buf *ret_tree)
{
	enum object_kind kind;
	struct buf content = BUF_INIT;

	if (object_read(t->objects, id, &kind, &content) == 0)
		return 0;
	if (kind != OBJECT_TREE) {
		buf_release(&content);
		return 0;
	}
	*ret_tree = content;
	return 1;
}

static int
top_read(struct head_tree *t)
{
	struct buf commit = BUF_INIT;
	uint8_t id[OBJECT_ID_MAX];
	enum object_kind kind;
	int rc = 0;

	if (object_read(t->objects, t->head.id, &kind, &commit) == 0)
		return 0;
	if (kind == OBJECT_COMMIT && commit.len > 5 + 2 * t->id_size &&
	    strncmp(commit.data, "tree ", 5) == 0 &&
	    hex_decode(commit.data + 5, t->id_size, id) == 0)
		rc = tree_read(t, id, &t->levels[0].tree);
	buf_release(&commit);
	t->nlevels = rc == 1;
	return rc;
}

/* The entry at p: what follows it, or NULL where the tree is not sound. */
static const char *
entry_parse(const struct head_tree *t, const char *p, const char *end, uint32_t *ret_mode,
	    const char **ret_name, size_t *ret_len)
{
	const char *nul = memchr(p, '\0', (size_t)(end - p));
	char *after;

	if (nul == NULL || (size_t)(end - nul - 1) < t->id_size)
		return NULL;
	*ret_mode = (uint32_t)strtoul(p, &after, 8);
	if (after == p || *after != ' ')
		return NULL;
	*ret_name = after + 1;
	*ret_len = (size_t)(nul - after - 1);
	return nul + 1 + t->id_size;
}

/* Order of trees: a directory's name as if it ended in a '/'. */
static int
name_order(const char *a, size_t na, bool a_is_dir, const char *b, size_t nb,
	   bool b_is_dir)
{
	size_t n = na < nb ? na : nb;
	int c = memcmp(a, b, n), x, y;

	if (c != 0)
		return c;
	x = n < na ? (unsigned char)a[n] : a_is_dir ? '/' : 0;
	y = n < nb ? (unsigned char)b[n] : b_is_dir ? '/' : 0;
	return x - y;
}

/*
 * An entry of a tree: 1 found, 0 not there, -1 the tree is not sound.  Names are asked
 * for in order, so the search goes on where the one before ended.
 */
static int
entry_find(const struct head_tree *t, struct level *l, const char *name, size_t n,
	   uint32_t *ret_mode, uint8_t *ret_id)
{
	const char *end = buf_text(&l->tree) + l->tree.len, *p, *other, *next;
	size_t len;

	if (name_order(name, n, false, buf_text(&l->last), l->last.len, false) < 0)
		l->cursor = 0;
	buf_clear(&l->last);
	buf_append(&l->last, name, n);
	for (p = buf_text(&l->tree) + l->cursor; p < end; p = next) {
		next = entry_parse(t, p, end, ret_mode, &other, &len);
		if (next == NULL)
			return -1;
		if (len == n && memcmp(other, name, n) == 0) {
			memcpy(ret_id, next - t->id_size, t->id_size);
			return 1;
		}
		if (name_order(other, len, S_ISDIR(*ret_mode), name, n, true) > 0)
			break;
		if (name_order(other, len, S_ISDIR(*ret_mode), name, n, false) < 0)
			l->cursor = (size_t)(next - buf_text(&l->tree));
	}
	return 0;
}

/* Go down to the directory `name` of the lowest level: 1, 0 there is none, -1. */
static int
level_enter(struct head_tree *t, const char *name, size_t n)
{
	struct level *l = &t->levels[t->nlevels];
	uint8_t id[OBJECT_ID_MAX];
	uint32_t mode;
	int rc;

	if (t->nlevels == LEVELS_MAX)
		return -1;
	rc = entry_find(t, &t->levels[t->nlevels - 1], name, n, &mode, id);
	if (rc != 1)
		return rc;
	if (!S_ISDIR(mode))
		return 0;
	if (tree_read(t, id, &l->tree) == 0)
		return -1;
	l->name = xstrndup(name, n);
	t->nlevels++;
	return 1;
}

/* 1, 0, -1 not to be read here. */
static int
objects_find(struct head_tree *t, const char *path, size_t len, uint32_t *ret_mode,
	     uint8_t *ret_id)
{
	const char *slash;
	size_t at = 1;

	if (t->nlevels == 0 && top_read(t) == 0)
		return -1;
	while ((slash = memchr(path, '/', len)) != NULL) {
		size_t n = (size_t)(slash - path);

		if (at == t->nlevels || strlen(t->levels[at].name) != n ||
		    memcmp(t->levels[at].name, path, n) != 0) {
			int rc;

			levels_drop(t, at);
			rc = level_enter(t, path, n);
			if (rc != 1)
				return rc;
		}
		at++;
		len -= n + 1;
		path = slash + 1;
	}
	return entry_find(t, &t->levels[at - 1], path, len, ret_mode, ret_id);
}

/* `<mode> <kind> <id><TAB><path><NUL>`, sorted bytewise. */
static int
listing_parse(struct head_tree *t)
{
	const char *p = buf_text(&t->listing), *end = p + t->listing.len;

	while (p < end) {
		char hex[2 * OBJECT_ID_MAX + 1];
		struct listed l = { .path = NULL };
		unsigned mode;
		int at = 0;

		if (sscanf(p, "%o %*s %64[0-9a-f]%n", &mode, hex, &at) != 2 || at == 0 ||
		    p[at] != '\t' || strlen(hex) != 2 * t->id_size ||
		    hex_decode(hex, t->id_size, l.id) < 0)
			return -1;
		l.path = p + at + 1;
		l.len = strlen(l.path);
		l.mode = mode;
		t->listed =
		    xgrow(t->listed, t->nlisted + 1, &t->listed_room, sizeof(*t->listed));
		t->listed[t->nlisted++] = l;
		p = l.path + l.len + 1;
	}
	return 0;
}

static int
listing_ask(struct head_tree *t, struct error *err)
{
	char hex[2 * OBJECT_ID_MAX + 1];
	const char *const arguments[] = {
		"ls-tree", "-r", "-z", "--full-tree", hex, NULL
	};

	hex_encode(t->head.id, t->id_size, hex);
	if (ask_git(t->root, arguments, &t->listing, err) != 1)
		return error_wrap(err, "git ls-tree");
	t->is_listed = true;
	if (listing_parse(t) < 0)
		return error_set(err, ERROR_REPO, "git ls-tree: answer not understood");
	return 0;
}

static int
listing_find(const struct head_tree *t, const char *path, uint32_t *ret_mode,
	     uint8_t *ret_id)
{
	size_t lo = 0, hi = t->nlisted;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(path, t->listed[mid].path);

		if (c == 0) {
			*ret_mode = t->listed[mid].mode;
			memcpy(ret_id, t->listed[mid].id, t->id_size);
			return 1;
		}
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return 0;
}

int
head_tree_find(struct head_tree *t, const char *path, size_t len, uint32_t *ret_mode,
	       uint8_t ret_id[OBJECT_ID_MAX], struct error *err)
{
	uint8_t id[OBJECT_ID_MAX] = { 0 };
	uint32_t mode = 0;
	int rc = 0;

	if (t->head.is_unborn)
		return 0;
	if (!t->is_listed)
		rc = objects_find(t, path, len, &mode, id);
	if (rc < 0 && listing_ask(t, err) < 0)
		return -1;
	if (t->is_listed)
		rc = listing_find(t, path, &mode, id);
	if (rc == 0 || S_ISDIR(mode))
		return 0;
	*ret_mode =
	    S_ISREG(mode) ? (mode & 0100 ? INDEX_MODE_EXEC : INDEX_MODE_FILE) : mode;
	memcpy(ret_id, id, sizeof(id));
	return 1;
}

bool
head_tree_asked(const struct head_tree *t)
{
	return t->is_listed;
}

void
head_tree_free(struct head_tree *t)
{
	if (t == NULL)
		return;
	levels_drop(t, 0);
	buf_release(&t->listing);
	free(t->listed);
	free(t);
}
