/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "git/base.h"
#include "git/changed.h"
#include "git/commit.h"
#include "ipc/buf.h"
#include "ipc/mem.h"
#include "tests/git/fixture.h"
#include "tests/git/opened.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TestSuite(base, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);
TestSuite(changed, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);
TestSuite(name, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);
TestSuite(path, .timeout = 120);

#define COMMIT(name) " && git commit -q --allow-empty -m " name

/* Of HEAD here and what `tip` names: the state, and the commit that `wanted` names. */
static void
base_expect(const char *tip, enum base_state state, const char *wanted, bool has_head)
{
	struct opened *o = opened_new(".");
	struct base b = BASE_INIT;
	struct error e = ERROR_INIT;
	char hex[DIGEST_HEX_SIZE], is[DIGEST_HEX_SIZE] = "";

	cr_assert(commit_of_name(&o->repository, tip, hex, &e) == 1, "%s", tip);
	if (wanted != NULL)
		cr_assert(commit_of_name(&o->repository, wanted, is, &e) == 1, "%s",
			  wanted);
	base_find(&o->repository, hex, &b);
	cr_expect(b.state == state, "%s: state %d: %s", tip, (int)b.state, b.why.text);
	cr_expect_str_eq(b.commit, is, "%s: %s, not %s (%s)", tip, b.commit, is, wanted);
	cr_expect_str_eq(b.tip, hex);
	cr_expect(b.has_head == has_head, "%s", tip);
	cr_expect((b.why.text[0] == '\0') == (state == BASE_FOUND), "%s", b.why.text);
	opened_free(o);
}

Test(base, of_a_line)
{
	sh("true" COMMIT("1") COMMIT("2") COMMIT("3") " && git tag -a -m x t HEAD~2");
	base_expect("HEAD", BASE_FOUND, "HEAD", true);
	base_expect("HEAD~1", BASE_FOUND, "HEAD~1", false);
	base_expect("t", BASE_FOUND, "HEAD~2", false);
	sh("git checkout -q --detach HEAD~1");
	base_expect("main", BASE_FOUND, "main~1", true);
}

Test(base, of_a_fork_and_of_a_merge)
{
	sh("true" COMMIT("1") " && git tag fork" COMMIT(
	    "2") " && git checkout -q -b side "
		 "fork" COMMIT("3") COMMIT("4"));
	base_expect("main", BASE_FOUND, "fork", false);
	sh("git merge -q -m m main");
	base_expect("main", BASE_FOUND, "main", false);
	sh("git checkout -q main");
	base_expect("side", BASE_FOUND, "main", true);
}

Test(base, far_away)
{
	sh("true" COMMIT("1") " && git tag old && for i in $(seq 150); do git commit -q "
			      "--allow-empty -m $i; done && git tag new");
	base_expect("old", BASE_FOUND, "old", false);
	sh("git checkout -q --detach old");
	base_expect("new", BASE_FOUND, "old", true);
}

Test(base, where_clocks_went_back)
{
	sh("export GIT_COMMITTER_DATE='2030-01-01T00:00:00Z'" COMMIT(
	    "1") " && git tag old && export "
		 "GIT_COMMITTER_DATE='2001-01-01T00:00:00Z'" COMMIT("2") COMMIT("3"));
	base_expect("old", BASE_FOUND, "old", false);
}

Test(base, of_unrelated_histories)
{
	sh("true" COMMIT("1") " && git checkout -q --orphan other" COMMIT("2"));
	base_expect("main", BASE_UNRELATED, NULL, false);
}

Test(base, with_no_commit_yet)
{
	struct opened *o;
	struct base b = BASE_INIT;
	char *hex;

	sh("true" COMMIT("1") " && git checkout -q --orphan other");
	hex = out("git rev-parse main");
	o = opened_new(".");
	base_find(&o->repository, hex, &b);
	cr_expect(b.state == BASE_UNRELATED && !b.has_head && b.why.text[0] != '\0');
	opened_free(o);
	free(hex);
}

Test(base, of_a_commit_that_is_not_here)
{
	static const char *const hexes[] = { "dddddddddddddddddddddddddddddddddddddddd",
					     "dddd", "", "no hex at all" };
	struct opened *o;
	size_t i;

	sh("true" COMMIT("1"));
	o = opened_new(".");
	for (i = 0; i < COUNT(hexes); i++) {
		struct base b = BASE_INIT;

		base_find(&o->repository, hexes[i], &b);
		cr_expect(b.state == BASE_UNREADABLE, "%s: %d", hexes[i], (int)b.state);
		cr_expect(b.why.text[0] != '\0' && strchr(b.why.text, '\n') == NULL);
	}
	opened_free(o);
}

/* r has commits 1 to 4; a clone of it, gone into. */
static void
clone_enter(const char *options)
{
	char *command = xasprintf("git -C ../r config uploadpack.allowFilter true &&"
				  " git -c protocol.file.allow=always clone -q %s"
				  " file://$PWD ../clone",
				  options);

	sh(command);
	cr_assert(chdir("../clone") == 0);
	free(command);
}

Test(base, in_shallow_clones)
{
	sh("true" COMMIT("1") COMMIT("2") COMMIT("3") COMMIT("4"));
	clone_enter("--depth 2");
	base_expect("HEAD~1", BASE_FOUND, "HEAD~1", false);
	base_expect("HEAD", BASE_FOUND, "HEAD", true);
}

Test(base, beyond_a_shallow_history)
{
	sh("true" COMMIT("1") " && git checkout -q -b side" COMMIT(
	    "2") " && git checkout "
		 "-q main" COMMIT("3"));
	clone_enter("--depth 1 --no-single-branch");
	base_expect("origin/side", BASE_UNREADABLE, NULL, false);
}

Test(base, in_a_partial_clone_without_trees)
{
	sh("echo a >a && git add a" COMMIT("1") COMMIT("2") COMMIT("3"));
	clone_enter("--filter=tree:0");
	sh("git config remote.origin.url file:///nonexistent");
	base_expect("HEAD~2", BASE_FOUND, "HEAD~2", false);
}

Test(base, of_main)
{
	static const struct {
		const char *setup, *wanted;
		bool has_head;
	} rows[] = {
		{ "git checkout -q -b topic" COMMIT("t"), "main", false },
		{ "git update-ref refs/remotes/origin/main HEAD~1 && git branch -q -m "
		  "main"
		  " topic",
		  "HEAD~1", false },
		{ "git update-ref refs/remotes/origin/main HEAD && git branch -q -m "
		  "trunk",
		  "HEAD", true },
		{ "git branch -q -m trunk", NULL, false },
		{ "git branch -q -m trunk && git tag main", NULL, false },
	};
	size_t i;

	sh("true" COMMIT("1") COMMIT("2"));
	cr_assert(chdir("..") == 0);
	for (i = 0; i < COUNT(rows); i++) {
		struct base b = BASE_INIT;
		struct opened *o;
		char *wanted, *command;
		int rc;

		sh("rm -rf s && cp -a r s");
		cr_assert(chdir("s") == 0);
		sh(rows[i].setup);
		o = opened_new(".");
		rc = base_find_main(&o->repository, &b);
		cr_expect(rc == (rows[i].wanted != NULL), "%zu: %d", i, rc);
		if (rows[i].wanted != NULL) {
			command = xasprintf("git rev-parse %s", rows[i].wanted);
			wanted = out(command);
			cr_expect(b.state == BASE_FOUND, "%zu: %s", i, b.why.text);
			cr_expect_str_eq(b.commit, wanted, "%zu", i);
			cr_expect(b.has_head == rows[i].has_head, "%zu", i);
			free(wanted);
			free(command);
		}
		opened_free(o);
		cr_assert(chdir("..") == 0);
	}
}

Test(base, of_a_main_that_is_broken)
{
	struct base b = BASE_INIT;
	struct opened *o;

	sh("true" COMMIT(
	    "1") " && git checkout -q -b topic && echo x >.git/refs/heads/main");
	o = opened_new(".");
	cr_expect(base_find_main(&o->repository, &b) == 1);
	cr_expect(b.state == BASE_UNREADABLE && b.why.text[0] != '\0');
	opened_free(o);
}

static const struct {
	const char *name, *wanted; /* NULL: unknown */
} person[] = {
	{ "HEAD", "HEAD" },
	{ "HEAD~1", "HEAD~1" },
	{ "v1", "HEAD~1" },
	{ "main", "HEAD" },
	{ "refs/heads/main", "HEAD" },
	{ ":/first", "HEAD~1" },
	{ "@", "HEAD" },
	{ "nope", NULL },
	{ "", NULL },
	{ "HEAD~9", NULL },
	{ "HEAD:a", NULL },
	{ "HEAD^{tree}", NULL },
	{ "^HEAD", NULL },
	{ "HEAD..HEAD", NULL },
	{ "--all", NULL },
	{ "-q", NULL },
	{ "--", NULL },
	{ "dddddddddddddddddddddddddddddddddddddddd", NULL },
	{ "new\nline", NULL },
};

Test(name, that_a_person_writes)
{
	struct opened *o;
	size_t i;

	sh("echo a >a && git add a" COMMIT("first") " && git tag -a -m x v1" COMMIT("2"));
	o = opened_new(".");
	for (i = 0; i < COUNT(person); i++) {
		char hex[DIGEST_HEX_SIZE] = "", *command, *wanted;
		struct error e = ERROR_INIT;
		int rc = commit_of_name(&o->repository, person[i].name, hex, &e);

		cr_expect(rc == (person[i].wanted != NULL), "'%s': %d", person[i].name,
			  rc);
		if (person[i].wanted == NULL)
			continue;
		command = xasprintf("git rev-parse %s", person[i].wanted);
		wanted = out(command);
		cr_expect_str_eq(hex, wanted, "'%s'", person[i].name);
		free(command);
		free(wanted);
	}
	opened_free(o);
}

/* The changed paths against what the names stand for (NULL ends), joined by '|'. */
static char *
changed_text(const char *dir, const char *const *names)
{
	struct opened *o = opened_new(dir);
	struct changed c = CHANGED_INIT;
	struct error e = ERROR_INIT;
	char hexes[4][DIGEST_HEX_SIZE];
	const char *commits[4];
	struct buf b = BUF_INIT;
	size_t n, i;

	for (n = 0; names[n] != NULL; n++) {
		cr_assert(commit_of_name(&o->repository, names[n], hexes[n], &e) == 1,
			  "%s", names[n]);
		commits[n] = hexes[n];
	}
	cr_assert(changed_find(&o->repository, commits, n, &c, &e) == 0, "%s", e.text);
	buf_puts(&b, "");
	for (i = 0; i < c.npaths; i++)
		buf_printf(&b, "%s%s", i == 0 ? "" : "|", c.paths[i]);
	changed_release(&c);
	opened_free(o);
	return buf_steal(&b);
}

static void
changed_expect(const char *name, const char *wanted)
{
	const char *const names[] = { name, NULL };
	char *is = changed_text(".", names);

	cr_expect_str_eq(is, wanted, "since %s: '%s', wanted '%s'", name, is, wanted);
	free(is);
}

/* What each row starts from. */
static const char files[] =
    "mkdir -p src/lib out && echo one >a && echo two >src/b && echo three >src/lib/c &&"
    " printf '#!/bin/sh\\n' >run && chmod +x run && ln -s a link && echo out/ "
    ">.gitignore && echo x >out/gen && git add -A && git commit -qm base && git tag base";

static const struct {
	const char *edit, *wanted;
} edits[] = {
	{ "true", "" },
	{ "echo more >>a", "a" },
	{ "echo more >>a && git add a", "a" },
	{ "echo more >>a && git commit -qam x", "a" },
	{ "echo more >>a && git add a && git show base:a >a", "a" },
	{ "echo more >>a && git commit -qam x && git show base:a >a", "a" },
	{ "touch a src/b", "" },
	{ "git mv a z", "a|z" },
	{ "git mv a z && git commit -qm x", "a|z" },
	{ "mv a z", "a|z" },
	{ "cp a z && git add z", "z" },
	{ "rm src/b", "src/b" },
	{ "git rm -q --cached src/b", "src/b" },
	{ "rm -r src && echo x >src", "src|src/b|src/lib/c" },
	{ "rm a && mkdir a && echo x >a/x", "a|a/x" },
	{ "chmod -x run", "run" },
	{ "chmod -x run && git commit -qam x", "run" },
	{ "rm link && echo a >link", "link" },
	{ "ln -sf b link", "link" },
	{ "echo x >out/more", "" },
	{ "echo x >out/more && git add -f out/more && git commit -qm x", "out/more" },
	{ "mkdir -p .geonosis src/.geonosis && echo x >.geonosis/x && echo x "
	  ">src/.geonosis/y",
	  "" },
	{ "mkdir .geonosis && echo x >.geonosis/x && git add -f .geonosis && git commit "
	  "-qm x",
	  "" },
	{ "echo x >.geonosisx && echo x >src/x.geonosis", ".geonosisx|src/x.geonosis" },
	{ "git update-index --assume-unchanged a && echo more >>a", "a" },
	{ "git update-index --skip-worktree a && echo more >>a", "a" },
	{ "git update-index --assume-unchanged a", "" },
	{ "git update-index --skip-worktree a && rm a", "a" },
	{ "git update-index --assume-unchanged a && rm a", "a" },
	{ "echo x >new && git add -N new", "new" },
	{ "mkdir inner && git -C inner init -q && git -C inner commit -q --allow-empty "
	  "-m "
	  "x",
	  "inner" },
	{ "git config status.showUntrackedFiles no && echo x >new", "new" },
	{ "git config diff.renames copies && git mv a z && git commit -qm x", "a|z" },
	{ "git config diff.ignoreSubmodules all && git config diff.noprefix true && git "
	  "config diff.relative true && git config diff.orderFile /dev/null && echo >>a "
	  "&& "
	  "git commit -qam x",
	  "a" },
	{ "git config core.fileMode false && chmod -x run", "" },
	{ "git config core.fsmonitor true; echo x >>a", "a" },
	{ "echo x >'s p' && echo x >'-d' && printf x >\"$(printf 'n\\nl')\" && printf x "
	  ">\"$(printf '\\377')\"",
	  "-d|n\nl|s p|\xff" },
	{ "git checkout -q -b side && echo s >>a && git commit -qam s && git checkout -q "
	  "main && echo m >>a && git commit -qam m && ! git merge -q side",
	  "a" },
	{ "git update-index --index-version 4 && git update-index --split-index && echo "
	  "x "
	  ">>a && git add a",
	  "a" },
	{ "git checkout -q --orphan fresh && echo x >>a", "a" },
	{ "rm .git/index", ".gitignore|a|link|run|src/b|src/lib/c" },
};

Test(changed, table)
{
	size_t i;

	sh(files);
	cr_assert(chdir("..") == 0);
	for (i = 0; i < COUNT(edits); i++) {
		sh("rm -rf s && cp -a r s");
		cr_assert(chdir("s") == 0);
		sh("git update-index -q --refresh; true");
		sh(edits[i].edit);
		{
			const char *const names[] = { "base", NULL };
			char *is = changed_text(".", names);

			cr_expect_str_eq(is, edits[i].wanted, "%s: '%s'", edits[i].edit,
					 is);
			free(is);
		}
		cr_assert(chdir("..") == 0);
	}
}

Test(changed, since_more_than_one)
{
	static const char *const names[] = { "base", "side", "base", NULL };
	char *is;

	sh(files);
	sh("git checkout -q -b side && echo s >s && git add s && git commit -qm s &&"
	   " git checkout -q main && echo m >m && git add m && git commit -qm m && echo "
	   "u "
	   ">u");
	is = changed_text(".", names);
	cr_expect_str_eq(is, "m|s|u", "%s", is);
	free(is);
}

Test(changed, since_nothing)
{
	static const char *const none[] = { NULL };
	char *is;

	sh("echo a >a && echo b >b && git add a");
	is = changed_text(".", none);
	cr_expect_str_eq(is, "a|b", "%s", is);
	free(is);
}

Test(changed, in_a_sparse_checkout)
{
	static const char *const kinds[] = { "--no-sparse-index", "--sparse-index" };
	size_t i;

	sh(files);
	sh("mkdir -p p/a p/b && echo 1 >p/a/x && echo 1 >p/b/x && git add -A && git "
	   "commit "
	   "-qm p && git tag -f base && echo 2 >p/b/x && git commit -qam b");
	for (i = 0; i < COUNT(kinds); i++) {
		char *command = xasprintf("git sparse-checkout set %s p/a", kinds[i]);

		sh(command);
		changed_expect("HEAD", "");
		changed_expect("base", "p/b/x");
		sh("mkdir -p p/b && echo 3 >p/b/y");
		changed_expect("HEAD", "p/b/y");
		sh("rm -r p/b; git sparse-checkout disable");
		free(command);
	}
}

Test(changed, submodules_are_one_path)
{
	sh(files);
	sh("git init -q ../lib && git -C ../lib commit -q --allow-empty -m 1 &&"
	   " git -c protocol.file.allow=always submodule add -q file://$PWD/../lib sub &&"
	   " git commit -qm sub && git tag -f base");
	changed_expect("base", "");
	sh("echo x >sub/x");
	changed_expect("base", "sub");
	sh("git -C sub add x && git -C sub commit -qm x");
	changed_expect("base", "sub");
	sh("git commit -qam moved");
	changed_expect("base", "sub");
	changed_expect("HEAD", "");
	sh("git submodule deinit -q -f sub && mkdir -p sub && echo x >sub/hidden");
	changed_expect("HEAD", "sub/hidden");
	sh("git rm -q --cached sub");
	changed_expect("HEAD", "sub|sub/hidden");
}

Test(changed, in_a_submodule_it_is_the_submodule_s)
{
	sh(files);
	sh("git init -q ../lib && echo 1 >../lib/l && git -C ../lib add l && git -C "
	   "../lib "
	   "commit -qm 1 && git -c protocol.file.allow=always submodule add -q "
	   "file://$PWD/../lib sub && git commit -qm sub && echo x >a && echo x >sub/l");
	cr_assert(chdir("sub") == 0);
	changed_expect("HEAD", "l");
}

Test(changed, in_a_linked_worktree)
{
	sh(files);
	sh("git worktree add -q -b side ../wt && echo dirt >>a && echo x >../wt/x");
	cr_assert(chdir("../wt") == 0);
	changed_expect("HEAD", "x");
	changed_expect("main", "x");
}

Test(changed, in_a_partial_clone_nothing_is_fetched)
{
	sh(files);
	sh("echo more >>a && git commit -qam more");
	clone_enter("--filter=blob:none");
	sh("git config remote.origin.url file:///nonexistent && echo x >x");
	changed_expect("HEAD~1", "a|x");
}

Test(changed, in_shallow_clones)
{
	sh(files);
	sh("echo more >>a && git commit -qam more");
	clone_enter("--depth 1");
	sh("echo x >x");
	changed_expect("HEAD", "x");
}

Test(changed, with_sha256)
{
	sh("git init -q --object-format=sha256 ../r256");
	cr_assert(chdir("../r256") == 0);
	sh(files);
	sh("echo more >>a && git commit -qam more && echo x >x");
	changed_expect("base", "a|x");
	base_expect("base", BASE_FOUND, "base", false);
}

Test(changed, since_what_is_not_there)
{
	static const char *const gone[] = { "dddddddddddddddddddddddddddddddddddddddd" };
	struct changed c = CHANGED_INIT;
	struct error e = ERROR_INIT;
	struct opened *o;

	sh(files);
	o = opened_new(".");
	cr_expect(changed_find(&o->repository, gone, 1, &c, &e) < 0);
	cr_expect(e.text[0] != '\0' && c.paths == NULL);
	opened_free(o);
}

Test(changed, with_a_key_that_knows_of_none)
{
	struct repository r = REPOSITORY_INIT;
	struct tree_key k = TREE_KEY_INIT;
	struct changed c = CHANGED_INIT;
	struct error e = ERROR_INIT;

	sh(files);
	sh("echo more >>a");
	cr_assert(tree_key_compute(".", NULL, &k, &e) == 0, "%s", e.text);
	cr_assert(repository_open(&k, &r, &e) == 0, "%s", e.text);
	cr_expect(changed_find(&r, NULL, 0, &c, &e) < 0);
	repository_release(&r);
	tree_key_release(&k);
}

Test(changed, someone_else_s_repository)
{
	struct tree_key k = TREE_KEY_INIT;
	struct error e = ERROR_INIT;
	char *git;

	if (getuid() != 0)
		cr_skip_test("only root can give a repository away");
	sh(files);
	sh("chown -R 65534 .");
	git = out("git rev-parse HEAD 2>&1 || true");
	cr_assert(strstr(git, "safe.directory") != NULL || strstr(git, "dubious") != NULL,
		  "%s", git);
	cr_expect(tree_key_compute(".", NULL, &k, &e) == 0, "%s", e.text);
	cr_expect(k.state == TREE_DUBIOUS && strstr(k.why, "safe.directory") != NULL);
	tree_key_release(&k);
	sh("git config --global --add safe.directory \"$PWD\"");
	changed_expect("HEAD", "");
	free(git);
}

static const struct {
	const char *subdir, *path, *wanted;
} froms[] = {
	{ "", "a", "a" },
	{ "", "a/b", "a/b" },
	{ "a", "a/b", "b" },
	{ "a", "a/b/c", "b/c" },
	{ "a", "b", "../b" },
	{ "a", "ab", "../ab" },
	{ "ab", "a", "../a" },
	{ "ab", "a/b", "../a/b" },
	{ "a/b", "a/c", "../c" },
	{ "a/b", "a/b/c", "c" },
	{ "a/b", "c", "../../c" },
	{ "a/b", "a/bc/d", "../bc/d" },
	{ "a/b/c", "a/x", "../../x" },
	{ "a/b", "a/b", "../b" },
	{ "a", "a", "../a" },
	{ "a/b", "a", "../../a" },
};

Test(path, from_a_directory)
{
	size_t i;

	for (i = 0; i < COUNT(froms); i++) {
		char *is = path_from(froms[i].subdir, froms[i].path);

		cr_expect_str_eq(is, froms[i].wanted, "%s from %s: %s", froms[i].path,
				 froms[i].subdir, is);
		free(is);
	}
}

static const struct {
	const char *path, *wanted;
} quotes[] = {
	{ "a b", "a b" },
	{ "a\"b\\", "a\"b\\" },
	{ "\xff\xc3\xa9", "\xff\xc3\xa9" },
	{ "\"a", "\"\\\"a\"" },
	{ "a\nb\tc", "\"a\\nb\\tc\"" },
	{ "\a\b\v\f\r\x01\x7f\"\\", "\"\\a\\b\\v\\f\\r\\001\\177\\\"\\\\\"" },
	{ "\x1b[31m\xff", "\"\\033[31m\xff\"" },
	{ "", "" },
};

Test(path, quoted)
{
	size_t i;

	for (i = 0; i < COUNT(quotes); i++) {
		char *is = path_quote(quotes[i].path);

		cr_expect_str_eq(is, quotes[i].wanted, "%s", is);
		free(is);
	}
}

Test(name, quoted_as_git_quotes_it)
{
	char *is, *git;
	char name[64];
	size_t n = 0;
	int c;

	for (c = 1; c < 128; c++) /* in three names: one would be too long */
		if (c != '/' && (c < 0x20 || c == 0x7f || c == '"' || c == '\\'))
			name[n++] = (char)c;
	name[n] = '\0';
	scratch_write(name, "x");
	git = out("git -c core.quotePath=false ls-files --others");
	is = path_quote(name);
	cr_expect_str_eq(is, git);
	free(is);
	free(git);
}

Test(name, of_a_directory)
{
	struct error e = ERROR_INIT;
	struct opened *o;
	char *is;

	sh("mkdir -p 'a b/c' && ln -s 'a b/c' l" COMMIT("1"));
	o = opened_new("a b");
	is = repository_subdir(&o->repository, ".", &e);
	cr_expect_str_eq(is, "");
	free(is);
	is = repository_subdir(&o->repository, "a b/c/.", &e);
	cr_expect_str_eq(is, "a b/c");
	free(is);
	is = repository_subdir(&o->repository, "l", &e);
	cr_expect_str_eq(is, "a b/c");
	free(is);
	cr_expect_null(repository_subdir(&o->repository, "..", &e));
	cr_expect_null(repository_subdir(&o->repository, "none", &e));
	opened_free(o);
}
