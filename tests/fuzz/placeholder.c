/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a command and a value, a NUL between them: refused with a text, or filled
 * in so that a lexer of the shell reads the rest as it read it before, and the value only
 * where it was put.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/project/placeholder.h"
#include "supervisor/project/places.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	size_t n = strlen(text);
	char *value = n < size ? xstrndup((const char *)data + n + 1, size - n - 1)
			       : xstrdup("a b");
	const char *values[] = { value, "c d" };
	const struct placeholder table[] = { { "w", values, 1, false },
					     { "l", values, 2, true } };
	struct error err = ERROR_INIT;
	char *filled = NULL;

	if (placeholder_fill(text, table, 2, &filled, &err) < 0) {
		if (err.text[0] == '\0' || filled != NULL)
			abort();
	} else {
		if (!placeholder_is_in(text, "w") && !placeholder_is_in(text, "l") &&
		    strcmp(text, filled) != 0)
			abort();
		free(filled);
	}
	free(places_find(text));
	free(text);
	free(value);
	return 0;
}
