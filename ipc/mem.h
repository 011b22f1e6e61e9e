/* SPDX-License-Identifier: MIT */
/*
 * Memory: allocation that does not fail.
 *
 * Out of memory aborts the process, here and nowhere else: whatever must
 * survive that (slots, processes, reports) is given back by the kernel or is
 * whole on disk already.
 */
#ifndef IPC_MEM_H
#define IPC_MEM_H

#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
/* Room for n items of the given size; overflow aborts as well. */
void *xreallocarray(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
/* Grow a vector: room for at least `want` items, doubling.  *room is updated. */
void *xgrow(void *p, size_t want, size_t *room, size_t size);
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
/* asprintf that returns the string. */
char *xasprintf(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), returns_nonnull));

#endif
