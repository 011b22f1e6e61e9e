/* SPDX-License-Identifier: MIT */
/*
 * Patterns: the one room that knows PCRE2.
 *
 * A pattern keeps scratch memory for its matches: use one from one thread at a time.
 * A fork has its own.
 */
#ifndef SUPERVISOR_BASE_PATTERN_H
#define SUPERVISOR_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

struct pattern;

/*
 * Compile a PCRE2 regex (UTF, JIT where there is one).  On failure *err says the offset
 * in the pattern and why.
 */
int pattern_compile(const char *regex, struct pattern **ret_pattern, struct error *err);
/*
 * Does it match somewhere in the text (valid UTF-8)?  Bounded: past the match
 * limit the answer is no.
 */
bool pattern_matches(const struct pattern *p, const char *text, size_t n);
/* The same as a number: 1 yes, 0 no, -1 given up at the limit. */
int pattern_find(const struct pattern *p, const char *text, size_t n);
/*
 * False where no text made of these bytes (all ASCII) can match, because a byte that
 * every match needs is not among them.  Much cheaper than matching.
 */
bool pattern_may_match(const struct pattern *p, const char *bytes, size_t n);
void pattern_free(struct pattern *p);

#endif
