/* SPDX-License-Identifier: MIT */
/*
 * A line as a glob, the rest as a path: refused, or matched; where fnmatch(3) knows
 * the same dialect (ASCII, no braces, no `**`), matched as it does.
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
text_is_ascii(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

static bool
fnmatch_knows(const char *glob, const char *path)
{
	size_t n = strlen(glob);

	return text_is_ascii(glob) && text_is_ascii(path) &&
	       strpbrk(glob, "{}") == NULL && strstr(glob, "**") == NULL &&
	       strncmp(glob, "./", 2) != 0 && glob[n - 1] != '/';
}

static void
glob_check(const char *text, const char *path)
{
	struct error err = ERROR_INIT;
	struct glob *g;
	bool matches;

	if (glob_compile(text, &g, &err) < 0) {
		if (strncmp(err.text, "offset ", 7) != 0)
			abort();
		return;
	}
	matches = glob_matches(g, path, strlen(path));
	if (fnmatch_knows(text, path) &&
	    matches != (fnmatch(text, path, FNM_PATHNAME | FNM_NOESCAPE) == 0))
		abort();
	glob_free(g);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t n = line != NULL ? (size_t)(line - data) : size;
	char *text = xstrndup((const char *)data, n);
	char *path = line != NULL ? xstrndup((const char *)line + 1, size - n - 1)
				  : xstrdup("a/b.c");

	glob_check(text, path);
	free(text);
	free(path);
	return 0;
}
