/* SPDX-License-Identifier: MIT */
#include "supervisor/green/moves.h"

#include <stdlib.h>
#include <string.h>

#include "git/changed.h"
#include "git/mark.h"
#include "git/repository.h"

/* 1 the tree is HEAD's, 0 it is not, -1. */
static int
tree_is_heads(const struct config *c, const struct repository *r, const char *subdir,
	      struct error *err)
{
	const char *head = r->key->head;
	struct changed changed = CHANGED_INIT;
	int rc = 1;
	size_t i;

	if (changed_find(r, &head, 1, &changed, err) < 0)
		return -1;
	for (i = 0; i < changed.npaths && rc == 1; i++) {
		char *path = path_from(subdir, changed.paths[i]);

		if (!config_is_document(c, path))
			rc = 0;
		free(path);
	}
	changed_release(&changed);
	return rc;
}

static int
mark_move_to_head(const struct repository *r, const char *tier, const char *subdir,
		  const struct key *k, struct error *err)
{
	char *name = mark_name(tier, subdir);
	struct mark_parts parts = MARK_PARTS_INIT;
	struct mark from = MARK_INIT;
	int rc;

	mark_read(r, name, &from);
	key_to_parts(k, &parts);
	rc = mark_move(r, name, &from, k->tree.head, &parts, "geonosis: green", err);
	mark_parts_release(&parts);
	free(name);
	return rc < 0 ? -1 : 1;
}

int
moves_to_head(const struct config *c, const char *tier, const struct key *k,
	      struct error *err)
{
	struct repository r = REPOSITORY_INIT;
	char *subdir = NULL;
	int rc = -1;

	/* Of what a sparse checkout leaves out nothing was seen. */
	if (!k->is_there || k->tree.head[0] == '\0' || k->tree.is_partial)
		return 0;
	if (repository_open(&k->tree, &r, err) < 0)
		goto out;
	subdir = repository_subdir(&r, ".", err);
	if (subdir == NULL)
		goto out;
	rc = tree_is_heads(c, &r, subdir, err);
	if (rc == 1)
		rc = mark_move_to_head(&r, tier, subdir, k, err);
out:
	free(subdir);
	repository_release(&r);
	return rc;
}
