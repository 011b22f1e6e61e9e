/* SPDX-License-Identifier: MIT */
#include "tests/git/opened.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"

struct opened *
opened_new(const char *dir)
{
	struct tree_key_options options = { .want_changes = true, .want_unlisted = true };
	struct opened *o = xcalloc(1, sizeof(*o));
	struct error e = ERROR_INIT;

	o->key = (struct tree_key)TREE_KEY_INIT;
	o->repository = (struct repository)REPOSITORY_INIT;
	cr_assert(tree_key_compute(dir, &options, &o->key, &e) == 0, "%s", e.text);
	cr_assert(o->key.state == TREE_FOUND, "%s",
		  o->key.why == NULL ? "?" : o->key.why);
	cr_assert(repository_open(&o->key, &o->repository, &e) == 0, "%s", e.text);
	return o;
}

void
opened_free(struct opened *o)
{
	repository_release(&o->repository);
	tree_key_release(&o->key);
	free(o);
}

char *
out(const char *command)
{
	struct buf b = BUF_INIT;
	FILE *f = popen(command, "re");
	char chunk[4096];
	size_t n;

	cr_assert(f != NULL);
	buf_puts(&b, "");
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_append(&b, chunk, n);
	(void)pclose(f);
	if (b.len > 0 && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	return buf_steal(&b);
}
