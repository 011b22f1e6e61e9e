/* SPDX-License-Identifier: MIT */
#include "supervisor/project/brace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"

enum {
	DEPTH_MAX = 100,
	TEXT_MAX = 4096,
	RANGE_MAX = 1000000000
};

/* The first pair of braces that means something. */
struct brace {
	const char *open;
	const char *close;
	bool has_comma; /* else it is a range */
	unsigned depth; /* how often its text was expanded before */
};

/* One of the strings that the braces stand for. */
struct item {
	const char *text;
	size_t n;
};

static int expand(const char *text, unsigned depth, struct brace_list *into,
		  struct error *err);

static void
list_add(struct brace_list *l, char *item)
{
	l->items = xgrow(l->items, l->nitems + 1, &l->room, sizeof(*l->items));
	l->items[l->nitems++] = item;
}

/* The numbers or letters of `a..b` or `a..b..step`. */
static bool
range_parse(const char *from, const char *to, long *low, long *high, long *step,
	    int *width)
{
	char text[64], a[24], b[24], c[24] = "1", rest;
	size_t n = (size_t)(to - from);
	int fields;
	char *end;

	if (n >= sizeof(text))
		return false;
	memcpy(text, from, n);
	text[n] = '\0';
	fields = sscanf(text, "%23[^.]..%23[^.]..%23[^.]%c", a, b, c, &rest);
	if (fields != 2 && fields != 3)
		return false;
	*step = strtol(c, &end, 10);
	if (*end != '\0')
		return false;
	*step = labs(*step) == 0 ? 1 : labs(*step);
	*width = 0;
	if (strlen(a) == 1 && strlen(b) == 1 && strspn(a, "0123456789") == 0 &&
	    strspn(b, "0123456789") == 0) {
		*low = (unsigned char)*a;
		*high = (unsigned char)*b;
		*width = -1;
		return true;
	}
	*low = strtol(a, &end, 10);
	if (*end != '\0')
		return false;
	*high = strtol(b, &end, 10);
	if (*end != '\0')
		return false;
	if (labs(*low) > RANGE_MAX || labs(*high) > RANGE_MAX || *step > RANGE_MAX)
		return false;
	if ((a[0] == '0' && a[1] != '\0') || (b[0] == '0' && b[1] != '\0'))
		*width = (int)(strlen(a) > strlen(b) ? strlen(a) : strlen(b));
	return true;
}

static bool
range_is(const char *from, const char *to)
{
	long low, high, step;
	int width;

	return range_parse(from, to, &low, &high, &step, &width);
}

/* The } that belongs to the {, or NULL; was there a comma of its own within? */
static const char *
brace_close(const char *open, bool *has_comma)
{
	unsigned depth = 0;
	const char *c;

	*has_comma = false;
	for (c = open; *c != '\0'; c++) {
		if (*c == '\\' && c[1] != '\0')
			c++;
		else if (*c == '{')
			depth++;
		else if (*c == ',' && depth == 1)
			*has_comma = true;
		else if (*c == '}' && --depth == 0)
			return c;
	}
	return NULL;
}

static bool
brace_find(const char *text, struct brace *ret)
{
	const char *c;

	for (c = text; *c != '\0'; c++) {
		if (*c == '\\' && c[1] != '\0') {
			c++;
			continue;
		}
		if (*c != '{')
			continue;
		*ret = (struct brace){ .open = c };
		ret->close = brace_close(c, &ret->has_comma);
		if (ret->close != NULL && (ret->has_comma || range_is(c + 1, ret->close)))
			return true;
	}
	return false;
}

/* The text with its braces replaced by one of their items, expanded further. */
static int
expand_item(const char *text, const struct brace *b, struct item item,
	    struct brace_list *into, struct error *err)
{
	char *whole = xasprintf("%.*s%.*s%s", (int)(b->open - text), text, (int)item.n,
				item.text, b->close + 1);
	int rc = expand(whole, b->depth + 1, into, err);

	free(whole);
	return rc;
}

static int
expand_items(const char *text, const struct brace *b, struct brace_list *into,
	     struct error *err)
{
	const char *c, *from = b->open + 1;
	unsigned nested = 0;

	for (c = from; c <= b->close; c++) {
		if (*c == '\\' && c + 1 < b->close) {
			c++;
		} else if (*c == '{') {
			nested++;
		} else if (c == b->close || (*c == ',' && nested == 0)) {
			struct item item = { from, (size_t)(c - from) };

			if (expand_item(text, b, item, into, err) < 0)
				return -1;
			from = c + 1;
		} else if (*c == '}') {
			nested--;
		}
	}
	return 0;
}

static int
expand_range(const char *text, const struct brace *b, struct brace_list *into,
	     struct error *err)
{
	long low, high, step, i, count;
	int width;

	if (!range_parse(b->open + 1, b->close, &low, &high, &step, &width))
		return 0;
	if (labs(high / 2 - low / 2) / step > BRACE_EXPANSIONS_MAX)
		return error_set(err, ERROR_DATA, "it expands to too much");
	count = labs(high - low) / step;
	for (i = 0; i <= count; i++) {
		long value = low <= high ? low + i * step : low - i * step;
		char item[32];
		int n = width < 0 ? snprintf(item, sizeof(item), "%c", (int)value)
				  : snprintf(item, sizeof(item), "%0*ld", width, value);

		if (expand_item(text, b, (struct item){ item, (size_t)n }, into, err) < 0)
			return -1;
	}
	return 0;
}

static int
expand(const char *text, unsigned depth, struct brace_list *into, struct error *err)
{
	struct brace b;

	if (depth > DEPTH_MAX || into->nitems >= BRACE_EXPANSIONS_MAX ||
	    strlen(text) > TEXT_MAX)
		return error_set(err, ERROR_DATA, "it expands to too much");
	if (!brace_find(text, &b)) {
		list_add(into, xstrdup(text));
		return 0;
	}
	b.depth = depth;
	if (b.has_comma)
		return expand_items(text, &b, into, err);
	return expand_range(text, &b, into, err);
}

int
brace_expand(const char *text, struct brace_list *into, struct error *err)
{
	return expand(text, 0, into, err);
}

void
brace_list_release(struct brace_list *l)
{
	size_t i;

	for (i = 0; i < l->nitems; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct brace_list)BRACE_LIST_INIT;
}
