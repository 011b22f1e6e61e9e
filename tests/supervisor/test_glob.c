/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "supervisor/base/glob.h"

static bool
matches(const char *text, const char *path)
{
	struct error err = ERROR_INIT;
	struct glob *g = NULL;
	bool yes;

	cr_assert(glob_compile(text, &g, &err) == 0, "%s: %s", text, err.text);
	yes = glob_matches(g, path, strlen(path));
	glob_free(g);
	return yes;
}

Test(glob, matches)
{
	static const struct {
		const char *glob, *yes, *no; /* paths, by spaces */
	} rows[] = {
		{ "a.md", "a.md", "A.md a.mdx x/a.md a.m amd" },
		{ "*", "a a.b .hidden \xc3\xa9", "a/b" },
		{ "*.md", "a.md .md .x.md", "a.mdx a/b.md md" },
		{ "a*c", "ac abc abbc a.c", "ab a/c abcd" },
		{ "a*b*c", "abc axbyc abbcc", "acb ab/c" },
		{ "?.html", "i.html \xc3\xa9.html \xf0\x9f\x98\x80.html \xff.html",
		  "ii.html .html /.html" },
		{ "a?c", "abc a.c", "ac a/c abbc" },
		{ "*.[ct]xt", "n.txt n.cxt", "n.xxt sub/n.txt n.[ct]xt" },
		{ "[!a]", "b \xc3\xa9 !", "a / ab" },
		{ "[^a]", "b ^", "a /" },
		{ "[a-c]x", "ax bx cx", "dx -x Ax" },
		{ "[]a]", "] a", "b" },
		{ "[!]a]", "b", "] a" },
		{ "[a-]", "a -", "b" },
		{ "[!-0]", "a 1", "- 0" },
		{ "[*]x", "*x", "ax x" },
		{ "[{]x", "{x", "x" },
		{ "[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", "e \xc3\xb0 \xc3" },
		{ "[.-0]x", ".x 0x", "/x" },
		{ "**", "a a/b .x/y/z", "" },
		{ "dir/**", "dir/a dir/a/b dir/.x", "dir xdir/a dira/b" },
		{ "**/*.md", "a.md x/a.md x/y/a.md .github/a.md", "a.txt x.md/a" },
		{ "**/notes/*.rst", "notes/x.rst packages/core/notes/y.rst",
		  "notes/deep/x.rst xnotes/x.rst anotes/y.rst" },
		{ "a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb a/b/c xa/b" },
		{ "a/**/**/b", "a/b a/x/b a/x/y/b", "ab" },
		{ "**/a/**/b/**", "a/b/c x/a/y/b/z/w", "a/b b/a/c" },
		{ "{a,b}", "a b", "c ab {a,b}" },
		{ "{a,b}.{c,d}", "a.c a.d b.c b.d", "a.b c.a" },
		{ "docs/{a,b}/**", "docs/a/x.js docs/b/deep/y", "docs/c/x docs/a" },
		{ "x{,y}", "x xy", "xyy y" },
		{ "x{y,}z", "xz xyz", "x xyyz" },
		{ "{a,b{c,d{e,f}}}g", "ag bcg bdeg bdfg", "bg bdg cg eg" },
		{ "{a/b,c}/d", "a/b/d c/d", "a/d b/d" },
		{ "{**/a,b}/c", "a/c x/a/c x/y/a/c b/c", "x/b/c c" },
		{ "x/{a/**,b}", "x/a/1 x/a/1/2 x/b", "x/a x/b/1 a/1" },
		{ "{a,*}b", "ab b xb", "a/b abc" },
		{ "{[},],x}", "} , x", "] [}" },
		{ "{?,[ab]c}", "x ac bc", "cc xx" },
		{ "a,b", "a,b", "a b" },
		{ "a{b}", "ab", "a a{b}" },
		{ "plugin/", "plugin", "plugin/x plugi" },
		{ "tools/*", "tools/x", "tools tools/x/y" },
		{ "./a/*.c", "a/x.c", "./a/x.c x.c" },
		{ ".changeset/**", ".changeset/x.md .changeset/a/b", ".changeset" },
		{ "@t/core", "@t/core", "t/core" },
		{ "a$b^c.d+(e)|f", "a$b^c.d+(e)|f", "a$b^cxd+(e)|f" },
		{ "../docs/*", "../docs/a", "docs/a" },
		{ "a!b", "a!b", "ab" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int no = 0; no <= 1; no++) {
			char paths[256], *save, *path;

			(void)snprintf(paths, sizeof(paths), "%s",
				       no ? rows[i].no : rows[i].yes);
			for (path = strtok_r(paths, " ", &save); path != NULL;
			     path = strtok_r(NULL, " ", &save))
				cr_expect(matches(rows[i].glob, path) == !no, "%s %s %s",
					  rows[i].glob, no ? "matches" : "does not match",
					  path);
		}
	}
}

Test(glob, takes_spaces_newlines_and_the_empty_path)
{
	cr_expect(matches("a b/*", "a b/c d"));
	cr_expect(matches("*", "a\nb"));
	cr_expect(matches("a\nb", "a\nb"));
	cr_expect(matches("*", ""));
	cr_expect(!matches("**", ""));
	cr_expect(!matches("a", ""));
	cr_expect(matches("{a,}", ""));
}

Test(glob, refuses_with_the_offset)
{
	static const struct {
		const char *glob, *start;
	} rows[] = {
		{ "", "offset 0: empty" },
		{ "/", "offset 0: a path is relative" },
		{ "/a", "offset 0: a path is relative" },
		{ "a//b", "offset 2: an empty segment" },
		{ "a//", "offset 1: an empty segment" },
		{ "[", "offset 0: \"[\" is not closed" },
		{ "ab[cd", "offset 2: \"[\" is not closed" },
		{ "[]", "offset 0: \"[\" is not closed" },
		{ "[!]", "offset 0: \"[\" is not closed" },
		{ "./x[", "offset 3: \"[\" is not closed" },
		{ "[b-a]", "offset 1: a range that runs backwards" },
		{ "[ac/]", "offset 3: a set cannot hold" },
		{ "[--/]", "offset 1: a set cannot hold" },
		{ "[[:alpha:]]", "offset 1: no named sets" },
		{ "{a,b", "offset 0: \"{\" is not closed" },
		{ "{a,[}]", "offset 0: \"{\" is not closed" },
		{ "{a,{b}", "offset 0: \"{\" is not closed" },
		{ "a}", "offset 1: \"}\" without" },
		{ "{}", "offset 0: \"{}\" holds nothing" },
		{ "!a", "offset 0: no negation" },
		{ "a\\*", "offset 1: no escapes" },
		{ "a**", "offset 1: \"**\" stands for whole segments" },
		{ "**a", "offset 0: \"**\" stands for whole segments" },
		{ "a/**b", "offset 2: \"**\" stands for whole segments" },
		{ "***", "offset 0: \"**\" stands for whole segments" },
		{ "{**,a}/b", "offset 1: \"**\" stands for whole segments" },
		{ "a{**/b,c}", "offset 2: \"**\" stands for whole segments" },
		{ "{a,b}**", "offset 5: \"**\" stands for whole segments" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = ERROR_INIT;
		struct glob *g = NULL;

		cr_expect(glob_compile(rows[i].glob, &g, &err) == -1, "%s passes",
			  rows[i].glob);
		cr_expect(strncmp(err.text, rows[i].start, strlen(rows[i].start)) == 0,
			  "%s: %s", rows[i].glob, err.text);
		cr_expect(g == NULL);
		glob_free(g);
	}
	glob_free(NULL);
}

static void
repeat(struct buf *out, const char *text, size_t times)
{
	while (times-- > 0)
		buf_puts(out, text);
}

Test(glob, bounds_size_and_nesting)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	struct glob *g = NULL;

	repeat(&text, "a", GLOB_BYTES_MAX + 1);
	cr_expect(glob_compile(text.data, &g, &err) == -1);
	text.data[GLOB_BYTES_MAX] = '\0';
	cr_expect(glob_compile(text.data, &g, &err) == 0);
	glob_free(g);
	g = NULL;
	buf_clear(&text);
	repeat(&text, "{", GLOB_BRACES_MAX + 1);
	buf_putc(&text, 'a');
	repeat(&text, "}", GLOB_BRACES_MAX + 1);
	cr_expect(glob_compile(text.data, &g, &err) == -1);
	cr_expect(strstr(err.text, "too deep") != NULL, "%s", err.text);
	text.data[text.len - 1] = '\0';
	cr_expect(glob_compile(text.data + 1, &g, &err) == 0);
	cr_expect(glob_matches(g, "a", 1));
	glob_free(g);
	buf_release(&text);
}

/* What takes other matchers for ever, or more memory than there is. */
Test(glob, takes_bounded_time, .timeout = 60)
{
	static const struct {
		const char *unit;
		size_t times;
		const char *end;
	} rows[] = {
		{ "*a", 2000, "b" },	 { "**/", 1000, "b" },
		{ "{a,b,c}", 500, "!" }, { "{a,*}", 800, "!" },
		{ "{,a}", 1000, "!" },	 { "{{{{a,}b,}c,}d,}", 200, "!" },
		{ "?*", 2000, "!" },
	};
	struct buf path = BUF_INIT;
	int64_t start = clock_now_ms();

	repeat(&path, "a", 4000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf text = BUF_INIT;

		repeat(&text, rows[i].unit, rows[i].times);
		buf_puts(&text, rows[i].end);
		cr_expect(!matches(text.data, path.data), "%s...", rows[i].unit);
		buf_release(&text);
	}
	cr_expect(clock_now_ms() - start < 20000, "%lld ms",
		  (long long)(clock_now_ms() - start));
	buf_release(&path);
}
