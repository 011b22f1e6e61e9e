/* SPDX-License-Identifier: MIT */
#include "supervisor/base/finder.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

void
finder_set(struct finder *f, const char *text)
{
	finder_release(f);
	if (text == NULL)
		return;
	f->text = text;
	f->n = strlen(text);
	f->found = f->n == 0;
	if (f->n > 1)
		f->border = xreallocarray(NULL, f->n - 1, 2);
}

/* Is it across the border, begun in what came before and ended in these bytes? */
static bool
finder_crosses(struct finder *f, const char *bytes, size_t n)
{
	size_t more = n < f->n - 1 ? n : f->n - 1;

	if (f->have == 0)
		return false;
	memcpy(f->border + f->have, bytes, more);
	return memmem(f->border, f->have + more, f->text, f->n) != NULL;
}

static void
finder_keep(struct finder *f, const char *bytes, size_t n)
{
	size_t most = f->n - 1;
	size_t old = n >= most ? 0 : most - n;

	if (old > f->have)
		old = f->have;
	memmove(f->border, f->border + f->have - old, old);
	if (n > most) {
		bytes += n - most;
		n = most;
	}
	memcpy(f->border + old, bytes, n);
	f->have = old + n;
}

void
finder_feed(struct finder *f, const char *bytes, size_t n)
{
	if (f->text == NULL || f->found || n == 0)
		return;
	if (finder_crosses(f, bytes, n) || memmem(bytes, n, f->text, f->n) != NULL) {
		f->found = true;
		return;
	}
	if (f->n > 1)
		finder_keep(f, bytes, n);
}

void
finder_release(struct finder *f)
{
	free(f->border);
	*f = (struct finder)FINDER_INIT;
}
