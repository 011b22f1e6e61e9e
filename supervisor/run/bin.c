/* SPDX-License-Identifier: MIT */
#include "supervisor/run/bin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/mem.h"

#define BIN_DIR "node_modules/.bin"

static const char *const runners[] = { "pnpm exec ", "npx ", "bunx " };

/* What follows `pnpm exec ` or its like, or NULL. */
static const char *
command_after_runner(const char *command)
{
	size_t i;

	for (i = 0; i < sizeof(runners) / sizeof(runners[0]); i++) {
		size_t n = strlen(runners[i]);

		if (strncmp(command, runners[i], n) == 0)
			return command + n + strspn(command + n, " ");
	}
	return NULL;
}

/*
 * Length of a plain name that is a shell word by itself: no option, version, scope, quote
 * or expansion. 0 where it is none.
 */
static size_t
word_plain_length(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strspn(s, plain);

	if (s[0] == '-' || s[0] == '.' || strchr(" \t\n;&|<>()", s[n]) == NULL)
		return 0;
	return n;
}

char *
bin_command(const char *command)
{
	const char *word = command_after_runner(command);
	size_t n = word != NULL ? word_plain_length(word) : 0;
	struct stat st;
	char *path, *local;
	bool is_there;

	if (n == 0)
		return xstrdup(command);
	path = xasprintf(BIN_DIR "/%.*s", (int)n, word);
	is_there = stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
	local = is_there ? xasprintf("%s%s", path, word + n) : xstrdup(command);
	free(path);
	return local;
}
