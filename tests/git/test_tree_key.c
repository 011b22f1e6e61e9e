/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/tree_key.h"
#include "ipc/buf.h"
#include "tests/git/fixture.h"

TestSuite(tree_key, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);

/* What each row starts from: committed files, a link, an ignored directory. */
static const char base[] =
    "mkdir -p src/lib out && echo one >a && echo two >src/b && echo three >src/lib/c &&"
    " printf '#!/bin/sh\\n' >run && chmod +x run && ln -s a link &&"
    " printf 'out/\\nnode_modules/\\n*.log\\n' >.gitignore && echo x >out/gen &&"
    " git add -A && git commit -qm base";

static struct tree_key
key_of(const char *dir)
{
	struct tree_key_options options = { .want_changes = true };
	struct tree_key k = TREE_KEY_INIT;
	struct error e = ERROR_INIT;

	cr_assert(tree_key_compute(dir, &options, &k, &e) == 0, "%s", e.text);
	return k;
}

static void
hex_of(const char *dir, char hex[DIGEST_HEX_SIZE])
{
	struct tree_key k = key_of(dir);

	cr_assert(k.state == TREE_FOUND, "%s", k.why == NULL ? "?" : k.why);
	memcpy(hex, k.hex, DIGEST_HEX_SIZE);
	tree_key_release(&k);
}

/* The changes as one string: `M a, ? b`. */
static char *
changes_text(const struct tree_key *k)
{
	static const char letters[] = { 'A', 'M', 'D', 'T', 'U', '?' };
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < k->nchanges; i++)
		buf_printf(&b, "%s%c %s", i == 0 ? "" : ", ", letters[k->changes[i].kind],
			   k->changes[i].path);
	if (b.data == NULL)
		buf_puts(&b, "");
	return buf_steal(&b);
}

static void
changes_expect(const char *dir, const char *wanted)
{
	struct tree_key k = key_of(dir);
	char *text = changes_text(&k);

	cr_expect_str_eq(text, wanted);
	free(text);
	tree_key_release(&k);
}

struct row {
	const char *name;
	const char *before; /* beside `base`, or NULL */
	const char *change;
};

/* A same-size edit that puts the times back. */
#define SAME_SIZE(path)                                    \
	"touch -r " path " ../t && printf X | dd of=" path \
	" conv=notrunc bs=1 count=1 && touch -r ../t " path

/* A file that a filter makes upper case of. */
#define UP_FILTER                                                            \
	"git config filter.up.clean 'tr a-z A-Z' && echo '*.sec filter=up' " \
	">.gitattributes && echo s >x.sec && git add -A && git commit -qm f"

static const struct row edits[] = {
	{ "a tracked file", NULL, "echo more >>a" },
	{ "one of the same size and times", NULL, SAME_SIZE("src/b") },
	{ "replaced by another of the same size and times", NULL,
	  "touch -r a ../t && echo uno >n && touch -r ../t n && mv n a" },
	{ "mode", NULL, "chmod +x a" },
	{ "mode taken away", NULL, "chmod -x run" },
	{ "a link's target", NULL, "ln -sfn src link" },
	{ "a link to a file with its text", NULL, "rm link && printf a >link" },
	{ "a file to a link", NULL, "rm a && ln -s run a" },
	{ "deleted", NULL, "rm src/lib/c" },
	{ "deleted with its directory", NULL, "rm -r src" },
	{ "a file to a directory", NULL, "rm a && mkdir a && echo one >a/a" },
	{ "a directory to a file", NULL, "rm -r src/lib && echo three >src/lib" },
	{ "a directory to a link to a copy", NULL,
	  "cp -a src ../s && rm -r src &&"
	  " ln -s ../s src" },
	{ "a new file", NULL, ">new" },
	{ "a new file in a new directory", NULL, "mkdir n && >n/new" },
	{ "a new link that leads nowhere", NULL, "ln -s nowhere new" },
	{ "content of an untracked file", "echo 1 >u", "echo 2 >u" },
	{ "content of one, times put back", "echo 1 >u", SAME_SIZE("u") },
	{ "mode of an untracked file", "echo 1 >u", "chmod +x u" },
	{ "an untracked file renamed", "echo 1 >u", "mv u v" },
	{ "two that swap contents", "echo 1 >u; echo 2 >v", "mv u w; mv v u; mv w v" },
	{ "a byte that moves from name to content", "printf b >ab",
	  "rm ab; printf bb >a1" },
	{ "a tracked file that is ignored", "git add -f out/gen && git commit -qm gen",
	  "echo y >out/gen" },
	{ "an ignored file that is no longer so", NULL, "echo >.gitignore" },
	{ "an edit of a rename", NULL, "git mv a b" },
	{ "HEAD alone", NULL, "git commit -q --allow-empty -m empty" },
	{ "a staged edit undone on disk", NULL,
	  "echo more >>a && git add a && echo one >a" },
	{ "a staged deletion of a file that is there", NULL, "git rm -q --cached a" },
	{ "a staged edit below another edit", "echo x >>a",
	  "cp a ../k && echo y >>a && git add a && cp ../k a" },
	{ "assume-unchanged", "git update-index --assume-unchanged a", "echo more >>a" },
	{ "skip-worktree", "git update-index --skip-worktree a", "echo more >>a" },
	{ "a file outside a sparse cone", "git sparse-checkout set --cone src/lib",
	  "mkdir other && >other/f" },
	{ "a left out file written by hand", "git sparse-checkout set --cone out",
	  "mkdir -p src && echo two >src/b" },
	{ "another sparse cone", "git sparse-checkout set --cone out",
	  "git sparse-checkout set --cone src" },
	{ "a directory of a sparse index written by hand",
	  "git sparse-checkout set --cone --sparse-index out",
	  "mkdir -p src/lib && echo 3 >src/lib/c" },
	{ "intent to add, then content", "echo 1 >n && git add -N n", "echo 2 >n" },
	{ "a repository inside", "git init -q v/x && echo 1 >v/x/f", "echo 2 >v/x/f" },
	{ "a commit of a repository inside",
	  "git init -q v && echo 1 >v/f && git -C v add f && git -C v commit -qm 1",
	  "git -C v commit -q --allow-empty -m 2" },
	{ "an ignore rule of a repository inside",
	  "git init -q v && echo 1 >v/f && echo 2 >v/g", "echo g >v/.gitignore" },
	{ "a broken repository inside", "mkdir -p v/.git && echo 1 >v/f", "echo 2 >v/f" },
	{ "no commit yet: staged", "rm -rf .git; git init -q . && git add a",
	  "echo more >>a" },
	{ "npm's install",
	  "mkdir node_modules && echo 1 >node_modules/.package-lock.json",
	  "echo 2 >node_modules/.package-lock.json" },
	{ "pnpm's install", "mkdir node_modules && echo 1 >node_modules/.modules.yaml",
	  "echo 2 >node_modules/.modules.yaml" },
	{ "pnpm's lock",
	  "mkdir -p node_modules/.pnpm; echo 1 >node_modules/.pnpm/lock.yaml",
	  "echo 2 >node_modules/.pnpm/lock.yaml" },
	{ "yarn 1's install",
	  "mkdir node_modules && echo 1 >node_modules/.yarn-integrity",
	  "echo 2 >node_modules/.yarn-integrity" },
	{ "yarn's install", "mkdir node_modules && echo 1 >node_modules/.yarn-state.yml",
	  "echo 2 >node_modules/.yarn-state.yml" },
	{ "the install of a directory",
	  "mkdir -p src/node_modules && echo 1 >src/node_modules/.package-lock.json",
	  "echo 2 >src/node_modules/.package-lock.json" },
	{ "the first install of one", NULL,
	  "mkdir -p src/lib/node_modules && >src/lib/node_modules/.yarn-integrity" },
	{ "an install that is moved",
	  "mkdir -p src/node_modules && echo 1 >src/node_modules/.package-lock.json",
	  "mv src/node_modules src/lib" },
	{ "the install of a repository inside",
	  "git init -q v && echo node_modules >v/.gitignore && mkdir v/node_modules",
	  ">v/node_modules/.modules.yaml" },
	{ "a first install", NULL,
	  "mkdir node_modules; >node_modules/.package-lock.json" },
	{ "a file that a filter keeps otherwise",
	  "git config filter.up.clean 'tr a-z A-Z' && git config filter.up.smudge 'tr "
	  "A-Z a-z'"
	  " && echo '*.sec filter=up' >.gitattributes && echo s >x.sec && git add -A"
	  " && git commit -qm f",
	  "echo t >x.sec" },
	{ "line ends, where git makes both one",
	  "git config core.autocrlf true && printf 'x\\r\\n' >x.txt && git add -A &&"
	  " git commit -qm l",
	  "printf 'x\\n' >x.txt" },
	{ "line ends the other way",
	  "echo '*.txt text' >.gitattributes && printf 'x\\n' >x.txt && git add -A &&"
	  " git commit -qm l",
	  "printf 'x\\r\\n' >x.txt" },
	{ "a filtered file of another size, the same to git",
	  "git config filter.one.clean 'head -c 1' && echo '*.one filter=one' "
	  ">.gitattributes && echo abc >x.one && git add -A && git commit -qm f",
	  "echo abcd >x.one" },
	{ "a filtered file of the same size, the same to git", UP_FILTER,
	  "echo S >x.sec" },
	{ "one that git has looked at since", UP_FILTER,
	  "echo S >x.sec && git status && test -z \"$(git diff-files)\"" },
	{ "a large one",
	  UP_FILTER " && yes abc | head -c 2000000 >y.sec && git add y.sec",
	  "printf A | dd of=y.sec conv=notrunc bs=1 count=1 && git status" },
	{ "what `ident` hides",
	  "echo '*.c ident' >.gitattributes && echo '$Id: a$' >x.c && git add -A &&"
	  " git commit -qm i",
	  "echo '$Id: b$' >x.c && git status" },
	{ "an encoding's other byte order",
	  "echo '*.u working-tree-encoding=UTF-16' >.gitattributes &&"
	  " printf '\\377\\376a\\0' >x.u && git add -A && git commit -qm u",
	  "printf '\\376\\377\\0a' >x.u" },
	{ "which of the lines ends in CR LF",
	  "echo '*.txt text' >.gitattributes && printf 'x\\r\\ny\\n' >x.txt &&"
	  " git add -A && git commit -qm l",
	  "printf 'x\\ny\\r\\n' >x.txt" },
	{ "mode where git does not look at it", "git config core.fileMode false",
	  "chmod +x a" },
	{ "mode of an untracked file there",
	  "git config core.fileMode false && echo 1 >u", "chmod +x u" },
	{ "mode of an edited file there", "git config core.fileMode false && echo 1 >>a",
	  "chmod +x a" },
	{ "a name that is no UTF-8", "printf 1 >\"$(printf '\\377')\"",
	  "printf 2 >\"$(printf '\\377')\"" },
	{ "a name with a newline", "printf 1 >'a\nb'", "printf 2 >'a\nb'" },
	{ "a file named .geonosis", NULL, ">.geonosis" },
};

static const struct row harmless[] = {
	{ "nothing", NULL, "true" },
	{ "a touch", NULL, "touch a src/b link run .gitignore" },
	{ "an old time", NULL, "touch -d '2001-01-01' a src/b" },
	{ "git status", NULL, "touch a && git status" },
	{ "a refresh", NULL, "touch a && git update-index --refresh" },
	{ "an index rebuilt", NULL, "rm .git/index && git reset -q" },
	{ "an index of version 4", NULL, "git update-index --index-version 4" },
	{ "a split index", NULL, "git update-index --split-index" },
	{ "gc", NULL, "git gc -q" },
	{ "packed refs", NULL, "git pack-refs --all" },
	{ "another branch at the same commit", NULL, "git checkout -q -b other" },
	{ "a detached HEAD", NULL, "git checkout -q --detach" },
	{ "another ref", NULL, "git update-ref refs/geonosis/verified HEAD" },
	{ "git add of an edit", "echo more >>a", "git add a" },
	{ "git add of a new file", "echo 1 >n", "git add n" },
	{ "git add -N of a new file", "echo 1 >n", "git add -N n" },
	{ "git rm of a deleted file", "rm a", "git rm -q a" },
	{ "git add of a mode", "chmod +x a", "git add a" },
	{ "git add of a link for a file", "rm a && ln -s b a", "git add a" },
	{ "git add of a repository inside",
	  "git init -q v && echo 1 >v/f && git -C v add f && git -C v commit -qm 1",
	  "git add v" },
	{ "unstaged again", "echo more >>a && git add a", "git reset -q" },
	{ "an ignored file", NULL, "echo >out/new && echo >x.log" },
	{ "an ignored directory", NULL, "mkdir -p node_modules/x && >node_modules/x/y" },
	{ "what an install of a directory holds",
	  "mkdir -p src/node_modules/x; >src/node_modules/.package-lock.json",
	  "echo 1 >src/node_modules/x/y" },
	{ "an empty directory", NULL, "mkdir -p empty/er" },
	{ "our own directory", NULL,
	  "mkdir -p .geonosis src/.geonosis && >.geonosis/a &&"
	  " >src/.geonosis/b" },
	{ "our own directory, tracked",
	  "mkdir .geonosis && >.geonosis/a && git add -f .geonosis && git commit -qm o",
	  "echo 1 >.geonosis/a" },
	{ "a fifo", NULL, "mkfifo pipe" },
	{ "an edit taken back", NULL, "echo x >>a && git checkout -q a" },
	{ "a touch of a filtered file",
	  "git config filter.up.clean 'tr a-z A-Z' && git config filter.up.smudge 'tr "
	  "A-Z a-z'"
	  " && echo '*.sec filter=up' >.gitattributes && echo s >x.sec && git add -A"
	  " && git commit -qm f",
	  "touch x.sec" },
	{ "git status of a filtered file", UP_FILTER " && touch x.sec", "git status" },
	{ "a touch of a large file of git-lfs",
	  "git config filter.lfs.clean 'tr a-z A-Z' && echo '*.big filter=lfs' "
	  ">.gitattributes && yes abc | head -c 2000000 >x.big && git add -A && git "
	  "commit -qm b",
	  "touch x.big && git status" },
	{ "git add of an untracked program where modes do not count",
	  "git config core.fileMode false && echo 1 >u && chmod +x u", "git add u" },
	{ "a touch of a file that git keeps with other line ends",
	  "echo '*.txt text' >.gitattributes && printf 'x\\r\\ny\\r\\n' >x.txt &&"
	  " git add -A && git commit -qm l",
	  "touch x.txt" },
	{ "a touch of a file with other line ends",
	  "echo '*.txt text eol=crlf' >.gitattributes && printf 'x\\r\\n' >x.txt &&"
	  " git add -A && git commit -qm l && rm x.txt && git checkout -q x.txt",
	  "touch x.txt" },
	{ "a time of a left out file's absence", "git sparse-checkout set --cone out",
	  "git status" },
};

static void
row_begin(const struct row *r)
{
	sh("cd .. && rm -rf r s k n && git init -q r");
	cr_assert(chdir("../r") == 0);
	sh(base);
	if (r->before != NULL)
		sh(r->before);
}

Test(tree_key, every_edit_changes_it, .timeout = 300)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	size_t i;

	for (i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		row_begin(&edits[i]);
		hex_of(".", before);
		sh(edits[i].change);
		hex_of(".", after);
		cr_expect_str_neq(before, after, "%s", edits[i].name);
	}
}

Test(tree_key, nothing_else_changes_it, .timeout = 300)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	size_t i;

	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		row_begin(&harmless[i]);
		hex_of(".", before);
		sh(harmless[i].change);
		hex_of(".", after);
		cr_expect_str_eq(before, after, "%s", harmless[i].name);
	}
}

Test(tree_key, git_is_not_asked_in_an_ordinary_repository)
{
	struct tree_key k;

	sh(base);
	sh("printf '[user]\\n\\tname = x\\n' >../inc && git config include.path "
	   "../../inc &&"
	   " git config includeIf.gitdir:/x/.path ../../inc && git gc -q &&"
	   " echo more >>a && echo 1 >n && git add n && echo 2 >n && rm src/b");
	k = key_of(".");
	cr_expect(k.asked == NULL, "%s", k.asked);
	cr_expect(k.nentries == 7);
	tree_key_release(&k);
}

Test(tree_key, says_why_git_was_asked)
{
	static const struct {
		const char *make, *reason;
	} rows[] = {
		{ "printf '[core]\\n\\tfileMode = true\\n' >../inc &&"
		  " git config includeIf.gitdir:/x/.path ../../inc",
		  "conditional include" },
		{ "git sparse-checkout set --cone --sparse-index out && mkdir src && "
		  ">src/x",
		  "sparse index" },
		{ "git config --remove-section core.sparse 2>/dev/null;"
		  " echo '*.txt text' >.gitattributes && printf 'a\\r\\n' >a.txt &&"
		  " git add -A && git commit -qm t && printf 'b\\r\\n' >a.txt",
		  "line endings" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row r = { .name = "", .before = rows[i].make };
		struct tree_key k;

		row_begin(&r);
		k = key_of(".");
		cr_expect(k.asked != NULL && strstr(k.asked, rows[i].reason) != NULL,
			  "%s: %s", rows[i].reason, k.asked == NULL ? "-" : k.asked);
		tree_key_release(&k);
	}
}

Test(tree_key, changes_are_listed_in_order)
{
	sh(base);
	sh("echo x >>src/b && rm a && rm link && echo l >link && echo n >new && echo i "
	   ">int &&"
	   " git add -N int && git init -q nest && >nest/f && git update-index "
	   "--assume-unchanged run && echo >>run");
	changes_expect(".", "D a, A int, T link, ? nest/, ? new, M run, M src/b");
	changes_expect("src/lib", "D a, A int, T link, ? nest/, ? new, M run, M src/b");
}

Test(tree_key, a_hook_s_variables_do_not_mislead)
{
	char plain[DIGEST_HEX_SIZE], hooked[DIGEST_HEX_SIZE];

	sh(base);
	sh("git init -q ../other && cp .git/index ../index");
	hex_of(".", plain);
	(void)setenv("GIT_DIR", "../other/.git", 1);
	(void)setenv("GIT_INDEX_FILE", "/nowhere", 1);
	(void)setenv("GIT_WORK_TREE", "/", 1);
	(void)setenv("GIT_CONFIG_COUNT", "1", 1);
	(void)setenv("GIT_CONFIG_KEY_0", "core.excludesFile", 1);
	(void)setenv("GIT_CONFIG_VALUE_0", "/dev/null", 1);
	hex_of(".", hooked);
	cr_expect_str_eq(plain, hooked);
}

/* Settings that the steps' git has too, through `git -c` or from CI. */
Test(tree_key, settings_of_the_environment_count)
{
	static const char *const parameters[] = {
		"'core.excludesfile'='/dev/null'",
		"'core.excludesFile=/dev/null'",
		"'user.name'='it'\\''s '  'core.bare=true' 'CORE.EXCLUDESFILE'=''",
	};
	static const char *const rubbish[] = { "",     "x",
					       "'",    "'core.excludesfile",
					       "'a'=", "'core.excludesfile'='/dev/null" };
	char plain[DIGEST_HEX_SIZE], now[DIGEST_HEX_SIZE];
	size_t i;

	sh(base);
	sh("echo u >../ignore && git config core.excludesFile ../ignore && echo 1 >u");
	hex_of(".", plain);
	for (i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		(void)setenv("GIT_CONFIG_PARAMETERS", parameters[i], 1);
		hex_of(".", now);
		cr_expect_str_neq(plain, now, "%s", parameters[i]);
	}
	for (i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
		(void)setenv("GIT_CONFIG_PARAMETERS", rubbish[i], 1);
		hex_of(".", now);
		cr_expect_str_eq(plain, now, "%s", rubbish[i]);
	}
	(void)unsetenv("GIT_CONFIG_PARAMETERS");
	(void)setenv("GIT_CONFIG_COUNT", "2", 1);
	(void)setenv("GIT_CONFIG_KEY_0", "user.name", 1);
	(void)setenv("GIT_CONFIG_VALUE_0", "n", 1);
	(void)setenv("GIT_CONFIG_KEY_1", "core.excludesFile", 1);
	(void)setenv("GIT_CONFIG_VALUE_1", "/dev/null", 1);
	hex_of(".", now);
	cr_expect_str_neq(plain, now);
	(void)setenv("GIT_CONFIG_COUNT", "1", 1);
	hex_of(".", now);
	cr_expect_str_eq(plain, now);
	(void)setenv("GIT_CONFIG_COUNT", "2", 1);
	(void)setenv("GIT_CONFIG_PARAMETERS", "'core.excludesfile'='../ignore'", 1);
	hex_of(".", now);
	cr_expect_str_eq(plain, now, "the parameters come last");
}

Test(tree_key, a_linked_worktree_has_its_own)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	struct tree_key k;

	sh(base);
	sh("git worktree add -q ../wt");
	hex_of("../wt", before);
	sh("echo x >>a");
	hex_of("../wt", after);
	cr_expect_str_eq(before, after);
	sh("echo x >>../wt/a");
	changes_expect("../wt", "M a");
	k = key_of("../wt");
	cr_expect(strstr(k.git_dir, "/worktrees/wt") != NULL);
	cr_expect(strcmp(k.common_dir + strlen(k.common_dir) - 7, "/r/.git") == 0);
	tree_key_release(&k);
}

Test(tree_key, a_submodule_counts_by_its_content)
{
	static const struct {
		const char *name, *change, *listed;
	} rows[] = {
		{ "edited", "echo 2 >sub/l", "M sub" },
		{ "untracked", "echo 2 >sub/u", "M sub" },
		{ "staged", "echo 2 >sub/l && git -C sub add l", "M sub" },
		{ "committed", "git -C sub commit -qm 2 --allow-empty", "M sub" },
		{ "not checked out, a stray file",
		  "git submodule -q deinit -f sub && >sub/x", "" },
		{ "gone", "rm -rf sub", "D sub" },
	};
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	size_t i;

	sh("git init -q ../lib && echo 1 >../lib/l && git -C ../lib add l &&"
	   " git -C ../lib commit -qm l");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert(chdir("..") == 0);
		sh("rm -rf r && git init -q r");
		cr_assert(chdir("r") == 0);
		sh(base);
		sh("git -c protocol.file.allow=always submodule add -q \"$HOME/lib\" sub "
		   "&&"
		   " git commit -qm sub");
		changes_expect(".", "");
		hex_of(".", before);
		sh(rows[i].change);
		hex_of(".", after);
		cr_expect_str_neq(before, after, "%s", rows[i].name);
		changes_expect(".", rows[i].listed);
	}
}

Test(tree_key, sha256_and_no_commit_yet)
{
	struct tree_key k;

	sh("cd .. && rm -rf r && git init -q --object-format=sha256 r");
	cr_assert(chdir("../r") == 0);
	sh("echo 1 >a && git add a && echo 2 >b");
	k = key_of(".");
	cr_expect(k.state == TREE_FOUND && k.head[0] == '\0');
	tree_key_release(&k);
	changes_expect(".", "? b");
	sh("git commit -qm one && echo 3 >a");
	k = key_of(".");
	cr_expect(strlen(k.head) == 64);
	tree_key_release(&k);
	changes_expect(".", "M a, ? b");
}

Test(tree_key, where_there_is_none_it_says_so)
{
	struct tree_key k;
	struct error e = ERROR_INIT;

	k = key_of("..");
	cr_expect(k.state == TREE_NONE && k.why != NULL && k.hex[0] == '\0');
	tree_key_release(&k);
	sh("git init -q --bare ../b/.git");
	k = key_of("../b");
	cr_expect(k.state == TREE_NONE && strstr(k.why, "bare") != NULL);
	tree_key_release(&k);
	sh("mkdir ../c && echo nonsense >../c/.git");
	cr_expect(tree_key_compute("../c", NULL, &k, &e) < 0 && e.kind == ERROR_REPO);
	sh("mkdir ../d");
	(void)setenv("GIT_CEILING_DIRECTORIES", getenv("HOME"), 1);
	k = key_of("../d");
	cr_expect(k.state == TREE_NONE);
	tree_key_release(&k);
}

Test(tree_key, someone_else_s_tree_is_dubious_unless_trusted)
{
	struct tree_key k;

	if (geteuid() != 0)
		cr_skip_test("only root can give a tree away");
	sh(base);
	sh("chown -R 12345 .");
	(void)unsetenv("SUDO_UID");
	k = key_of(".");
	cr_expect(k.state == TREE_DUBIOUS && strstr(k.why, "safe.directory") != NULL);
	tree_key_release(&k);
	sh("git config --global --add safe.directory \"$PWD\"");
	k = key_of(".");
	cr_expect(k.state == TREE_FOUND);
	tree_key_release(&k);
	sh("git config --global --add safe.directory ''");
	k = key_of(".");
	cr_expect(k.state == TREE_DUBIOUS);
	tree_key_release(&k);
	sh("git config --global --add safe.directory '*'");
	k = key_of(".");
	cr_expect(k.state == TREE_FOUND);
	tree_key_release(&k);
}

Test(tree_key, a_broken_index_is_an_error)
{
	struct tree_key k = TREE_KEY_INIT;
	struct error e = ERROR_INIT;

	sh(base);
	sh("head -c 100 .git/index >../i && cat ../i >.git/index");
	cr_expect(tree_key_compute(".", NULL, &k, &e) < 0);
	cr_expect(e.text[0] != 0);
}

Test(tree_key, a_directory_below_has_an_install_of_its_own)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];

	sh(base);
	sh("mkdir src/node_modules");
	hex_of("src", before);
	sh("echo 1 >src/node_modules/.package-lock.json");
	hex_of("src", after);
	cr_expect_str_neq(before, after);
}

Test(tree_key, a_link_upwards_is_not_followed)
{
	sh(base);
	sh("mkdir ../outside && >../outside/x && ln -s ../outside dir && ln -s .. up");
	changes_expect(".", "? dir, ? up");
}

Test(tree_key, threads_and_git_s_own_listing_agree)
{
	struct tree_key_options options = { .threads = 4 };
	struct tree_key k = TREE_KEY_INIT;
	struct error e = ERROR_INIT;
	char plain[DIGEST_HEX_SIZE];

	sh(base);
	sh("for d in 1 2 3 4 5 6 7 8 9; do mkdir -p m/$d/x; for f in 1 2 3 4 5; do"
	   " echo $f >m/$d/x/$f; done; done; git add m/1 m/2 m/3; echo x >>m/1/x/1;"
	   " rm m/2/x/3");
	hex_of(".", plain);
	cr_assert(tree_key_compute(".", &options, &k, &e) == 0, "%s", e.text);
	cr_expect_str_eq(k.hex, plain);
	tree_key_release(&k);
	options.ask_git = true;
	cr_assert(tree_key_compute(".", &options, &k, &e) == 0, "%s", e.text);
	cr_expect_str_eq(k.hex, plain);
	cr_expect(k.asked != NULL);
	tree_key_release(&k);
}
