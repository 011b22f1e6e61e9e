/* SPDX-License-Identifier: MIT */
/*
 * Random histories, bases and changed paths against what git says of them.
 *
 * GEONOSIS_TEST_SEED and GEONOSIS_TEST_COUNT make other repositories, and more; a failure
 * prints the seed that makes its own (with a count of 1).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/base.h"
#include "git/changed.h"
#include "git/mark.h"
#include "git/snapshot.h"
#include "ipc/buf.h"
#include "ipc/mem.h"
#include "tests/git/fixture.h"
#include "tests/git/opened.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MARK "refs/geonosis/verified"

TestSuite(history_random, .init = fixture_enter, .fini = fixture_leave, .timeout = 600);

enum {
	REPOSITORIES = 100,
	COMMITS_MAX = 24
};

static const char *const names[] = {
	"a",	   "b",	      "a.b",	 "a/x",		"a/y/z",
	"a-b",	   "d/a",     "d/b",	 "d/e/f",	"d.e",
	"d0",	   "x y",     "q\"uote", "new\nline",	"\xff",
	"-dash",   "d/e/f/g", "back\\s", ".geonosis/r", "p/package.json",
	"p/q/r/s", "p/q/r.s", "p/q-r",	 "ignored/x"
};

static unsigned
pick(unsigned *seed, size_t n)
{
	return (unsigned)((size_t)rand_r(seed) % n);
}

static bool
chance(unsigned *seed, unsigned percent)
{
	return pick(seed, 100) < percent;
}

/* Quoted for fast-import, always. */
static void
name_print(struct buf *b, const char *name)
{
	char *quoted = path_quote(name);

	if (*quoted == '"')
		buf_puts(b, quoted);
	else if (strpbrk(name, "\"\\") == NULL)
		buf_printf(b, "\"%s\"", name);
	else
		buf_puts(b, name);
	free(quoted);
}

static void
file_print(struct buf *b, unsigned *seed)
{
	const char *name = names[pick(seed, COUNT(names))];
	static const char *const modes[] = { "100644", "100644", "100644", "100755",
					     "120000" };

	if (chance(seed, 25)) {
		buf_puts(b, "D ");
		name_print(b, name);
		buf_putc(b, '\n');
		return;
	}
	if (chance(seed, 5)) {
		buf_puts(b, "M 160000 00000000000000000000000000000000000000");
		buf_printf(b, "%02x ", 17 + pick(seed, 3));
		name_print(b, name);
		buf_putc(b, '\n');
		return;
	}
	buf_printf(b, "M %s inline ", modes[pick(seed, COUNT(modes))]);
	name_print(b, name);
	buf_printf(b, "\ndata 2\n%c\n\n", 'a' + (char)pick(seed, 4));
}

static void
commit_print(struct buf *b, unsigned *seed, unsigned i)
{
	/* Clocks that go wrong, now and then. */
	unsigned at = chance(seed, 10) ? 1000 + pick(seed, 100000) : 1000000 + 60 * i;
	unsigned n = 1 + pick(seed, 3), merges = chance(seed, 30) ? 1 + pick(seed, 2) : 0;

	buf_printf(b, "commit refs/heads/c%u\nmark :%u\ncommitter t <t@t> %u +0000\n", i,
		   i, at);
	buf_printf(b, "data 2\n%02u\n", i);
	if (i > 1 && !chance(seed, 5)) {
		buf_printf(b, "from :%u\n",
			   chance(seed, 60) ? i - 1 : 1 + pick(seed, i - 1));
		while (merges-- > 0)
			buf_printf(b, "merge :%u\n", 1 + pick(seed, i - 1));
	}
	if (i == 1)
		buf_puts(b, "M 100644 inline .gitignore\ndata 8\nignored\n\n");
	while (n-- > 0)
		file_print(b, seed);
}

/* HEAD and the mark at two of so many commits. */
static void
repository_make(unsigned *seed)
{
	unsigned n = 1 + pick(seed, COMMITS_MAX), i;
	struct buf b = BUF_INIT;
	char *command;
	FILE *f;

	for (i = 1; i <= n; i++)
		commit_print(&b, seed, i);
	f = fopen("../history", "w");
	cr_assert(f != NULL && fwrite(b.data, 1, b.len, f) == b.len && fclose(f) == 0);
	buf_release(&b);
	sh("git fast-import --quiet <../history");
	command = xasprintf("git update-ref " MARK " c%u && git checkout -q -f %s c%u",
			    1 + pick(seed, n), chance(seed, 50) ? "--detach" : "",
			    1 + pick(seed, n));
	sh(command);
	free(command);
	if (chance(seed, 30))
		sh("git gc -q");
	if (chance(seed, 20))
		sh("git pack-refs --all");
	if (chance(seed, 20))
		sh("git commit-graph write --reachable");
}

static const char *const edits[] = {
	"printf %u >>\"$f\"",
	"rm -rf \"$f\"",
	"mkdir -p \"$(dirname \"$f\")\"; printf %u "
	">\"$f\"",
	"git add -A -- \"$f\"",
	"git rm -q --cached -- \"$f\"",
	"chmod +x \"$f\"",
	"ln -sfn %u \"$f\"",
	"git mv -- \"$f\" moved%u",
	"touch -- \"$f\"",
	"test -f \"$f\" && git update-index --assume-unchanged -- \"$f\"",
	"test -f \"$f\" && git update-index --skip-worktree -- \"$f\" && printf %u "
	">>\"$f\"",
	"git add -N -- \"$f\"",
	"git commit -qm edit",
	"mkdir -p \"$f\"",
};

static void
edits_make(unsigned *seed)
{
	unsigned n = pick(seed, 9);
	struct buf b = BUF_INIT;

	while (n-- > 0) {
		const char *name = names[pick(seed, COUNT(names))], *p;
		const char *edit = edits[pick(seed, COUNT(edits))];

		buf_puts(&b, "f='");
		buf_puts(&b, name); /* none has a ' */
		buf_puts(&b, "'; ( ");
		for (p = edit; *p != '\0'; p++) {
			if (p[0] == '%' && p[1] == 'u') {
				buf_printf(&b, "%u", pick(seed, 1000));
				p++;
			} else {
				buf_putc(&b, *p);
			}
		}
		buf_puts(&b, " )\n");
	}
	buf_puts(&b, "true\n");
	scratch_write("../edits", b.data);
	sh("sh -f ../edits 2>&1");
	buf_release(&b);
}

/*
 * What git has to say, with the flags taken off a copy of the index: NUL-ended paths that
 * differ from the commit in $1.
 */
static const char oracle[] =
    "cp .git/index ../index && export GIT_INDEX_FILE=\"$PWD/../index\" &&"
    " git ls-files -z | git update-index -z --no-assume-unchanged --stdin 2>/dev/null;"
    " git ls-files -z | git update-index -z --no-skip-worktree --stdin 2>/dev/null;"
    " git update-index -q --refresh;"
    " git diff-index --cached -z --name-only --no-renames --ignore-submodules=none $1;"
    " git diff-files -z --name-only --no-renames --ignore-submodules=none;"
    " git ls-files -z --others --exclude-standard";

static int
path_compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Read, sorted, each once, without .geonosis. */
static struct changed
oracle_ask(const char *commit)
{
	char *command = xasprintf("sh ../oracle %s >../answer 2>/dev/null", commit);
	struct changed c = CHANGED_INIT;
	struct buf b = BUF_INIT;
	size_t room = 0, i, n = 0;
	char chunk[4096];
	const char *p;
	size_t got;
	FILE *f;

	cr_assert(system(command) >= 0);
	free(command);
	f = fopen("../answer", "r");
	cr_assert(f != NULL);
	while ((got = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_append(&b, chunk, got);
	(void)fclose(f);
	for (p = buf_text(&b); p < buf_text(&b) + b.len; p += strlen(p) + 1) {
		size_t len = strlen(p);

		if (strncmp(p, ".geonosis/", 10) == 0)
			continue;
		c.paths = xgrow(c.paths, c.npaths + 1, &room, sizeof(*c.paths));
		c.paths[c.npaths++] = xstrndup(p, len - (p[len - 1] == '/'));
	}
	buf_release(&b);
	if (c.npaths > 1)
		qsort(c.paths, c.npaths, sizeof(*c.paths), path_compare);
	for (i = 0; i < c.npaths; i++) {
		if (n > 0 && strcmp(c.paths[n - 1], c.paths[i]) == 0)
			free(c.paths[i]);
		else
			c.paths[n++] = c.paths[i];
	}
	c.npaths = n;
	return c;
}

static char *
paths_text(const struct changed *c)
{
	struct buf b = BUF_INIT;
	size_t i;

	buf_puts(&b, "");
	for (i = 0; i < c->npaths; i++)
		buf_printf(&b, "%s|", c->paths[i]);
	return buf_steal(&b);
}

static void
changed_check(const struct opened *o, const char *commit, unsigned seed)
{
	struct changed is = CHANGED_INIT, wanted;
	struct error e = ERROR_INIT;
	char *a, *b;

	cr_assert(changed_find(&o->repository, &commit, 1, &is, &e) == 0, "seed %u: %s",
		  seed, e.text);
	wanted = oracle_ask(commit);
	a = paths_text(&is);
	b = paths_text(&wanted);
	cr_assert_str_eq(a, b, "seed %u, since %s:\n  here %s\n  git  %s", seed, commit,
			 a, b);
	free(a);
	free(b);
	changed_release(&is);
	changed_release(&wanted);
}

/* Every file of the commit, by its name in the tree, as git shows it. */
static void
snapshot_check(const struct opened *o, const char *commit, unsigned seed)
{
	struct snapshot *s = NULL;
	struct error e = ERROR_INIT;
	size_t i;

	cr_assert(snapshot_open(&o->repository, commit, "", &s, &e) == 0, "seed %u: %s",
		  seed, e.text);
	scratch_write("../show", "git cat-file blob \"$1:$2\" 2>/dev/null; echo .");
	for (i = 0; i < 3; i++) {
		unsigned at = seed + (unsigned)i;
		const char *name = names[pick(&at, COUNT(names))];
		char *command = xasprintf("sh ../show %s '%s'", commit, name);
		char *shown = out(command), *mine;
		struct buf content = BUF_INIT;

		if (snapshot_read(s, name, 4096, &content, &e) < 0)
			cr_assert_fail("seed %u: %s", seed, e.text);
		mine = xasprintf("%s.", buf_text(&content));
		cr_assert_str_eq(mine, shown, "seed %u: %s: %s, not %s", seed, name, mine,
				 shown);
		buf_release(&content);
		free(mine);
		free(shown);
		free(command);
	}
	snapshot_free(s);
}

/* Does the index say which tree it is? */
static bool
repository_check(unsigned seed)
{
	struct opened *o = opened_new(".");
	char *wanted = out("git merge-base HEAD " MARK);
	struct mark m = MARK_INIT;
	struct base b = BASE_INIT;
	bool is_tree = o->key.index[0] != '\0';

	mark_read(&o->repository, MARK, &m);
	cr_assert(m.state == MARK_FOUND, "seed %u: %s", seed, m.why.text);
	base_find(&o->repository, m.commit, &b);
	cr_assert_str_eq(b.commit, wanted, "seed %u: base %s, not %s (%s)", seed,
			 b.commit, wanted, b.why.text);
	cr_assert(b.state == (*wanted == '\0' ? BASE_UNRELATED : BASE_FOUND), "seed %u",
		  seed);
	if (*wanted != '\0')
		changed_check(o, b.commit, seed);
	changed_check(o, m.commit, seed);
	changed_check(o, o->key.head, seed);
	snapshot_check(o, m.commit, seed);
	free(wanted);
	opened_free(o);
	return is_tree;
}

static unsigned
number(const char *name, unsigned usual)
{
	const char *v = getenv(name);

	return v == NULL || *v == '\0' ? usual : (unsigned)strtoul(v, NULL, 10);
}

Test(history_random, is_what_git_says)
{
	unsigned first = number("GEONOSIS_TEST_SEED", 1), ntrees = 0, i;
	unsigned n = number("GEONOSIS_TEST_COUNT", REPOSITORIES);

	cr_assert(chdir("..") == 0);
	scratch_write("oracle", oracle);
	for (i = 0; i < n; i++) {
		unsigned seed = first + i;

		sh("rm -rf r && git init -q r");
		cr_assert(chdir("r") == 0);
		repository_make(&seed);
		edits_make(&seed);
		ntrees += repository_check(first + i);
		cr_assert(chdir("..") == 0);
	}
	/* With git and without it, both must have been met. */
	cr_expect(n < REPOSITORIES || (ntrees > 0 && ntrees < n), "%u of %u", ntrees, n);
}
