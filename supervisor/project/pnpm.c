/* SPDX-License-Identifier: MIT */
#include "supervisor/project/pnpm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/error.h"
#include "ipc/mem.h"
#include "supervisor/project/yaml.h"

/* Nearest workspace file at or above the working directory, or NULL. */
static char *
pnpm_find_file(void)
{
	char *dir = getcwd(NULL, 0);

	while (dir != NULL && dir[0] == '/') {
		char *path =
		    xasprintf("%s/" PNPM_WORKSPACE_FILE, dir[1] == '\0' ? "" : dir);
		char *slash = strrchr(dir, '/');

		if (access(path, R_OK) == 0) {
			free(dir);
			return path;
		}
		free(path);
		if (dir[1] == '\0')
			break;
		slash[slash == dir ? 1 : 0] = '\0';
	}
	free(dir);
	return NULL;
}

bool
pnpm_sets_verify_deps(void)
{
	struct error ignored = ERROR_INIT;
	char *path = pnpm_find_file();
	struct yaml *y = NULL;
	bool sets = false;

	if (path != NULL && yml_read(path, &y, &ignored) == 0)
		sets = yml_has(y, "verifyDepsBeforeRun");
	yml_free(y);
	free(path);
	return sets;
}
