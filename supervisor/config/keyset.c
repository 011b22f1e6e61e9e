/* SPDX-License-Identifier: MIT */
#include "supervisor/config/keyset.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

enum {
	KEYSET_SMALL = 8, /* so few are compared pair by pair */
};

struct keyset_name {
	const char *text;
	size_t bytes;
	size_t value;
};

static int
keyset_compare(const void *left, const void *right)
{
	const struct keyset_name *a = left, *b = right;
	int order;

	/* Length first: it is cheap, and any order will do. */
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	order = memcmp(a->text, b->text, a->bytes);
	if (order != 0)
		return order;
	return a->value < b->value ? -1 : a->value > b->value;
}

static struct keyset_name
keyset_name(const struct config_scan *s, size_t value)
{
	return (struct keyset_name){ config_scan_key(s, value),
				     s->values[value].key_bytes, value };
}

static bool
keyset_equal(const struct keyset_name *a, const struct keyset_name *b)
{
	return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

static size_t
keyset_small(const struct keyset_name *names, size_t n, size_t *ret_first)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (keyset_equal(names + i, names + j)) {
				*ret_first = names[j].value;
				return names[i].value;
			}
	return 0;
}

static size_t
keyset_large(const struct config_scan *s, size_t object, size_t n, size_t *ret_first)
{
	struct keyset_name *names = xreallocarray(NULL, n, sizeof(*names));
	size_t at = object + 1, again = 0;

	for (size_t i = 0; i < n; i++, at = s->values[at].next)
		names[i] = keyset_name(s, at);
	qsort(names, n, sizeof(*names), keyset_compare);
	for (size_t i = 1; i < n; i++) {
		if (!keyset_equal(names + i - 1, names + i) ||
		    (again != 0 && names[i].value > again))
			continue;
		again = names[i].value;
		*ret_first = names[i - 1].value;
	}
	free(names);
	return again;
}

size_t
keyset_duplicate(const struct config_scan *s, size_t object, size_t *ret_first)
{
	struct keyset_name names[KEYSET_SMALL];
	size_t n = 0, end = s->values[object].next;

	for (size_t at = object + 1; at < end; at = s->values[at].next, n++)
		if (n < KEYSET_SMALL)
			names[n] = keyset_name(s, at);
	return n <= KEYSET_SMALL ? keyset_small(names, n, ret_first)
				 : keyset_large(s, object, n, ret_first);
}
