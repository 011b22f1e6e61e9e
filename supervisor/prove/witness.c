/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/index.h"
#include "git/tree_key.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"

void
index_digest(const char *git_dir, char ret_hex[DIGEST_HEX_SIZE])
{
	struct index index = INDEX_INIT;
	struct error err = ERROR_INIT;
	uint8_t bytes[DIGEST_SIZE];
	struct digest d;
	size_t i;

	ret_hex[0] = '\0';
	/* The format decides only where the names lie: a wrong one is an unsound index.
	 */
	if (index_read(git_dir, OBJECT_FORMAT_SHA1, &index, &err) < 0 &&
	    index_read(git_dir, OBJECT_FORMAT_SHA256, &index, &err) < 0)
		return;
	digest_init(&d);
	for (i = 0; i < index.nentries; i++) {
		const struct index_entry *e = &index.entries[i];

		digest_add_u32(&d, e->len);
		digest_add(&d, e->path, e->len);
		digest_add_u32(&d, e->mode);
		digest_add_u32(&d, (uint32_t)e->stage << 8 | e->flags);
		digest_add(&d, e->id, 20);
	}
	digest_end(&d, bytes);
	hex_encode(bytes, sizeof(bytes), ret_hex);
	index_release(&index);
}

static int
witness_take_key(const struct ground *g, struct witness *w, struct error *err)
{
	struct tree_key_options options = { 0 };
	struct tree_key key = TREE_KEY_INIT;

	/* Copies that lie in the tree are no part of it, but the key does not know. */
	if (g->git_dir == NULL || path_lies_in(g->tmp, g->root))
		return 0;
	if (tree_key_compute(g->dir, &options, &key, err) < 0)
		return -1;
	if (key.state == TREE_FOUND)
		(void)snprintf(w->key, sizeof(w->key), "%s", key.hex);
	tree_key_release(&key);
	return 0;
}

static int
witness_take_git(const struct ground *g, struct witness *w, struct error *err)
{
	index_digest(g->git_dir, w->index);
	if (!path_lies_in(g->common_dir, g->root) &&
	    manifest_take_git(g->common_dir, &w->common, err) < 0)
		return -1;
	if (strcmp(g->git_dir, g->common_dir) == 0 || path_lies_in(g->git_dir, g->root))
		return 0;
	return manifest_take_git(g->git_dir, &w->own, err);
}

int
witness_take(const struct ground *g, bool want_deep, struct witness *ret_witness,
	     struct error *err)
{
	struct witness w = WITNESS_INIT;

	if (witness_take_key(g, &w, err) < 0)
		goto fail;
	w.is_deep = want_deep || w.key[0] == '\0';
	if (w.is_deep && manifest_take_strict(g->root, &w.tree, err) < 0)
		goto fail;
	if (w.is_deep && g->git_dir != NULL && witness_take_git(g, &w, err) < 0)
		goto fail;
	*ret_witness = w;
	return 0;
fail:
	witness_release(&w);
	return -1;
}

/* Any trace of a write is one. */
static bool
any_is_change(void *ctx, const struct manifest_entry *before,
	      const struct manifest_entry *after)
{
	(void)ctx;
	(void)before;
	(void)after;
	return true;
}

static bool
manifest_agrees(const struct manifest *before, const struct manifest *after, char *what,
		size_t size)
{
	struct changes changes = CHANGES_INIT;
	bool agrees;
	char *clean;

	manifest_compare(before, after, any_is_change, NULL, &changes);
	agrees = changes.count == 0;
	if (!agrees) {
		clean = text_clean(changes.paths[0], strlen(changes.paths[0]));
		(void)snprintf(what, size, "%s", clean);
		free(clean);
	}
	changes_release(&changes);
	return agrees;
}

bool
witness_agrees(const struct witness *before, const struct witness *after, char *what,
	       size_t size)
{
	what[0] = '\0';
	if (before->is_deep && after->is_deep) {
		if (!manifest_agrees(&before->tree, &after->tree, what, size) ||
		    !manifest_agrees(&before->common, &after->common, what, size) ||
		    !manifest_agrees(&before->own, &after->own, what, size))
			return false;
		if (strcmp(before->index, after->index) != 0) {
			(void)snprintf(what, size, "git's index");
			return false;
		}
	}
	return strcmp(before->key, after->key) == 0;
}

void
witness_release(struct witness *w)
{
	manifest_release(&w->tree);
	manifest_release(&w->common);
	manifest_release(&w->own);
	*w = (struct witness)WITNESS_INIT;
}
