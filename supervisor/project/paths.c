/* SPDX-License-Identifier: MIT */
#include "supervisor/project/paths.h"

#include <string.h>

#include "ipc/buf.h"

/* Append the parts of a path. False: it leads out. */
static bool
parts_append(struct buf *b, const char *path)
{
	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (n == 2 && strncmp(path, "..", 2) == 0) {
			if (b->len == 0)
				return false;
			while (b->len > 0 && b->data[b->len - 1] != '/')
				b->len--;
			b->len -= b->len > 0;
			b->data[b->len] = '\0';
		} else if (n > 0 && !(n == 1 && *path == '.')) {
			if (b->len > 0)
				buf_putc(b, '/');
			buf_append(b, path, n);
		}
		path += n;
		path += *path == '/';
	}
	return true;
}

char *
path_resolve(const char *from, const char *path)
{
	struct buf b = BUF_INIT;

	if (*path == '/' || !parts_append(&b, from) || !parts_append(&b, path)) {
		buf_release(&b);
		return NULL;
	}
	return buf_steal(&b);
}

bool
path_is_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 &&
	       (n == 0 || path[n] == '/' || path[n] == '\0');
}

const char *
path_below(const char *root, const char *path)
{
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	return path + n + (path[n] == '/');
}
