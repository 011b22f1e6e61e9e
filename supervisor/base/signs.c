/* SPDX-License-Identifier: MIT */
/*
 * What looks like an error is, as promised to users, any of
 *
 *	(?i)^\s*(\S+:\s*)*(fatal|error|internal error)\b
 *	\b[A-Z]\w*(Error|Exception):
 *	^(E |FAIL|✗|×|✖|not ok)
 *	panicked at
 *	^Traceback
 *	Assertion .*failed
 *
 * The first and the last backtrace without end as they stand (a line of colons, a
 * line of assertions).  Here they are written so that they take the same lines in
 * linear time: a word before the last ends in `:` and is more than that one
 * character, and no later `Assertion ` finds a `failed` that the first does not.
 */
#include "supervisor/base/signs.h"

#include "supervisor/base/pattern.h"

static const struct {
	enum sign sign;
	const char *regex;
} sign_table[SIGN_PATTERNS] = {
	{ SIGN_START, "^(?:(?i:\\s*+(?:\\S+:\\s+)*?(?:\\S+:)?"
		      "(?:fatal|error|internal error)\\b)"
		      "|E |FAIL|✗|×|✖|not ok|Traceback)" },
	{ SIGN_NAME, "\\b[A-Z]\\w*(?:Error|Exception):" },
	{ SIGN_PANIC, "panicked at" },
	/* (*COMMIT): where the first does not do, none does. */
	{ SIGN_ASSERTION, "Assertion (*COMMIT).*?failed" },
	{ SIGN_NETWORK, "getaddrinfo ENOTFOUND|EAI_AGAIN|ECONNRESET|ETIMEDOUT"
			"|ENETUNREACH|EHOSTUNREACH" },
	{ SIGN_TIMEOUT, "Test timed out in|Hook timed out in|Exceeded timeout of"
			"|this test timed out after" },
};

/* As the last two patterns have them. */
const struct sign_word sign_words[SIGN_WORDS] = {
	{ SIGN_NETWORK, "getaddrinfo ENOTFOUND" },
	{ SIGN_NETWORK, "EAI_AGAIN" },
	{ SIGN_NETWORK, "ECONNRESET" },
	{ SIGN_NETWORK, "ETIMEDOUT" },
	{ SIGN_NETWORK, "ENETUNREACH" },
	{ SIGN_NETWORK, "EHOSTUNREACH" },
	{ SIGN_TIMEOUT, "Test timed out in" },
	{ SIGN_TIMEOUT, "Hook timed out in" },
	{ SIGN_TIMEOUT, "Exceeded timeout of" },
	{ SIGN_TIMEOUT, "this test timed out after" },
};

static bool
sign_matches(struct pattern **p, const char *regex, const char *text, size_t n)
{
	struct error err = ERROR_INIT;

	/* Only without memory does it not compile; then there is no sign to see. */
	if (*p == NULL && pattern_compile(regex, p, &err) < 0)
		return false;
	return pattern_matches(*p, text, n);
}

unsigned
signs_of(struct signs *s, unsigned asked, const char *text, size_t n)
{
	unsigned found = 0;

	for (size_t i = 0; i < SIGN_PATTERNS; i++) {
		if ((asked & sign_table[i].sign) == 0)
			continue;
		if (sign_matches(&s->patterns[i], sign_table[i].regex, text, n))
			found |= sign_table[i].sign;
		if ((found & SIGN_ERROR) != 0)
			asked &= ~(unsigned)SIGN_ERROR;
	}
	return found;
}

void
signs_release(struct signs *s)
{
	for (size_t i = 0; i < SIGN_PATTERNS; i++)
		pattern_free(s->patterns[i]);
	*s = (struct signs)SIGNS_INIT;
}
