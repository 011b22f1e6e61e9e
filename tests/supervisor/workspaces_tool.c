/* SPDX-License-Identifier: MIT */
/*
 * Prints the workspaces of a directory, each path ended by a NUL: for the test that
 * compares them with what the package managers say.
 */
#include <stdio.h>

#include "supervisor/project/workspace.h"

int
main(int argc, char *argv[])
{
	struct workspace_list list = WORKSPACE_LIST_INIT;
	struct error e = ERROR_INIT;
	size_t i;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: workspaces_tool DIRECTORY\n");
		return 2;
	}
	if (workspace_list_load(argv[1], &list, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	for (i = 0; i < list.nitems; i++)
		(void)printf("%s%c", list.items[i].path, '\0');
	workspace_list_release(&list);
	return 0;
}
