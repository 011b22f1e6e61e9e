/* SPDX-License-Identifier: MIT */
#include "git/snapshot.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/ask.h"
#include "git/commit.h"
#include "git/objects.h"
#include "git/tree.h"
#include "ipc/mem.h"

enum {
	LINKS_MAX = 40,	  /* that are followed for one path */
	TARGET_MAX = 4096 /* bytes of a link's target */
};

enum {
	SNAPSHOT_CURSORS = 16
};

/* The entry that was found last in a tree. */
struct cursor {
	const struct buf *tree;
	const char *at;
};

struct snapshot {
	struct cursor cursors[SNAPSHOT_CURSORS];
	const struct repository *r;
	struct trees *trees;
	size_t id_size;
	bool is_empty; /* there is no such directory in the commit */
	uint8_t top[OBJECT_ID_MAX];
};

/* A blob: here, else asked of git. 0, -1. */
static int
blob_get(const struct snapshot *s, const uint8_t *id, struct buf *ret_content,
	 struct error *err)
{
	struct buf content = BUF_INIT;
	char hex[DIGEST_HEX_SIZE];
	enum object_kind kind;

	if (object_read(s->r->objects, id, &kind, &content) == 1) {
		if (kind == OBJECT_BLOB) {
			*ret_content = content;
			return 0;
		}
		buf_release(&content);
	}
	hex_encode(id, s->id_size, hex);
	return object_ask(s->r->place.root, "blob", hex, ret_content, err) == 1 ? 0 : -1;
}

static enum snapshot_kind
kind_of(uint32_t mode)
{
	switch (mode & 0170000) {
	case 0040000:
		return SNAPSHOT_DIRECTORY;
	case 0100000:
		return mode & 0100 ? SNAPSHOT_EXEC : SNAPSHOT_FILE;
	case 0120000:
		return SNAPSHOT_LINK;
	case 0160000:
		return SNAPSHOT_SUBMODULE;
	default:
		return SNAPSHOT_NONE;
	}
}

static bool
entry_is(const struct tree_entry *e, const char *name, size_t n)
{
	return strncmp(e->name, name, n) == 0 && e->name[n] == '\0';
}

/*
 * Paths are mostly asked for in their order, so the search goes on where the last one in
 * the same tree ended, and begins again only where that finds nothing.
 */
static bool
entry_find(struct snapshot *s, const struct buf *tree, const char *name, size_t n,
	   struct tree_entry *ret_entry)
{
	struct cursor *c =
	    &s->cursors[((uintptr_t)tree / sizeof(*tree)) % SNAPSHOT_CURSORS];
	const char *from = buf_text(tree);
	const char *p = c->tree == tree ? c->at : from;
	const char *stop = p;
	struct tree_entry e;
	bool again = p != from;

	for (;;) {
		const char *begin = p;

		if (!tree_entry_next(s->trees, tree, &p, &e)) {
			if (!again)
				return false;
			again = false;
			p = from;
			continue;
		}
		if (entry_is(&e, name, n)) {
			*c = (struct cursor){ .tree = tree, .at = begin };
			*ret_entry = e;
			return true;
		}
		if (!again && stop != from && p >= stop)
			return false;
	}
}

/*
 * What is at the path, and its id (of a file, a link, a directory). 0; -1 where a tree
 * on the way cannot be read.
 */
static int
path_look(struct snapshot *s, const char *path, enum snapshot_kind *ret_kind,
	  uint8_t *ret_id, struct error *err)
{
	enum snapshot_kind kind = SNAPSHOT_DIRECTORY;
	uint8_t id[OBJECT_ID_MAX] = { 0 };

	memcpy(id, s->top, s->id_size);
	if (s->is_empty)
		kind = SNAPSHOT_NONE;
	while (*path != '\0' && kind != SNAPSHOT_NONE) {
		size_t n = strcspn(path, "/");
		const struct buf *t;
		struct tree_entry e;

		if (kind != SNAPSHOT_DIRECTORY) {
			kind = SNAPSHOT_NONE;
			break;
		}
		t = tree_get(s->trees, id, true, err);
		if (t == NULL)
			return -1;
		if (!entry_find(s, t, path, n, &e)) {
			kind = SNAPSHOT_NONE;
			break;
		}
		kind = kind_of(e.mode);
		memcpy(id, e.id, s->id_size);
		path += n;
		path += *path == '/';
	}
	*ret_kind = kind;
	memcpy(ret_id, id, OBJECT_ID_MAX);
	return 0;
}

int
snapshot_open(const struct repository *r, const char *commit, const char *subdir,
	      struct snapshot **ret_snapshot, struct error *err)
{
	struct snapshot *s = xcalloc(1, sizeof(*s));
	struct commit c = COMMIT_INIT;
	uint8_t id[OBJECT_ID_MAX];
	enum snapshot_kind kind;
	int rc;

	s->r = r;
	s->trees = trees_new(r);
	s->id_size = object_format_size(r->settings.format);
	rc = commit_parse(r, commit, id);
	if (rc < 0)
		(void)error_set(err, ERROR_REPO, "'%s' is no commit id", commit);
	else
		rc = commit_read(r, id, &c, err) == 1 ? 0 : -1;
	if (rc == 0) {
		memcpy(s->top, c.tree, OBJECT_ID_MAX);
		rc = path_look(s, subdir, &kind, s->top, err);
	}
	commit_release(&c);
	if (rc < 0) {
		snapshot_free(s);
		return error_wrap(err, "commit %.12s", commit);
	}
	s->is_empty = kind != SNAPSHOT_DIRECTORY;
	*ret_snapshot = s;
	return 0;
}

void
snapshot_free(struct snapshot *s)
{
	if (s == NULL)
		return;
	trees_free(s->trees);
	free(s);
}

int
snapshot_find(struct snapshot *s, const char *path, enum snapshot_kind *ret_kind,
	      struct error *err)
{
	uint8_t id[OBJECT_ID_MAX];

	return path_look(s, path, ret_kind, id, err);
}

int
snapshot_list(struct snapshot *s, const char *dir, snapshot_entry_fn *entry, void *ctx,
	      struct error *err)
{
	uint8_t id[OBJECT_ID_MAX];
	enum snapshot_kind kind;
	const struct buf *t;
	const char *p;
	struct tree_entry e;

	if (path_look(s, dir, &kind, id, err) < 0)
		return -1;
	if (kind != SNAPSHOT_DIRECTORY)
		return error_set(err, ERROR_REPO, "%s: no such directory in the commit",
				 *dir == '\0' ? "." : dir);
	t = tree_get(s->trees, id, true, err);
	if (t == NULL)
		return -1;
	p = buf_text(t);
	while (tree_entry_next(s->trees, t, &p, &e))
		entry(ctx, e.name, kind_of(e.mode));
	return 0;
}

struct search {
	struct snapshot *s;
	const char *name;
	snapshot_path_fn *found;
	void *ctx;
	struct buf path; /* of the directory that is searched, with a final '/' */
};

/* Directories in each other as deep as TREE_DEPTH_MAX. */
static int
tree_search(struct search *q, const uint8_t *id, unsigned depth, struct error *err)
{
	const struct buf *t = tree_get(q->s->trees, id, true, err);
	size_t len = q->path.len;
	const char *p;
	struct tree_entry e;

	if (t == NULL)
		return -1;
	if (depth > TREE_DEPTH_MAX)
		return error_set(err, ERROR_DATA, "directories too deep in each other");
	p = buf_text(t);
	while (tree_entry_next(q->s->trees, t, &p, &e)) {
		enum snapshot_kind kind = kind_of(e.mode);
		int rc = 0;

		buf_puts(&q->path, e.name);
		if (kind == SNAPSHOT_DIRECTORY) {
			buf_putc(&q->path, '/');
			rc = tree_search(q, e.id, depth + 1, err);
		} else if (kind != SNAPSHOT_SUBMODULE && strcmp(e.name, q->name) == 0) {
			q->found(q->ctx, q->path.data);
		}
		q->path.data[len] = '\0';
		q->path.len = len;
		if (rc < 0)
			return -1;
	}
	return 0;
}

int
snapshot_search(struct snapshot *s, const char *name, snapshot_path_fn *found, void *ctx,
		struct error *err)
{
	struct search q = { .s = s, .name = name, .found = found, .ctx = ctx };
	int rc = s->is_empty ? 0 : tree_search(&q, s->top, 0, err);

	buf_release(&q.path);
	return rc;
}

int
snapshot_read(struct snapshot *s, const char *path, size_t max, struct buf *ret_content,
	      struct error *err)
{
	struct buf content = BUF_INIT;
	uint8_t id[OBJECT_ID_MAX];
	enum snapshot_kind kind;

	if (path_look(s, path, &kind, id, err) < 0)
		return error_wrap(err, "%s", path);
	if (kind != SNAPSHOT_FILE && kind != SNAPSHOT_EXEC && kind != SNAPSHOT_LINK)
		return 0;
	if (blob_get(s, id, &content, err) < 0)
		return error_wrap(err, "%s", path);
	if (content.len > max) {
		buf_release(&content);
		return error_set(err, ERROR_DATA, "%s: is larger than %zu bytes", path,
				 max);
	}
	*ret_content = content;
	return 1;
}

/* Cut the last part off; false where there is none. */
static bool
parent_take(struct buf *at)
{
	const char *slash;

	if (at->len == 0)
		return false;
	slash = memrchr(at->data, '/', at->len);
	at->len = slash == NULL ? 0 : (size_t)(slash - at->data);
	at->data[at->len] = '\0';
	return true;
}

/*
 * Take one more part of the way: 1, 0 where it leads nowhere, -1.  The target of a link
 * goes in front of what is left to go.
 */
static int
part_take(struct snapshot *s, struct buf *at, struct buf *rest, unsigned *links)
{
	size_t n = strcspn(buf_text(rest), "/"), len = at->len;
	struct error ignored = ERROR_INIT;
	struct buf target = BUF_INIT;
	enum snapshot_kind kind;
	char *part = xstrndup(buf_text(rest), n);
	int rc = 1;

	rest->len -= n + (rest->data[n] == '/');
	memmove(rest->data, rest->data + n + (rest->data[n] == '/'), rest->len + 1);
	if (n == 0 || strcmp(part, ".") == 0)
		goto out;
	if (strcmp(part, "..") == 0) {
		rc = parent_take(at);
		goto out;
	}
	if (len > 0)
		buf_putc(at, '/');
	buf_puts(at, part);
	if (snapshot_find(s, at->data, &kind, &ignored) < 0 || kind == SNAPSHOT_NONE) {
		rc = 0;
	} else if (kind == SNAPSHOT_LINK) {
		rc = 0;
		if (++*links > LINKS_MAX ||
		    snapshot_read(s, at->data, TARGET_MAX, &target, &ignored) != 1)
			goto out;
		rc = target.len > 0 && *target.data != '/' &&
		     strlen(target.data) == target.len;
		buf_putc(&target, '/');
		buf_append(&target, buf_text(rest), rest->len);
		buf_clear(rest);
		buf_append(rest, target.data, target.len);
		at->data[len] = '\0';
		at->len = len;
	}
out:
	buf_release(&target);
	free(part);
	return rc;
}

char *
snapshot_real(struct snapshot *s, const char *path)
{
	struct buf at = BUF_INIT, rest = BUF_INIT;
	unsigned links = 0;
	char *real = NULL;
	int rc = !s->is_empty;

	buf_append(&at, "", 0);
	buf_puts(&rest, path);
	while (rc == 1 && rest.len > 0)
		rc = part_take(s, &at, &rest, &links);
	if (rc == 1)
		real = at.data == NULL ? xstrdup("") : buf_steal(&at);
	buf_release(&at);
	buf_release(&rest);
	return real;
}
