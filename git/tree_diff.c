/* SPDX-License-Identifier: MIT */
/*
 * Two trees side by side, in the order git keeps them: by name, a directory's with a '/'
 * behind it.  Trees of the same id are not looked into.
 */
#include <assert.h>
#include <string.h>

#include "git/index.h"
#include "git/tree.h"

struct diff {
	struct trees *trees;
	size_t id_size;
	tree_path_fn *path;
	void *ctx;
	struct buf at; /* the directory that is compared, with a final '/' */
};

/* One side: a tree, and the entry that is next. */
struct side {
	const struct buf *tree; /* NULL: there is nothing */
	const char *p;
	struct tree_entry e;
	bool is_there;
};

static bool
is_directory(const struct tree_entry *e)
{
	return (e->mode & 0170000) == INDEX_MODE_TREE;
}

/* As the index has it: old trees know more modes of a file. */
static uint32_t
mode_settle(uint32_t mode)
{
	if ((mode & 0170000) != 0100000)
		return mode & 0170000;
	return mode & 0100 ? INDEX_MODE_EXEC : INDEX_MODE_FILE;
}

static void
side_next(const struct diff *d, struct side *s)
{
	s->is_there = s->tree != NULL && tree_entry_next(d->trees, s->tree, &s->p, &s->e);
}

/* Without a tree: 0, and there is nothing; -1 where it cannot be read. */
static int
side_begin(const struct diff *d, struct side *s, const uint8_t *id)
{
	struct error ignored = ERROR_INIT;

	*s = (struct side){ .is_there = false };
	s->tree = id == NULL ? NULL : tree_get(d->trees, id, false, &ignored);
	if (id != NULL && s->tree == NULL)
		return -1;
	s->p = s->tree == NULL ? "" : buf_text(s->tree);
	side_next(d, s);
	return 0;
}

static int
entry_compare(const struct tree_entry *a, const struct tree_entry *b)
{
	size_t na = strlen(a->name), nb = strlen(b->name), n = na < nb ? na : nb;
	int c = memcmp(a->name, b->name, n);
	unsigned char after_a, after_b;

	if (c != 0)
		return c;
	after_a = (unsigned char)(na > n ? a->name[n] : is_directory(a) ? '/' : '\0');
	after_b = (unsigned char)(nb > n ? b->name[n] : is_directory(b) ? '/' : '\0');
	return after_a - after_b;
}

static int directories_compare(struct diff *d, const uint8_t *a, const uint8_t *b,
			       unsigned depth);

/* An entry that the two sides do not share, or that only one of them has. */
static int
entry_tell(struct diff *d, const struct tree_entry *a, const struct tree_entry *b,
	   unsigned depth)
{
	const struct tree_entry *e = a != NULL ? a : b;
	size_t len = d->at.len;
	int rc = 1;

	assert(e != NULL);
	buf_puts(&d->at, e->name);
	if (is_directory(e)) {
		buf_putc(&d->at, '/');
		rc = directories_compare(d, a == NULL ? NULL : a->id,
					 b == NULL ? NULL : b->id, depth + 1);
	} else {
		d->path(d->ctx, d->at.data, d->at.len);
	}
	d->at.len = len;
	d->at.data[len] = '\0';
	return rc;
}

static bool
entries_equal(const struct diff *d, const struct tree_entry *a,
	      const struct tree_entry *b)
{
	return mode_settle(a->mode) == mode_settle(b->mode) &&
	       memcmp(a->id, b->id, d->id_size) == 0;
}

static int
directories_compare(struct diff *d, const uint8_t *a, const uint8_t *b, unsigned depth)
{
	struct side left, right;
	int rc = 1;

	if (depth > TREE_DEPTH_MAX || side_begin(d, &left, a) < 0 ||
	    side_begin(d, &right, b) < 0)
		return 0;
	while (rc == 1 && (left.is_there || right.is_there)) {
		struct tree_entry x = left.e, y = right.e;
		bool has_left = left.is_there, has_right = right.is_there;
		int c = !has_left ? 1 : !has_right ? -1 : entry_compare(&x, &y);

		if (c <= 0)
			side_next(d, &left);
		if (c >= 0)
			side_next(d, &right);
		if (c != 0 || !entries_equal(d, &x, &y))
			rc = entry_tell(d, c <= 0 ? &x : NULL, c >= 0 ? &y : NULL, depth);
	}
	return rc;
}

int
tree_diff(struct trees *t, const uint8_t *a, const uint8_t *b, tree_path_fn *path,
	  void *ctx)
{
	struct diff d = {
		.trees = t, .id_size = trees_id_size(t), .path = path, .ctx = ctx
	};
	int rc = 1;

	if (memcmp(a, b, d.id_size) != 0)
		rc = directories_compare(&d, a, b, 0);
	buf_release(&d.at);
	return rc;
}
