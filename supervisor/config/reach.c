/* SPDX-License-Identifier: MIT */
#include "supervisor/config/reach.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc/mem.h"

/* How many levels above its start a path climbs at its highest. */
static long
reach_climbs(const char *path)
{
	long level = 0, highest = 0;
	size_t n;

	for (; *path != '\0'; path += n) {
		if (*path == '/') {
			n = 1;
			continue;
		}
		n = strcspn(path, "/");
		if (n == 2 && path[0] == '.' && path[1] == '.')
			level--;
		else if (n != 1 || path[0] != '.')
			level++;
		if (level < highest)
			highest = level;
	}
	return -highest;
}

/* How many levels the top of the repository is above the directory. */
static long
reach_levels(const char *dir)
{
	char *path = realpath(dir, NULL), *mark;
	struct stat st;
	long levels = 0;
	bool found = false;

	while (path != NULL) {
		mark = xasprintf("%s/.git", path);
		found = stat(mark, &st) == 0;
		free(mark);
		if (found || *path == '\0')
			break;
		*strrchr(path, '/') = '\0';
		levels++;
	}
	free(path);
	return found ? levels : 0;
}

bool
reach_is_outside(const char *dir, const char *path)
{
	long climbs;

	if (*path == '/')
		return true;
	climbs = reach_climbs(path);
	return climbs > 0 && (dir == NULL || climbs > reach_levels(dir));
}
