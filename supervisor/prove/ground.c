/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/ground.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/place.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"

static const struct {
	const char *name;
	enum ground_wish wish;
} wishes[] = {
	{ "overlay", GROUND_OVERLAY },
	{ "portable", GROUND_PORTABLE },
	{ "bare", GROUND_BARE },
};

static int
ground_read_wish(enum ground_wish *ret_wish, struct error *err)
{
	const char *text = getenv(GROUND_COPY_VARIABLE);
	char *clean;
	size_t i;

	*ret_wish = GROUND_ANY;
	if (text == NULL || *text == '\0')
		return 0;
	for (i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (strcmp(text, wishes[i].name) == 0) {
			*ret_wish = wishes[i].wish;
			return 0;
		}
	}
	clean = text_clean(text, strlen(text));
	(void)error_set(err, ERROR_USAGE,
			GROUND_COPY_VARIABLE
			": \"%s\" is no kind of copy; overlay, portable or bare",
			clean);
	free(clean);
	return -1;
}

bool
path_lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	/* Only of the root directory does the name itself end in a slash. */
	if (n == 1)
		return path[0] == '/';
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int
ground_find_root(struct ground *g, struct error *err)
{
	struct place place = PLACE_INIT;
	int rc = place_find(".", &place, err);

	if (rc < 0)
		return -1;
	if (rc > 0 && path_lies_in(g->dir, place.root)) {
		g->root = xstrdup(place.root);
		g->git_dir = realpath(place.git_dir, NULL);
		g->common_dir = realpath(place.common_dir, NULL);
	} else {
		g->root = xstrdup(g->dir);
	}
	place_release(&place);
	if (strcmp(g->root, "/") == 0)
		return error_set(
		    err, ERROR_USAGE,
		    "prove: the tree is the root directory: there is no copy "
		    "of that");
	g->rel = g->dir + strlen(g->root);
	g->rel += strspn(g->rel, "/");
	return 0;
}

int
ground_find(struct ground *ret_ground, struct error *err)
{
	struct ground g = GROUND_INIT;
	const char *tmp = getenv("TMPDIR");

	if (tmp == NULL || *tmp == '\0')
		tmp = "/tmp";
	if (ground_read_wish(&g.wish, err) < 0)
		return -1;
	g.dir = realpath(".", NULL);
	g.tmp = realpath(tmp, NULL);
	if (g.dir == NULL)
		(void)error_system(err, "the working directory");
	else if (g.tmp == NULL)
		(void)error_system(err, "TMPDIR: %s", tmp);
	else if (ground_find_root(&g, err) == 0) {
		*ret_ground = g;
		return 0;
	}
	ground_release(&g);
	return -1;
}

void
ground_release(struct ground *g)
{
	if (g == NULL)
		return;
	free(g->root);
	free(g->dir);
	free(g->git_dir);
	free(g->common_dir);
	free(g->tmp);
	*g = (struct ground)GROUND_INIT;
}
