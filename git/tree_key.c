/* SPDX-License-Identifier: MIT */
#include "git/tree_key.h"

#include <stdlib.h>
#include <string.h>

#include "git/ask.h"
#include "git/install.h"
#include "git/scan.h"
#include "git/tree_digest.h"
#include "ipc/mem.h"

enum {
	DEPTH_MAX = 64 /* of repositories in repositories */
};

static int key_compute(const char *dir, const struct tree_key_options *options,
		       unsigned depth, struct tree_key *ret_key, struct error *err);

/*
 * Does the index hold anything that HEAD has not?  Asked only for the list of changes:
 * the key covers the index by itself.
 */
static int
staged_ask(struct scan *s, bool *ret_is_staged, struct error *err)
{
	static const char *const arguments[] = {
		"diff-index", "--cached", "--raw", "-z", "--ignore-submodules=dirty",
		"HEAD",	      NULL
	};
	struct buf answer = BUF_INIT;

	if (s->head.is_unborn) {
		*ret_is_staged = s->index.nentries > 0;
		return 0;
	}
	scan_asked(s, "what is staged in a submodule is listed");
	if (ask_git(s->place.root, arguments, &answer, err) != 1)
		return error_wrap(err, "git diff-index");
	*ret_is_staged = answer.len > 0;
	buf_release(&answer);
	return 0;
}

/* The repository that an item stands for. */
static int
inner_compute(struct scan *s, const struct walk_item *item,
	      const struct tree_key_options *options, unsigned depth,
	      struct tree_inner *ret_inner, struct error *err)
{
	char *dir = xasprintf("%s/%s", s->place.root, item->path);
	struct tree_key k = TREE_KEY_INIT;
	struct tree_inner inner = { .is_changed = false };
	int rc;

	rc = key_compute(dir, options, depth + 1, &k, err);
	if (rc == 0 && k.state != TREE_FOUND)
		rc = error_set(err, ERROR_REPO, "%s: vanished", dir);
	if (rc == 0 && k.asked != NULL) {
		char *reason = xasprintf("%s: %s", item->path, k.asked);

		scan_asked(s, reason);
		free(reason);
	}
	if (rc == 0) {
		memcpy(inner.tree, k.tree, DIGEST_SIZE);
		inner.is_changed = k.nchanges > 0 || k.is_staged;
		inner.is_partial = k.is_partial;
		memcpy(inner.absent, k.absent, DIGEST_SIZE);
		memcpy(inner.install, k.install, DIGEST_SIZE);
		inner.hidden = k.hidden;
		inner.nhidden = k.nhidden;
		k.hidden = NULL;
		k.nhidden = 0;
		if (k.head[0] != '\0')
			(void)hex_decode(k.head, strlen(k.head) / 2, inner.head);
		*ret_inner = inner;
	}
	tree_key_release(&k);
	free(dir);
	return rc;
}

/* One for each item; *ret_inner stays NULL when no item is a repository. */
static int
inners_compute(struct scan *s, const struct tree_key_options *options, unsigned depth,
	       struct tree_inner **ret_inner, struct error *err)
{
	const struct walk_result *w = &s->walk;
	size_t i;

	for (i = 0; i < w->nitems; i++) {
		if (!(w->items[i].flags & WALK_REPOSITORY))
			continue;
		if (*ret_inner == NULL)
			*ret_inner = xcalloc(w->nitems, sizeof(**ret_inner));
		if (inner_compute(s, &w->items[i], options, depth, &(*ret_inner)[i],
				  err) < 0)
			return -1;
	}
	return 0;
}

static void
inners_free(struct tree_inner *inner, size_t n)
{
	size_t i, k;

	for (i = 0; inner != NULL && i < n; i++) {
		for (k = 0; k < inner[i].nhidden; k++) {
			free(inner[i].hidden[k].path);
			free(inner[i].hidden[k].text);
		}
		free(inner[i].hidden);
	}
	free(inner);
}

/*
 * Is the item a change, and which?  A submodule at its commit, with nothing changed in
 * it, is none; a repository with no commit yet cannot stand where a file was.
 */
static bool
change_judge(const struct scan *s, const struct walk_item *item,
	     const struct tree_inner *inner, bool want_unlisted,
	     enum tree_change_kind *ret_kind)
{
	static const uint8_t none[OBJECT_ID_MAX];
	size_t id_size = object_format_size(s->settings.format);

	*ret_kind = item->kind;
	if (item->dropped || ((item->flags & WALK_UNLISTED) && !want_unlisted))
		return false;
	if (!(item->flags & WALK_REPOSITORY) || inner == NULL)
		return true;
	if ((item->kind == TREE_CHANGE_TYPE || item->kind == TREE_CHANGE_ADDED) &&
	    memcmp(inner->head, none, id_size) == 0)
		*ret_kind = TREE_CHANGE_DELETED;
	if (item->kind != TREE_CHANGE_MODIFIED)
		return true;
	return inner->is_changed ||
	       memcmp(inner->head, s->index.entries[item->entry].id, id_size) != 0;
}

static int
change_compare(const void *a, const void *b)
{
	const struct tree_change *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c != 0 ? c : (int)x->kind - (int)y->kind;
}

static void
changes_fill(struct tree_key *k, const struct scan *s, const struct tree_inner *inner,
	     bool want_unlisted)
{
	const struct walk_result *w = &s->walk;
	size_t i;

	k->changes = xreallocarray(NULL, w->nitems + 1, sizeof(*k->changes));
	for (i = 0; i < w->nitems; i++) {
		enum tree_change_kind kind;

		if (!change_judge(s, &w->items[i], inner == NULL ? NULL : &inner[i],
				  want_unlisted, &kind))
			continue;
		k->changes[k->nchanges++] =
		    (struct tree_change){ .path = xstrdup(w->items[i].path),
					  .kind = kind };
	}
	if (k->nchanges > 1)
		qsort(k->changes, k->nchanges, sizeof(*k->changes), change_compare);
}

static bool
has_link(const struct scan *s, size_t entry)
{
	return s->index.entries[entry].mode == INDEX_MODE_LINK &&
	       s->walk.states[entry] == WALK_CLEAN;
}

static void
links_fill(struct tree_key *k, const struct scan *s)
{
	const struct walk_result *w = &s->walk;
	size_t room = 0, i;

	for (i = 0; i < s->index.nentries + w->nitems; i++) {
		const struct walk_item *item = NULL;
		const char *path;

		if (i < s->index.nentries) {
			if (!has_link(s, i))
				continue;
			path = s->index.entries[i].path;
		} else {
			item = &w->items[i - s->index.nentries];
			if (item->mode != INDEX_MODE_LINK || item->dropped)
				continue;
			path = item->path;
		}
		k->links = xgrow(k->links, k->nlinks + 1, &room, sizeof(*k->links));
		k->links[k->nlinks++] = xstrdup(path);
	}
}

static void
hidden_add(struct tree_key *k, size_t *room, char *path, char *text)
{
	k->hidden = xgrow(k->hidden, k->nhidden + 1, room, sizeof(*k->hidden));
	k->hidden[k->nhidden++] = (struct tree_hidden){ path, text };
}

static void
hidden_fill(struct tree_key *k, const struct scan *s, struct tree_inner *inner)
{
	const struct walk_result *w = &s->walk;
	size_t raw = 0, room = 0, i, n;

	for (i = 0; i < s->index.nentries && (w->nraws > 0 || w->odd_modes); i++) {
		bool has_raw = raw < w->nraws && w->raws[raw].entry == i;
		bool is_odd = w->odd_modes != NULL && w->odd_modes[i];
		char hex[DIGEST_HEX_SIZE] = "";

		if (has_raw)
			hex_encode(w->raws[raw++].id, OBJECT_ID_MAX, hex);
		if (has_raw || is_odd)
			hidden_add(k, &room, xstrdup(s->index.entries[i].path),
				   xasprintf("%s%s", hex, is_odd ? "+x" : ""));
	}
	for (i = 0; inner != NULL && i < w->nitems; i++) {
		struct walk_item *item = &w->items[i];
		int len = (int)item->len - (item->path[item->len - 1] == '/');

		for (n = 0; n < inner[i].nhidden; n++) {
			struct tree_hidden *h = &inner[i].hidden[n];

			hidden_add(k, &room,
				   xasprintf("%.*s/%s", len, item->path, h->path),
				   h->text);
			free(h->path);
		}
		free(inner[i].hidden);
		inner[i].hidden = NULL;
		inner[i].nhidden = 0;
	}
}

static char *
steal(char **s)
{
	char *taken = *s;

	*s = NULL;
	return taken;
}

/* A submodule that is not checked out: a repository that is one has an item. */
static bool
entry_is_absent(const struct scan *s, size_t at)
{
	return s->index.entries[at].mode == INDEX_MODE_GITLINK &&
	       s->walk.states[at] == WALK_CLEAN;
}

/* What is not on disk, and is as it should be, here and in the repositories inside. */
static void
key_fill_left_out(struct tree_key *k, const struct scan *s,
		  const struct tree_inner *inner)
{
	static const uint8_t none[DIGEST_SIZE];
	bool is_absent = false;
	struct digest d;
	size_t i;

	digest_init(&d);
	for (i = 0; i < s->index.nentries; i++) {
		k->is_partial = k->is_partial || s->walk.states[i] == WALK_LEFT_OUT;
		if (!entry_is_absent(s, i))
			continue;
		digest_add(&d, s->index.entries[i].path, s->index.entries[i].len + 1);
		is_absent = true;
	}
	for (i = 0; inner != NULL && i < s->walk.nitems; i++) {
		k->is_partial = k->is_partial || inner[i].is_partial;
		if (memcmp(inner[i].absent, none, DIGEST_SIZE) == 0)
			continue;
		digest_add(&d, s->walk.items[i].path, s->walk.items[i].len + 1);
		digest_add(&d, inner[i].absent, DIGEST_SIZE);
		is_absent = true;
	}
	if (is_absent)
		digest_end(&d, k->absent);
}

static void
key_fill(struct tree_key *k, struct scan *s, const struct tree_inner *inner)
{
	if (s->state == TREE_FOUND)
		key_fill_left_out(k, s, inner);
	k->state = s->state;
	k->root = steal(&s->place.root);
	k->git_dir = steal(&s->place.git_dir);
	k->common_dir = steal(&s->place.common_dir);
	k->why = steal(&s->why);
	k->asked = steal(&s->asked);
	k->nentries = s->index.nentries;
	k->nstale = s->walk.nstale;
	if (s->state == TREE_FOUND && !s->head.is_unborn)
		hex_encode(s->head.id, object_format_size(s->settings.format), k->head);
	if (s->index.tree != NULL)
		hex_encode(s->index.tree, object_format_size(s->settings.format),
			   k->index);
}

/*
 * The installs of the tree, and those of the repositories inside.  The place that was
 * asked for has one of its own, even where git ignores it.
 */
static void
install_find(const struct scan *s, const char *dir, const struct tree_inner *inner,
	     uint8_t ret[DIGEST_SIZE])
{
	static const uint8_t none[DIGEST_SIZE];
	const struct walk_result *w = &s->walk;
	const char *root = s->place.root;
	char *real = realpath(dir, NULL);
	bool has_inner = false;
	struct digest d;
	size_t i;

	install_digest(root, w->install_dirs, w->ninstall_dirs,
		       real != NULL && strcmp(real, root) != 0 ? real : NULL, ret);
	free(real);
	digest_init(&d);
	digest_add(&d, ret, DIGEST_SIZE);
	for (i = 0; inner != NULL && i < w->nitems; i++) {
		if (memcmp(inner[i].install, none, DIGEST_SIZE) == 0)
			continue;
		digest_add(&d, w->items[i].path, w->items[i].len + 1);
		digest_add(&d, inner[i].install, DIGEST_SIZE);
		has_inner = true;
	}
	if (has_inner)
		digest_end(&d, ret);
}

static int
key_compute(const char *dir, const struct tree_key_options *options, unsigned depth,
	    struct tree_key *ret_key, struct error *err)
{
	struct scan s = SCAN_INIT;
	struct tree_key k = TREE_KEY_INIT;
	struct tree_inner *inner = NULL;
	int rc = -1;

	if (depth > DEPTH_MAX)
		return error_set(err, ERROR_REPO,
				 "%s: too many repositories in each other", dir);
	if (scan_run(dir, options, depth > 0, &s, err) < 0)
		return -1;
	if (s.state == TREE_FOUND) {
		if (inners_compute(&s, options, depth, &inner, err) < 0 ||
		    tree_digest(&s, inner, k.tree, err) < 0)
			goto out;
		if (s.head_tree != NULL && head_tree_asked(s.head_tree))
			scan_asked(&s, "HEAD's trees cannot be read here");
		if (options->want_changes)
			changes_fill(&k, &s, inner, options->want_unlisted);
		if (options->want_changes && depth == 0)
			links_fill(&k, &s);
		if (options->want_changes)
			hidden_fill(&k, &s, inner);
		install_find(&s, dir, inner, k.install);
		/* Of an inner tree only whether there are any is asked. */
		if (options->want_changes && depth > 0 && k.nchanges == 0 &&
		    staged_ask(&s, &k.is_staged, err) < 0)
			goto out;
	}
	key_fill(&k, &s, inner);
	*ret_key = k;
	k = (struct tree_key)TREE_KEY_INIT;
	rc = 0;
out:
	tree_key_release(&k);
	inners_free(inner, s.walk.nitems);
	scan_release(&s);
	return rc;
}

/* Tree and install in one. */
static void
key_finish(struct tree_key *k)
{
	uint8_t key[DIGEST_SIZE];
	struct digest d;

	digest_init(&d);
	digest_add(&d, k->tree, DIGEST_SIZE);
	digest_add(&d, k->install, DIGEST_SIZE);
	digest_end(&d, key);
	hex_encode(key, DIGEST_SIZE, k->hex);
}

int
tree_key_compute(const char *dir, const struct tree_key_options *options,
		 struct tree_key *ret_key, struct error *err)
{
	static const struct tree_key_options usual;

	if (key_compute(dir, options == NULL ? &usual : options, 0, ret_key, err) < 0)
		return -1;
	if (ret_key->state == TREE_FOUND)
		key_finish(ret_key);
	return 0;
}

void
tree_key_release(struct tree_key *k)
{
	size_t i;

	for (i = 0; i < k->nchanges; i++)
		free(k->changes[i].path);
	for (i = 0; i < k->nlinks; i++)
		free(k->links[i]);
	for (i = 0; i < k->nhidden; i++) {
		free(k->hidden[i].path);
		free(k->hidden[i].text);
	}
	free(k->hidden);
	free(k->changes);
	free(k->links);
	free(k->root);
	free(k->git_dir);
	free(k->common_dir);
	free(k->why);
	free(k->asked);
	*k = (struct tree_key)TREE_KEY_INIT;
}
