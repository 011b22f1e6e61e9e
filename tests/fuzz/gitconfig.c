/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as one of git's configuration files: refused, or settings whose keys have a
 * section and a name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/conffile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
setting_take(void *context, const char *key, const char *value)
{
	size_t *bytes = context;
	const char *dot = strrchr(key, '.');

	if (dot == NULL || dot == key || dot[1] == '\0')
		abort();
	*bytes += strlen(key) + (value == NULL ? 0 : strlen(value));
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = 0;

	(void)conffile_parse((const char *)data, size, setting_take, &bytes);
	return 0;
}
