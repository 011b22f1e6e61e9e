/* SPDX-License-Identifier: MIT */
/*
 * Signs: what a line of output tells by itself, whatever step printed it.
 */
#ifndef SUPERVISOR_BASE_SIGNS_H
#define SUPERVISOR_BASE_SIGNS_H

#include <stddef.h>

enum sign {
	/* It looks like an error, by four patterns. */
	SIGN_START = 1, /* by how it begins */
	SIGN_NAME = 2,	/* by the name of an exception */
	SIGN_PANIC = 4,
	SIGN_ASSERTION = 8,
	SIGN_ERROR = SIGN_START | SIGN_NAME | SIGN_PANIC | SIGN_ASSERTION,
	/* It tells a network failure: the environment's, not the code's. */
	SIGN_NETWORK = 16,
	/* It is a test runner's own timeout. */
	SIGN_TIMEOUT = 32,
	SIGN_ALL = 63,
};

enum {
	SIGN_PATTERNS = 6
};

/* What a line with SIGN_NETWORK or SIGN_TIMEOUT has in it, to the letter. */
struct sign_word {
	enum sign sign;
	const char *text;
};

enum {
	SIGN_WORDS = 10
};

extern const struct sign_word sign_words[SIGN_WORDS];

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

/*
 * Those of the signs asked for that the line (sanitised, no \n) has; of those that make
 * an error one is enough.
 */
unsigned signs_of(struct signs *s, unsigned asked, const char *text, size_t n);
void signs_release(struct signs *s);

#endif
