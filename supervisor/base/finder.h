/* SPDX-License-Identifier: MIT */
/*
 * Finder: does a text occur in a stream of bytes that comes in pieces?
 */
#ifndef SUPERVISOR_BASE_FINDER_H
#define SUPERVISOR_BASE_FINDER_H

#include <stdbool.h>
#include <stddef.h>

struct finder {
	const char *text; /* borrowed; NULL: nothing is looked for */
	size_t n;
	/* The stream's last bytes, n - 1 at most, with room for as many behind them. */
	char *border;
	size_t have;
	bool found;
};

#define FINDER_INIT          \
	{                    \
		.text = NULL \
	}

/* Look for this text, not empty, from now on; NULL: for nothing. */
void finder_set(struct finder *f, const char *text);
void finder_feed(struct finder *f, const char *bytes, size_t n);
void finder_release(struct finder *f);

#endif
