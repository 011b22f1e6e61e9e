/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/cache.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/ask.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

/* As bford.info/cachedir has it. */
#define CACHE_SIGNATURE "Signature: 8a477f597d28d172789f06886806bc55"

static bool
has_signature(int fd)
{
	char text[sizeof(CACHE_SIGNATURE)];
	int file =
	    openat(fd, "CACHEDIR.TAG", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool has = file >= 0 &&
		   pread(file, text, sizeof(text) - 1, 0) == (ssize_t)sizeof(text) - 1 &&
		   memcmp(text, CACHE_SIGNATURE, sizeof(text) - 1) == 0;

	fd_close(&file);
	return has;
}

static bool
says_so(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool does = fd >= 0 &&
		    (faccessat(fd, "CMakeCache.txt", F_OK, 0) == 0 || has_signature(fd));

	fd_close(&fd);
	return does;
}

/* Git names a directory as one only where all of it is ignored and nothing is tracked. */
static bool
is_ignored(const char *root, const char *path)
{
	const char *const question[] = {
		"ls-files",    "-z", "--others", "--ignored", "--exclude-standard",
		"--directory", "--", path,	 NULL
	};
	struct buf answer = BUF_INIT;
	struct error err = ERROR_INIT;
	size_t n = strlen(path);
	bool is = ask_git(root, question, &answer, &err) == 1 && answer.len == n + 2 &&
		  memcmp(answer.data, path, n) == 0 && answer.data[n] == '/';

	buf_release(&answer);
	return is;
}

bool
cache_is_skipped(const char *root, const char *dir, int parent_fd, const char *name)
{
	char *path;
	bool is;

	if (!says_so(parent_fd, name))
		return false;
	path = xasprintf("%s%s%s", dir, *dir != '\0' ? "/" : "", name);
	is = is_ignored(root, path);
	free(path);
	return is;
}
