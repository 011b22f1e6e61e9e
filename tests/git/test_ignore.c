/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "git/ignore.h"
#include "git/wildmatch.h"

struct wild_case {
	const char *pattern, *text;
	unsigned flags;
	bool matches;
};

static const struct wild_case wild_cases[] = {
	{ "foo", "foo", 0, true },
	{ "foo", "bar", 0, false },
	{ "", "", 0, true },
	{ "", "a", 0, false },
	{ "???", "foo", 0, true },
	{ "??", "foo", 0, false },
	{ "*", "foo", 0, true },
	{ "f*", "foo", 0, true },
	{ "*f", "foo", 0, false },
	{ "*foo*", "aafoobb", 0, true },
	{ "*ob*a*r*", "foobar", 0, true },
	{ "*ab", "aaaaaaabababab", 0, true },
	{ "foo\\*", "foo*", 0, true },
	{ "foo\\*bar", "foobar", 0, false },
	{ "f\\\\oo", "f\\oo", 0, true },
	{ "a\\", "a", 0, false },
	{ "a\\", "a\\", 0, false },
	{ "*[al]?", "ball", 0, true },
	{ "[ten]", "ten", 0, false },
	{ "t[a-g]n", "ten", 0, true },
	{ "t[!a-g]n", "ten", 0, false },
	{ "t[!a-g]n", "ton", 0, true },
	{ "t[^a-g]n", "ton", 0, true },
	{ "a[]]b", "a]b", 0, true },
	{ "a[]-]b", "a-b", 0, true },
	{ "a[]-]b", "a]b", 0, true },
	{ "a[]-]b", "aab", 0, false },
	{ "]", "]", 0, true },
	{ "[a", "a", 0, false },
	{ "[", "[", 0, false },
	{ "[\\]]", "]", 0, true },
	{ "[\\a-c]", "b", 0, true },
	{ "[a-]", "-", 0, true },
	{ "[!a-]", "-", 0, false },
	{ "[[:alpha:]][[:digit:]]", "a1", 0, true },
	{ "[[:alpha:]]", "1", 0, false },
	{ "[[:nonsense:]]", "a", 0, false },
	{ "[[:upper:]]", "a", WILD_FOLD_CASE, true },
	{ "[[:upper:]]", "a", 0, false },
	{ "[[:xdigit:]]*", "fz", 0, true },
	{ "[[:space:][:punct:]]", "!", 0, true },
	{ "[a[:digit:]b]", "7", 0, true },
	{ "[[:digit]", ":", 0, true },
	{ "[A-C]", "b", WILD_FOLD_CASE, true },
	{ "ABC", "abc", WILD_FOLD_CASE, true },
	{ "foo", "foo/bar", 0, false },
	{ "f*r", "foo/bar", 0, true },
	{ "f*r", "foo/bar", WILD_PATHNAME, false },
	{ "f?o", "f/o", WILD_PATHNAME, false },
	{ "f[/]o", "f/o", WILD_PATHNAME, false },
	{ "f[!a]o", "f/o", WILD_PATHNAME, false },
	{ "**/foo", "foo", WILD_PATHNAME, true },
	{ "**/foo", "a/b/foo", WILD_PATHNAME, true },
	{ "**/foo", "a/b/xfoo", WILD_PATHNAME, false },
	{ "foo/**", "foo/a/b", WILD_PATHNAME, true },
	{ "foo/**", "foo", WILD_PATHNAME, false },
	{ "foo/**/bar", "foo/bar", WILD_PATHNAME, true },
	{ "foo/**/bar", "foo/a/b/bar", WILD_PATHNAME, true },
	{ "foo/**/**/bar", "foo/b/bar", WILD_PATHNAME, true },
	{ "foo**bar", "foo/bar", WILD_PATHNAME, false },
	{ "foo/*/bar", "foo/a/b/bar", WILD_PATHNAME, false },
	{ "**", "a/b", WILD_PATHNAME, true },
	{ "*/*", "a/b/c", WILD_PATHNAME, false },
	{ "**/a*b*c/**", "x/aXbYc/z", WILD_PATHNAME, true },
};

struct ignore_case {
	const char *list, *path;
	const char *base;
	bool is_dir;
	enum ignore_verdict verdict;
};

static const struct ignore_case ignore_cases[] = {
	{ "*.o\n", "a/b/x.o", "", false, IGNORE_YES },
	{ "*.o\n", "a/b/x.oo", "", false, IGNORE_UNSAID },
	{ "*.o\n!x.o\n", "a/x.o", "", false, IGNORE_NO },
	{ "!x.o\n*.o\n", "a/x.o", "", false, IGNORE_YES },
	{ "build/\n", "a/build", "", true, IGNORE_YES },
	{ "build/\n", "a/build", "", false, IGNORE_UNSAID },
	{ "/build\n", "build", "", false, IGNORE_YES },
	{ "/build\n", "a/build", "", false, IGNORE_UNSAID },
	{ "a/b\n", "a/b", "", false, IGNORE_YES },
	{ "a/b\n", "x/a/b", "", false, IGNORE_UNSAID },
	{ "a/*\n", "a/b", "", false, IGNORE_YES },
	{ "a/*\n", "a/b/c", "", false, IGNORE_UNSAID },
	{ "a/**\n", "a/b/c", "", false, IGNORE_YES },
	{ "a**\n", "ab", "", false, IGNORE_YES },
	{ "x/a**\n", "x/ab/c", "", false, IGNORE_YES },
	{ "**/c\n", "a/b/c", "", false, IGNORE_YES },
	{ "# note\n", "# note", "", false, IGNORE_UNSAID },
	{ "\\#note\n", "#note", "", false, IGNORE_YES },
	{ "\\!note\n", "!note", "", false, IGNORE_YES },
	{ "a \n", "a", "", false, IGNORE_YES },
	{ "a \n", "a ", "", false, IGNORE_UNSAID },
	{ "a\\ \n", "a ", "", false, IGNORE_YES },
	{ "a\\ b\n", "a b", "", false, IGNORE_YES },
	{ " a\n", " a", "", false, IGNORE_YES },
	{ "a\r\n", "a", "", false, IGNORE_YES },
	{ "a", "a", "", false, IGNORE_YES },
	{ "\xef\xbb\xbf"
	  "a\n",
	  "a", "", false, IGNORE_YES },
	{ "\n\n/\n//\n\r\n", "a", "", true, IGNORE_UNSAID },
	{ "x.o\n", "src/x.o", "src", false, IGNORE_YES },
	{ "/x.o\n", "src/x.o", "src", false, IGNORE_YES },
	{ "/x.o\n", "src/a/x.o", "src", false, IGNORE_UNSAID },
	{ "a/x.o\n", "src/a/x.o", "src", false, IGNORE_YES },
	{ "src/x.o\n", "src/x.o", "src", false, IGNORE_UNSAID },
	{ "/x\n", "srcx/x", "src", false, IGNORE_UNSAID },
	{ "[a-c]\n", "b", "", false, IGNORE_YES },
	{ "a[\n", "a[", "", false, IGNORE_UNSAID },
};

Test(ignore, wildcards_as_git_has_them)
{
	size_t i;

	for (i = 0; i < sizeof(wild_cases) / sizeof(wild_cases[0]); i++) {
		const struct wild_case *c = &wild_cases[i];

		cr_expect(wildmatch(c->pattern, c->text, c->flags) == c->matches,
			  "'%s' against '%s', flags %u", c->pattern, c->text, c->flags);
	}
}

Test(ignore, lists_as_git_reads_them)
{
	size_t i;

	for (i = 0; i < sizeof(ignore_cases) / sizeof(ignore_cases[0]); i++) {
		const struct ignore_case *c = &ignore_cases[i];
		struct ignore_list *list =
		    ignore_parse(c->list, strlen(c->list), c->base, false);
		const char *slash = strrchr(c->path, '/');
		enum ignore_verdict v =
		    ignore_match(list, c->path, strlen(c->path),
				 slash ? slash + 1 : c->path, c->is_dir);

		cr_expect(v == c->verdict, "'%s' against '%s': %d", c->list, c->path,
			  (int)v);
		ignore_free(list);
	}
}

Test(ignore, case_folds_where_asked)
{
	static const char text[] = "*.LOG\nSrc/Gen\n";
	struct ignore_list *list = ignore_parse(text, strlen(text), "", true);

	cr_expect(ignore_match(list, "a.log", 5, "a.log", false) == IGNORE_YES);
	cr_expect(ignore_match(list, "src/gen", 7, "src/gen" + 4, false) == IGNORE_YES);
	ignore_free(list);
}

/* A pattern that would take an exponential matcher longer than anyone's life. */
Test(ignore, many_stars_end, .timeout = 20)
{
	char text[4001];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect(!wildmatch("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text, 0));
	cr_expect(
	    !wildmatch("**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/"
		       "**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/b",
		       "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", WILD_PATHNAME));
	cr_expect(!wildmatch("**/a*a*a*a*a*a*a*a/**/*a*a*a*a*b", text, WILD_PATHNAME));
}
