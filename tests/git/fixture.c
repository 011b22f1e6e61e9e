/* SPDX-License-Identifier: MIT */
#include "tests/git/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/helper/scratch.h"

void
fixture_enter(void)
{
	const char *home = scratch_enter();

	(void)setenv("HOME", home, 1);
	(void)setenv("XDG_CONFIG_HOME", home, 1);
	(void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	(void)unsetenv("GIT_DIR");
	(void)unsetenv("GIT_INDEX_FILE");
	(void)unsetenv("GIT_WORK_TREE");
	sh("git config --global user.name t && git config --global user.email t@t &&"
	   " git config --global init.defaultBranch main && git init -q r");
	if (chdir("r") < 0)
		abort();
}

void
fixture_leave(void)
{
	scratch_leave();
}

void
sh(const char *command)
{
	char *quiet = NULL;

	if (asprintf(&quiet, "{ %s ; } >/dev/null 2>&1 </dev/null", command) < 0)
		abort();
	cr_assert(system(quiet) == 0, "failed: %s", command);
	free(quiet);
}
