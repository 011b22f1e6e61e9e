/* SPDX-License-Identifier: MIT */
#include "ipc/mem.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Test(mem, nothing_is_something)
{
	void *p = xmalloc(0);
	void *q = xcalloc(0, 8);
	void *r = xcalloc(8, 0);

	cr_expect_not_null(p);
	cr_expect_not_null(q);
	cr_expect_not_null(r);
	p = xreallocarray(p, 0, 8);
	cr_expect_not_null(p);
	free(p);
	free(q);
	free(r);
}

Test(mem, calloc_is_zero)
{
	unsigned char *p = xcalloc(1000, 3);

	for (size_t i = 0; i < 3000; i++)
		cr_assert_eq(p[i], 0);
	free(p);
}

Test(mem, grow_doubles_and_keeps_what_was_there)
{
	size_t room = 0;
	size_t grown = 0;
	int *v = NULL;

	for (size_t n = 1; n <= 100000; n++) {
		size_t before = room;

		v = xgrow(v, n, &room, sizeof(*v));
		cr_assert_geq(room, n);
		grown += room != before;
		v[n - 1] = (int)n;
	}
	for (size_t n = 1; n <= 100000; n++)
		cr_assert_eq(v[n - 1], (int)n);
	cr_expect_lt(grown, 30, "it grew %zu times", grown);
	free(v);
}

Test(mem, grow_with_room_left_moves_nothing)
{
	size_t room = 0;
	char *v = xgrow(NULL, 10, &room, 1);
	size_t had = room;

	cr_expect_eq(xgrow(v, had, &room, 1), v);
	cr_expect_eq(room, had);
	free(v);
}

Test(mem, strings)
{
	char *a = xstrdup("");
	char *b = xstrndup("abcdef", 3);
	char *c = xstrndup("ab", 100);
	char *d = xasprintf("%s-%d-%s", "x", 7, "");

	cr_expect_str_eq(a, "");
	cr_expect_str_eq(b, "abc");
	cr_expect_str_eq(c, "ab");
	cr_expect_str_eq(d, "x-7-");
	free(a);
	free(b);
	free(c);
	free(d);
}

/* An allocator that checks has its own word on sizes that no one has. */
#ifndef GN_SANITIZED
Test(mem, exhausted_aborts_malloc, .signal = SIGABRT)
{
	(void)xmalloc(SIZE_MAX / 2 - 1);
}

Test(mem, exhausted_aborts_calloc, .signal = SIGABRT)
{
	(void)xcalloc(SIZE_MAX / 2, 4);
}

Test(mem, overflow_aborts_reallocarray, .signal = SIGABRT)
{
	(void)xreallocarray(NULL, SIZE_MAX / 2, 4);
}

Test(mem, overflow_aborts_grow, .signal = SIGABRT)
{
	size_t room = 0;

	(void)xgrow(NULL, SIZE_MAX, &room, 1);
}

Test(mem, overflow_aborts_grow_of_large_items, .signal = SIGABRT)
{
	size_t room = 0;

	(void)xgrow(NULL, SIZE_MAX / 16, &room, 4096);
}
#endif
