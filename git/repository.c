/* SPDX-License-Identifier: MIT */
#include "git/repository.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc/mem.h"

static bool
shallow_exists(const char *common_dir)
{
	char *path = xasprintf("%s/shallow", common_dir);
	struct stat st;
	bool is_there = stat(path, &st) == 0 && st.st_size > 0;

	free(path);
	return is_there;
}

int
repository_open(const struct tree_key *k, struct repository *ret_repository,
		struct error *err)
{
	struct repository r = REPOSITORY_INIT;

	r.key = k;
	r.place = (struct place){ .root = k->root,
				  .git_dir = k->git_dir,
				  .common_dir = k->common_dir,
				  .is_linked = strcmp(k->git_dir, k->common_dir) != 0 };
	if (settings_read_user(&r.settings, err) < 0 ||
	    settings_read_place(&r.settings, &r.place, err) < 0) {
		settings_release(&r.settings);
		return -1;
	}
	r.is_shallow = shallow_exists(k->common_dir);
	r.objects = objects_new(k->common_dir, r.settings.format);
	*ret_repository = r;
	return 0;
}

void
repository_release(struct repository *r)
{
	objects_free(r->objects);
	settings_release(&r->settings);
	*r = (struct repository)REPOSITORY_INIT;
}

char *
repository_subdir(const struct repository *r, const char *dir, struct error *err)
{
	const char *root = strcmp(r->place.root, "/") == 0 ? "" : r->place.root;
	char *real = realpath(dir, NULL), *subdir = NULL;
	size_t n = strlen(root);

	if (real == NULL)
		(void)error_system(err, "%s", dir);
	else if (strcmp(real, r->place.root) == 0)
		subdir = xstrdup("");
	else if (strncmp(real, root, n) == 0 && real[n] == '/')
		subdir = xstrdup(real + n + 1);
	else
		(void)error_set(err, ERROR_REPO, "%s: is not in the working tree %s",
				real, r->place.root);
	free(real);
	return subdir;
}
