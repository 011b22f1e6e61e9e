/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of ignore rules, then, after a NUL, as a path: an answer in
 * bounded time, the same again.  The first byte says whether case folds and whether the
 * path is a directory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul;
	struct ignore_list *list;
	enum ignore_verdict v;
	char path[256];
	const char *slash;
	size_t n;

	if (size < 3 || (nul = memchr(data + 1, '\0', size - 1)) == NULL)
		return 0;
	n = size - (size_t)(nul + 1 - data);
	if (n == 0 || n >= sizeof(path) || memchr(nul + 1, '\0', n) != NULL)
		return 0;
	memcpy(path, nul + 1, n);
	path[n] = '\0';
	slash = strrchr(path, '/');
	slash = slash == NULL ? path : slash + 1;
	if (*slash == '\0' || nul - data > 400)
		return 0;
	list = ignore_parse((const char *)data + 1, (size_t)(nul - data - 1),
			    data[0] & 4 ? "src" : "", data[0] & 1);
	v = ignore_match(list, path, n, slash, data[0] & 2);
	if (v != ignore_match(list, path, n, slash, data[0] & 2))
		abort();
	ignore_free(list);
	return 0;
}
