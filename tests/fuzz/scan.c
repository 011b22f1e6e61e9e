/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as JSON: refused with a place, or read as json-c reads them too, every
 * value at the byte that its place says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/config/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The byte at a place: lines end at \n, columns count bytes (after a BOM). */
static const char *
place_byte(const char *text, size_t n, struct file_place p)
{
	const char *s = text, *end = text + n;

	for (unsigned line = 1; line < p.line; line++) {
		s = memchr(s, '\n', (size_t)(end - s));
		if (s == NULL)
			abort();
		s++;
	}
	if (p.line == 1 && n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		s += 3;
	if (p.column == 0 || p.column > (size_t)(end - s))
		abort();
	return s + p.column - 1;
}

static void
value_check(const struct document *d, size_t value, const char *text, size_t n)
{
	static const char *const first[] = {
		[SCAN_OBJECT] = "{",  [SCAN_ARRAY] = "[",
		[SCAN_STRING] = "\"", [SCAN_NUMBER] = "-0123456789",
		[SCAN_TRUE] = "t",    [SCAN_FALSE] = "f",
		[SCAN_NULL] = "n",
	};
	const struct scan_value *v = d->scan.values + value;
	char c = *place_byte(text, n, v->place);
	char *path = document_path(d, value);

	if (c == '\0' || strchr(first[v->kind], c) == NULL)
		abort();
	if (v->key_place.line > 0 && *place_byte(text, n, v->key_place) != '"')
		abort();
	if ((value == 0) != (*path == '\0'))
		abort();
	free(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct error err = ERROR_INIT;
	struct document d = DOCUMENT_INIT;
	struct config_scan s = SCAN_INIT;

	if (config_scan_text("f", text, size, &s, &err) < 0) {
		if (strncmp(err.text, "f:", 2) != 0)
			abort();
		return 0;
	}
	if (s.text.len != size)
		abort();
	config_scan_release(&s);
	/* What the scan accepts json-c has to read, and as the same. */
	if (document_read("f", text, size, &d, &err) < 0)
		abort();
	for (size_t i = 0; i < d.scan.nvalues; i++)
		value_check(&d, i, text, size);
	document_release(&d);
	return 0;
}
