/* SPDX-License-Identifier: MIT */
#include "git/install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"

/* The file's content; where it cannot be read, its stat data. */
static void
record_add(struct digest *d, const char *name, int fd, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	char chunk[65536];
	ssize_t n;

	digest_add(d, name, strlen(name) + 1);
	digest_add_u32(d, (uint32_t)(size >> 32));
	digest_add_u32(d, (uint32_t)size);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			digest_add(d, &st->st_mtim, sizeof(st->st_mtim));
			return;
		}
		digest_add(d, chunk, (size_t)n);
	}
}

/* How many records there are; each under its name, within a directory `below` the root.
 */
static unsigned
records_add(struct digest *d, const char *dir, const char *below)
{
	static const char *const names[] = {
		"node_modules/.package-lock.json", /* npm */
		"node_modules/.modules.yaml",	   /* pnpm */
		"node_modules/.pnpm/lock.yaml",	   /* pnpm */
		"node_modules/.yarn-integrity",	   /* yarn 1 */
		"node_modules/.yarn-state.yml",	   /* yarn 2 and later */
	};
	unsigned count = 0;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = xasprintf("%s/%s", dir, names[i]);
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		struct stat st;

		free(path);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			digest_add(d, below, strlen(below) + 1);
			record_add(d, names[i], fd, &st);
			count++;
		}
		fd_close(&fd);
	}
	return count;
}

void
install_digest(const char *root, char *const *dirs, size_t ndirs, const char *below,
	       uint8_t ret[DIGEST_SIZE])
{
	struct digest d;
	unsigned count;
	size_t i;

	digest_init(&d);
	count = records_add(&d, root, "");
	digest_add_u32(&d, 0);
	if (below != NULL)
		count += records_add(&d, below, "");
	digest_add_u32(&d, 0);
	for (i = 0; i < ndirs; i++) {
		char *path;

		if (*dirs[i] == '\0')
			continue; /* the root */
		path = xasprintf("%s/%s", root, dirs[i]);
		count += records_add(&d, path, dirs[i]);
		free(path);
	}
	digest_end(&d, ret);
	if (count == 0)
		memset(ret, 0, DIGEST_SIZE);
}
