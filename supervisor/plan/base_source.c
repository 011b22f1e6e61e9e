/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/base_source.h"

#include <errno.h>
#include <stdlib.h>

static enum source_kind
kind_of(enum snapshot_kind kind)
{
	switch (kind) {
	case SNAPSHOT_FILE:
	case SNAPSHOT_EXEC:
		return SOURCE_FILE;
	case SNAPSHOT_DIRECTORY:
		return SOURCE_DIRECTORY;
	case SNAPSHOT_NONE:
		return SOURCE_NONE;
	case SNAPSHOT_LINK:
	case SNAPSHOT_SUBMODULE:
		break;
	}
	return SOURCE_OTHER;
}

/* What a link leads to, within the commit. */
static enum source_kind
kind_of_link(struct snapshot *s, const char *path)
{
	struct error ignored = ERROR_INIT;
	char *real = snapshot_real(s, path);
	enum snapshot_kind kind = SNAPSHOT_NONE;

	if (real == NULL || snapshot_find(s, real, &kind, &ignored) < 0)
		kind = SNAPSHOT_LINK;
	free(real);
	if (kind == SNAPSHOT_DIRECTORY)
		return SOURCE_LINK_TO_DIRECTORY;
	return kind == SNAPSHOT_FILE || kind == SNAPSHOT_EXEC ? SOURCE_FILE
							      : SOURCE_OTHER;
}

static enum source_kind
base_kind(void *ctx, const char *path)
{
	struct error ignored = ERROR_INIT;
	char *real = snapshot_real(ctx, path);
	enum snapshot_kind kind = SNAPSHOT_NONE;
	enum source_kind found = SOURCE_NONE;

	if (snapshot_find(ctx, path, &kind, &ignored) == 0)
		found = kind == SNAPSHOT_LINK ? kind_of_link(ctx, path) : kind_of(kind);
	/* A path that leads through a link. */
	if (found == SOURCE_NONE && real != NULL &&
	    snapshot_find(ctx, real, &kind, &ignored) == 0)
		found = kind_of(kind);
	free(real);
	return found;
}

struct listing {
	struct snapshot *snapshot;
	const char *dir;
	source_entry_fn *entry;
	void *entry_ctx;
};

static void
base_entry(void *ctx, const char *name, enum snapshot_kind kind)
{
	const struct listing *l = ctx;

	l->entry(l->entry_ctx, name,
		 kind == SNAPSHOT_LINK ? SOURCE_OTHER : kind_of(kind));
}

static int
base_list(void *ctx, const char *dir, source_entry_fn *entry, void *entry_ctx,
	  struct error *err)
{
	struct listing l = { ctx, dir, entry, entry_ctx };
	char *real = snapshot_real(ctx, dir);
	int rc = snapshot_list(ctx, real != NULL ? real : dir, base_entry, &l, err);

	free(real);
	return rc;
}

static int
base_read(void *ctx, const char *path, size_t max, struct buf *ret_content,
	  struct error *err)
{
	char *real = snapshot_real(ctx, path);
	int rc = snapshot_read(ctx, real != NULL ? real : path, max, ret_content, err);

	free(real);
	if (rc > 0)
		return 0;
	if (rc == 0) {
		errno = ENOENT;
		return error_system(err, "%s", path);
	}
	return -1;
}

static char *
base_real(void *ctx, const char *path)
{
	return snapshot_real(ctx, path);
}

struct source
source_of_snapshot(struct snapshot *s)
{
	return (struct source){
		.ctx = s,
		.kind = base_kind,
		.list = base_list,
		.read = base_read,
		.real = base_real,
	};
}
