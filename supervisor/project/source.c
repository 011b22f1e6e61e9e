/* SPDX-License-Identifier: MIT */
#include "supervisor/project/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"

static const char *
disk_root(void *ctx)
{
	return (const char *)ctx;
}

static char *
disk_path(void *ctx, const char *path)
{
	if (*path == '\0')
		return xstrdup(disk_root(ctx));
	return xasprintf("%s/%s", disk_root(ctx), path);
}

static enum source_kind
kind_of_mode(mode_t mode)
{
	if (S_ISREG(mode))
		return SOURCE_FILE;
	return S_ISDIR(mode) ? SOURCE_DIRECTORY : SOURCE_OTHER;
}

/* What a name in a directory is, links followed. */
static enum source_kind
kind_at(int dir, const char *name)
{
	struct stat st;
	bool is_link;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return SOURCE_NONE;
	is_link = S_ISLNK(st.st_mode);
	if (is_link && fstatat(dir, name, &st, 0) < 0)
		return SOURCE_NONE;
	if (is_link && S_ISDIR(st.st_mode))
		return SOURCE_LINK_TO_DIRECTORY;
	return kind_of_mode(st.st_mode);
}

static enum source_kind
disk_kind(void *ctx, const char *path)
{
	char *full = disk_path(ctx, path);
	enum source_kind kind = kind_at(AT_FDCWD, full);

	free(full);
	return kind;
}

static enum source_kind
entry_kind(int dir, const struct dirent *e)
{
	switch (e->d_type) {
	case DT_REG:
		return SOURCE_FILE;
	case DT_DIR:
		return SOURCE_DIRECTORY;
	case DT_LNK:
	case DT_UNKNOWN:
		return kind_at(dir, e->d_name);
	default:
		return SOURCE_OTHER;
	}
}

static int
disk_list(void *ctx, const char *dir, source_entry_fn *entry, void *entry_ctx,
	  struct error *err)
{
	char *full = disk_path(ctx, dir);
	DIR *d = opendir(full);
	const struct dirent *e;
	int rc = 0;

	if (d == NULL) {
		/* Gone meanwhile, or a link to nothing: it has no entries. */
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			rc = error_system(err, "%s", *dir == '\0' ? "." : dir);
		free(full);
		return rc;
	}
	errno = 0;
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			entry(entry_ctx, e->d_name, entry_kind(dirfd(d), e));
		errno = 0;
	}
	if (errno != 0)
		rc = error_system(err, "%s", *dir == '\0' ? "." : dir);
	(void)closedir(d);
	free(full);
	return rc;
}

static int
disk_read(void *ctx, const char *path, size_t max, struct buf *ret_content,
	  struct error *err)
{
	char *full = disk_path(ctx, path);
	struct error inner = ERROR_INIT;
	int rc = file_read(full, max, ret_content, &inner);

	if (rc < 0) {
		/* The path that the user knows, not the one that was opened. */
		size_t n = strlen(full);

		*err = inner;
		if (strncmp(inner.text, full, n) == 0) {
			err->text[0] = '\0';
			(void)error_set(err, inner.kind, "%s%s", path, inner.text + n);
			err->errnum = inner.errnum;
		}
	}
	free(full);
	return rc;
}

static char *
disk_real(void *ctx, const char *path)
{
	char *full = disk_path(ctx, path);
	char *root = realpath(disk_root(ctx), NULL);
	char *real = realpath(full, NULL);
	char *inside = NULL;
	size_t n;

	if (root != NULL && real != NULL) {
		n = strcmp(root, "/") == 0 ? 0 : strlen(root);
		if (strncmp(real, root, n) == 0 && (real[n] == '/' || real[n] == '\0'))
			inside = xstrdup(real + n + (real[n] == '/'));
	}
	free(root);
	free(real);
	free(full);
	return inside;
}

struct source
source_of_disk(const char *root)
{
	union {
		const char *from;
		void *to;
	} u = { .from = root };

	return (struct source){ .ctx = u.to,
				.kind = disk_kind,
				.list = disk_list,
				.read = disk_read,
				.real = disk_real };
}
