/* SPDX-License-Identifier: MIT */
#include "supervisor/base/pattern.h"

#include <criterion/criterion.h>
#include <string.h>

#include "ipc/clock.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct match_case {
	const char *regex;
	const char *text;
	bool matches;
};

static const struct match_case matches[] = {
	{ "FAIL", "src: FAIL x", true },
	{ "FAIL", "src: fail x", false },
	{ "^FAIL", "src: FAIL", false },
	{ "^(?>survived)(?= a$)", "survived a", true },
	{ "^(?:survived|unjudged)\\s", "unjudged\tx", true },
	{ "^(?:survived|unjudged)\\s", "unjudged", false },
	{ "(?i)straße", "STRASSE STRAßE", true },
	{ "^.$", "\xe2\x9c\x93", true }, /* a character, not its bytes */
	{ "\\x{2713}", "ok \xe2\x9c\x93", true },
	{ "(?<=not )ok", "not ok", true },
	{ "(a)(b)(c)\\3\\2\\1", "abccba", true }, /* more groups than offsets kept */
	{ "", "", true },
	{ "(?i)k", "\xe2\x84\xaa", true }, /* the Kelvin sign */
	{ "(*NO_JIT)a+b", "xaab", true },
};

Test(pattern, matches)
{
	struct error err = ERROR_INIT;
	struct pattern *p;

	for (size_t i = 0; i < COUNT(matches); i++) {
		const struct match_case *c = &matches[i];

		cr_assert_eq(pattern_compile(c->regex, &p, &err), 0, "%s", err.text);
		cr_expect_eq(pattern_matches(p, c->text, strlen(c->text)), c->matches,
			     "/%s/ on %s", c->regex, c->text);
		cr_expect(pattern_find(p, c->text, strlen(c->text)) == c->matches);
		pattern_free(p);
	}
	pattern_free(NULL);
}

struct refuse_case {
	const char *regex;
	const char *offset;
};

static const struct refuse_case refuses[] = {
	{ "abcdefghijk(lm", "offset 14" },
	{ "[a", "offset 2" },
	{ "a{2,1}", "offset 5" },
	{ "*", "offset 0" },
	{ "ab\xff", "offset 2" },
	{ "(?<=a+)b", "offset 0" },
	{ "\\C", "offset 2" },
};

Test(pattern, refused_with_the_offset)
{
	for (size_t i = 0; i < COUNT(refuses); i++) {
		struct error err = ERROR_INIT;
		struct pattern *p = NULL;

		cr_expect_eq(pattern_compile(refuses[i].regex, &p, &err), -1, "%s",
			     refuses[i].regex);
		cr_expect_null(p);
		cr_expect_eq(err.kind, ERROR_CONFIG);
		cr_expect_not_null(strstr(err.text, refuses[i].offset), "%s: %s",
				   refuses[i].regex, err.text);
	}
}

static const char *const endless[] = {
	"^(a+)+$",
	"(*NO_JIT)^(a+)+$",
	"^(?:a|a)*$",
	"^((a*)*)*$",
};

Test(pattern, backtracking_without_end_is_given_up, .timeout = 60)
{
	struct error err = ERROR_INIT;
	struct pattern *p;
	char text[3001];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 'b';
	for (size_t i = 0; i < COUNT(endless); i++) {
		int64_t start = clock_now_ms();

		cr_assert_eq(pattern_compile(endless[i], &p, &err), 0, "%s", err.text);
		cr_expect_eq(pattern_find(p, text, sizeof(text)), -1, "%s", endless[i]);
		cr_expect_not(pattern_matches(p, text, sizeof(text)), "%s", endless[i]);
		cr_expect_lt(clock_now_ms() - start, 5000, "%s", endless[i]);
		pattern_free(p);
	}
}

struct may_case {
	const char *regex;
	const char *bytes;
	bool may;
};

static const struct may_case mays[] = {
	{ "FAIL", "no such word", false },
	{ "FAIL", "Failed", true },
	{ "(?i)fail", "x FAI y L", true },
	{ "(?i)fail", "nothing of it", false },
	{ "a.*\\d+z", "a 1", false },
	{ "a.*\\d+z", "a 1 z", true },
	{ "a|b", "zzz", true }, /* no byte that each match needs */
	{ "", "", true },
};

Test(pattern, may_match_is_a_necessary_condition)
{
	struct error err = ERROR_INIT;
	struct pattern *p;

	for (size_t i = 0; i < COUNT(mays); i++) {
		cr_assert_eq(pattern_compile(mays[i].regex, &p, &err), 0, "%s", err.text);
		cr_expect_eq(pattern_may_match(p, mays[i].bytes, strlen(mays[i].bytes)),
			     mays[i].may, "/%s/ on %s", mays[i].regex, mays[i].bytes);
		pattern_free(p);
	}
	for (size_t i = 0; i < COUNT(matches); i++) {
		const struct match_case *c = &matches[i];

		cr_assert_eq(pattern_compile(c->regex, &p, &err), 0, "%s", err.text);
		if (pattern_matches(p, c->text, strlen(c->text)) &&
		    (c->text[0] & 0x80) == 0)
			cr_expect(pattern_may_match(p, c->text, strlen(c->text)),
				  "/%s/ on %s", c->regex, c->text);
		pattern_free(p);
	}
}
