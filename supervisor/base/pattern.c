/* SPDX-License-Identifier: MIT */
/*
 * A pattern is the user's, so what it costs is bounded twice.  The match limit ends
 * one match that backtracks without end, after some milliseconds; the stack of the
 * JIT and the interpreter's heap end one that remembers without end.  Whoever
 * matches line after line has to bound the sum (pattern_find says what was given up).
 */
#include "supervisor/base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

enum {
	MATCH_LIMIT = 1000000, /* steps back */
	HEAP_LIMIT_KIB = 20000,
	STACK_MIN = 32 * 1024,
	STACK_MAX = 1024 * 1024, /* reserved; only what a match touches is used */
};

struct pattern {
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *match;
	pcre2_jit_stack *stack;
	bool has_jit;
	/* Bytes that every match has, in either case of a letter; -1: none is known. */
	int first;
	int last;
};

static int
pattern_refuse(int code, size_t offset, struct error *err)
{
	PCRE2_UCHAR why[256];

	if (pcre2_get_error_message(code, why, sizeof(why)) < 0)
		why[0] = '\0';
	return error_set(err, ERROR_CONFIG,
			 "the regex does not compile at offset %zu: %s", offset,
			 (const char *)why);
}

static int
pattern_unit(const pcre2_code *code, uint32_t type_of, uint32_t unit_of)
{
	uint32_t type = 0, unit = 0;

	if (pcre2_pattern_info(code, type_of, &type) < 0 || type != 1)
		return -1;
	if (pcre2_pattern_info(code, unit_of, &unit) < 0 || unit > 0xff)
		return -1;
	return (int)unit;
}

static void
pattern_prepare(struct pattern *p)
{
	size_t size = 0;

	/* Where memory may not be made executable the interpreter does it all. */
	if (pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0 &&
	    pcre2_pattern_info(p->code, PCRE2_INFO_JITSIZE, &size) == 0)
		p->has_jit = size > 0;
	if (p->has_jit)
		p->stack = pcre2_jit_stack_create(STACK_MIN, STACK_MAX, NULL);
	if (p->stack != NULL)
		pcre2_jit_stack_assign(p->limits, NULL, p->stack);
	(void)pcre2_set_match_limit(p->limits, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(p->limits, MATCH_LIMIT);
	(void)pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
	p->first =
	    pattern_unit(p->code, PCRE2_INFO_FIRSTCODETYPE, PCRE2_INFO_FIRSTCODEUNIT);
	p->last = pattern_unit(p->code, PCRE2_INFO_LASTCODETYPE, PCRE2_INFO_LASTCODEUNIT);
}

int
pattern_compile(const char *regex, struct pattern **ret_pattern, struct error *err)
{
	struct pattern *p;
	pcre2_code *code;
	PCRE2_SIZE offset = 0;
	int why = 0;

	code = pcre2_compile((PCRE2_SPTR)regex, strlen(regex),
			     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &why, &offset, NULL);
	if (code == NULL)
		return pattern_refuse(why, offset, err);
	p = xcalloc(1, sizeof(*p));
	p->code = code;
	p->limits = pcre2_match_context_create(NULL);
	/* Whether it matches is all that is asked: one pair of offsets is enough. */
	p->match = pcre2_match_data_create(1, NULL);
	if (p->limits == NULL || p->match == NULL) {
		pattern_free(p);
		return error_set(err, ERROR_SYSTEM, "the regex: out of memory");
	}
	pattern_prepare(p);
	*ret_pattern = p;
	return 0;
}

int
pattern_find(const struct pattern *p, const char *text, size_t n)
{
	int rc = PCRE2_ERROR_JIT_BADOPTION;

	if (p->has_jit)
		rc = pcre2_jit_match(p->code, (PCRE2_SPTR)text, n, 0, 0, p->match,
				     p->limits);
	if (rc == PCRE2_ERROR_JIT_BADOPTION)
		rc = pcre2_match(p->code, (PCRE2_SPTR)text, n, 0, PCRE2_NO_UTF_CHECK,
				 p->match, p->limits);
	if (rc >= 0)
		return 1;
	return rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

bool
pattern_matches(const struct pattern *p, const char *text, size_t n)
{
	return pattern_find(p, text, n) > 0;
}

/* A letter counts in both cases: the pattern may be caseless. */
static bool
pattern_has_unit(int unit, const char *bytes, size_t n)
{
	int other = unit ^ 0x20;
	bool letter = (unit >= 'a' && unit <= 'z') || (unit >= 'A' && unit <= 'Z');

	if (unit < 0 || memchr(bytes, unit, n) != NULL)
		return true;
	return letter && memchr(bytes, other, n) != NULL;
}

bool
pattern_may_match(const struct pattern *p, const char *bytes, size_t n)
{
	return pattern_has_unit(p->first, bytes, n) &&
	       pattern_has_unit(p->last, bytes, n);
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	pcre2_code_free(p->code);
	pcre2_match_context_free(p->limits);
	pcre2_match_data_free(p->match);
	pcre2_jit_stack_free(p->stack);
	free(p);
}
