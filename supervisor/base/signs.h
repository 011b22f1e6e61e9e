/* SPDX-License-Identifier: MIT */
/*
 * Signs: what a line of output tells by itself, whatever step printed it.
 */
#ifndef SUPERVISOR_BASE_SIGNS_H
#define SUPERVISOR_BASE_SIGNS_H

#include <stddef.h>

enum sign {
	SIGN_ERROR = 1,	  /* looks like an error */
	SIGN_NETWORK = 2, /* tells a network failure: the environment's, not the code's */
	SIGN_TIMEOUT = 4, /* a test runner's own timeout */
	SIGN_ALL = 7,
};

enum {
	SIGN_PATTERNS = 5
};

struct pattern; /* supervisor/base/pattern.h */

/* The patterns, compiled when first asked for. */
struct signs {
	struct pattern *patterns[SIGN_PATTERNS];
};

#define SIGNS_INIT           \
	{                    \
		{            \
			NULL \
		}            \
	}

/* Those of the signs asked for that the line (sanitised, no \n) has. */
unsigned signs_of(struct signs *s, unsigned asked, const char *text, size_t n);
void signs_release(struct signs *s);

#endif
