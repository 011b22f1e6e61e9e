/* SPDX-License-Identifier: MIT */
#include "supervisor/run/nothing.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

/* Anywhere in a line; vitest 1 to 3, jest 29 and 30, turbo 1 and 2. */
static const char *const words[] = {
	"No test files found", "No affected test files found", "No changed files found",
	"No tests found",      "No tasks were executed",
};

static bool
line_says_nothing(const char *line)
{
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(line, words[i]) != NULL)
			return true;
	return false;
}

static bool
line_says_skip(const char *line)
{
	return strncmp(line, "SKIP", 4) == 0 && !isalnum((unsigned char)line[4]);
}

char *
nothing_said(const char *tail)
{
	char *copy = xstrdup(tail != NULL ? tail : "");
	char *last = NULL, *found = NULL;
	char *save = NULL;
	char *line;

	for (line = strtok_r(copy, "\n", &save); line != NULL && found == NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (line_says_nothing(line))
			found = xstrdup(line);
		if (*line != '\0')
			last = line;
	}
	if (found == NULL && last != NULL && line_says_skip(last))
		found = xstrdup(last);
	free(copy);
	return found;
}
