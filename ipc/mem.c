/* SPDX-License-Identifier: MIT */
#include "ipc/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void
mem_exhausted(void)
{
	static const char text[] = "geonosis: memory: exhausted\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}

void *
xmalloc(size_t size)
{
	void *p = malloc(size > 0 ? size : 1);

	if (p == NULL)
		mem_exhausted();
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n > 0 ? n : 1, size > 0 ? size : 1);

	if (p == NULL)
		mem_exhausted();
	return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n > 0 ? n : 1, size > 0 ? size : 1);

	if (q == NULL)
		mem_exhausted();
	return q;
}

void *
xgrow(void *p, size_t want, size_t *room, size_t size)
{
	size_t more = *room > 0 ? *room : 8;

	if (want <= *room)
		return p;
	while (more < want) {
		if (more > SIZE_MAX / 2)
			mem_exhausted();
		more *= 2;
	}
	*room = more;
	return xreallocarray(p, more, size);
}

char *
xstrdup(const char *s)
{
	char *p = strdup(s);

	if (p == NULL)
		mem_exhausted();
	return p;
}

char *
xstrndup(const char *s, size_t n)
{
	char *p = strndup(s, n);

	if (p == NULL)
		mem_exhausted();
	return p;
}

char *
xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		mem_exhausted();
	return s;
}
