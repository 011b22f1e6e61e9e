/* SPDX-License-Identifier: MIT */
#include "git/snapshot.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "tests/git/fixture.h"
#include "tests/git/opened.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TestSuite(snapshot, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);

enum {
	MAX = 1 << 20
};

/* Every kind of entry, links that lead everywhere; then nothing of it on disk. */
static const char files[] =
    "mkdir -p p/a/src p/b deep/x/y && printf one >a && printf '#!' >run && chmod +x run "
    "&&"
    " echo '{}' >package.json && echo '{}' >p/a/package.json && echo '{}' "
    ">p/b/package.json && printf '\\377\\0x' >p/a/src/bytes && ln -s a to-a && ln -s p/a "
    "to-dir && ln -s ../b p/a/to-b && ln -s loop loop && ln -s ../out up && ln -s "
    "/etc/passwd absolute && ln -s none dangling && ln -s ../../.. deep/x/out && ln -s "
    "../../p/a/to-b/package.json deep/x/chain && ln -s . here && printf x >\"$(printf "
    "'n\\nl')\" && ln -s \"$(pwd)\"/p deep/abs && git init -q sub && git -C sub commit "
    "-q "
    "--allow-empty -m s && git add -A && git commit -qm x && git tag base && git rm -rq "
    "--cached . && find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + && git "
    "commit -q --allow-empty -m empty";

struct opened_snapshot {
	struct opened *o;
	struct snapshot *s;
};

static struct opened_snapshot
snapshot_of(const char *name, const char *subdir)
{
	struct opened_snapshot x = { .o = opened_new(".") };
	char *command = xasprintf("git rev-parse %s", name), *hex = out(command);
	struct error e = ERROR_INIT;

	cr_assert(snapshot_open(&x.o->repository, hex, subdir, &x.s, &e) == 0, "%s",
		  e.text);
	free(command);
	free(hex);
	return x;
}

static void
snapshot_end(struct opened_snapshot *x)
{
	snapshot_free(x->s);
	opened_free(x->o);
}

static const struct {
	const char *path;
	enum snapshot_kind kind;
	const char *content, *real; /* NULL: none */
} paths[] = {
	{ "", SNAPSHOT_DIRECTORY, NULL, "" },
	{ "a", SNAPSHOT_FILE, "one", "a" },
	{ "run", SNAPSHOT_EXEC, "#!", "run" },
	{ "p", SNAPSHOT_DIRECTORY, NULL, "p" },
	{ "p/a", SNAPSHOT_DIRECTORY, NULL, "p/a" },
	{ "p/a/", SNAPSHOT_DIRECTORY, NULL, "p/a" },
	{ "p/a/package.json", SNAPSHOT_FILE, "{}\n", "p/a/package.json" },
	{ "p/a/none", SNAPSHOT_NONE, NULL, NULL },
	{ "none", SNAPSHOT_NONE, NULL, NULL },
	{ "none/none", SNAPSHOT_NONE, NULL, NULL },
	{ "a/b", SNAPSHOT_NONE, NULL, NULL },
	{ "packag", SNAPSHOT_NONE, NULL, NULL },
	{ "package.jsonx", SNAPSHOT_NONE, NULL, NULL },
	{ "sub", SNAPSHOT_SUBMODULE, NULL, "sub" },
	{ "sub/x", SNAPSHOT_NONE, NULL, NULL },
	{ "n\nl", SNAPSHOT_FILE, "x", "n\nl" },
	{ "to-a", SNAPSHOT_LINK, "a", "a" },
	{ "to-dir", SNAPSHOT_LINK, "p/a", "p/a" },
	{ "to-dir/package.json", SNAPSHOT_NONE, NULL, "p/a/package.json" },
	{ "to-dir/to-b/package.json", SNAPSHOT_NONE, NULL, "p/b/package.json" },
	{ "to-dir/to-b/..", SNAPSHOT_NONE, NULL, "p" },
	{ "loop", SNAPSHOT_LINK, "loop", NULL },
	{ "up", SNAPSHOT_LINK, "../out", NULL },
	{ "absolute", SNAPSHOT_LINK, "/etc/passwd", NULL },
	{ "dangling", SNAPSHOT_LINK, "none", NULL },
	{ "deep/x/out", SNAPSHOT_LINK, "../../..", NULL },
	{ "deep/x/chain", SNAPSHOT_LINK, "../../p/a/to-b/package.json",
	  "p/b/package.json" },
	{ "here/here/here/a", SNAPSHOT_NONE, NULL, "a" },
	{ "..", SNAPSHOT_NONE, NULL, NULL },
	{ "./p//./a", SNAPSHOT_NONE, NULL, "p/a" },
};

static void
path_expect(struct snapshot *s, size_t i)
{
	enum snapshot_kind kind = SNAPSHOT_NONE;
	struct buf content = BUF_INIT;
	struct error e = ERROR_INIT;
	char *real;
	int rc;

	cr_expect(snapshot_find(s, paths[i].path, &kind, &e) == 0, "%s", e.text);
	cr_expect(kind == paths[i].kind, "%s: kind %d", paths[i].path, (int)kind);
	rc = snapshot_read(s, paths[i].path, MAX, &content, &e);
	cr_expect(rc == (paths[i].content != NULL), "%s: %d", paths[i].path, rc);
	if (paths[i].content != NULL)
		cr_expect_str_eq(buf_text(&content), paths[i].content, "%s: %s",
				 paths[i].path, buf_text(&content));
	buf_release(&content);
	real = snapshot_real(s, paths[i].path);
	cr_expect((real == NULL) == (paths[i].real == NULL), "%s: %s", paths[i].path,
		  real == NULL ? "NULL" : real);
	if (real != NULL && paths[i].real != NULL)
		cr_expect_str_eq(real, paths[i].real, "%s: %s", paths[i].path, real);
	free(real);
}

static void
table_expect(void)
{
	struct opened_snapshot x = snapshot_of("base", "");
	size_t i;

	for (i = 0; i < COUNT(paths); i++)
		path_expect(x.s, i);
	snapshot_end(&x);
}

Test(snapshot, table)
{
	sh(files);
	table_expect();
	sh("git gc -q --prune=now");
	table_expect();
}

Test(snapshot, bytes_are_kept)
{
	struct opened_snapshot x;
	struct buf content = BUF_INIT;
	struct error e = ERROR_INIT;

	sh(files);
	x = snapshot_of("base", "");
	cr_assert(snapshot_read(x.s, "p/a/src/bytes", MAX, &content, &e) == 1);
	cr_expect(content.len == 3 && memcmp(content.data, "\xff\0x", 3) == 0);
	buf_release(&content);
	cr_expect(snapshot_read(x.s, "p/a/src/bytes", 2, &content, &e) < 0);
	cr_expect(strstr(e.text, "p/a/src/bytes") != NULL, "%s", e.text);
	snapshot_end(&x);
}

static void
entry_collect(void *ctx, const char *name, enum snapshot_kind kind)
{
	buf_printf(ctx, "%s%s=%d", ((struct buf *)ctx)->len == 0 ? "" : " ", name,
		   (int)kind);
}

static void
path_collect(void *ctx, const char *path)
{
	buf_printf(ctx, "%s%s", ((struct buf *)ctx)->len == 0 ? "" : " ", path);
}

Test(snapshot, lists_and_searches)
{
	struct buf b = BUF_INIT;
	struct error e = ERROR_INIT;
	struct opened_snapshot x;

	sh(files);
	x = snapshot_of("base", "");
	cr_expect(snapshot_list(x.s, "p/a", entry_collect, &b, &e) == 0, "%s", e.text);
	cr_expect_str_eq(buf_text(&b), "package.json=1 src=4 to-b=3", "%s", buf_text(&b));
	buf_clear(&b);
	cr_expect(snapshot_search(x.s, "package.json", path_collect, &b, &e) == 0);
	cr_expect_str_eq(buf_text(&b), "p/a/package.json p/b/package.json package.json",
			 "%s", buf_text(&b));
	buf_clear(&b);
	cr_expect(snapshot_search(x.s, "a", path_collect, &b, &e) == 0);
	cr_expect_str_eq(buf_text(&b), "a", "no directories: %s", buf_text(&b));
	cr_expect(snapshot_list(x.s, "a", entry_collect, &b, &e) < 0);
	cr_expect(snapshot_list(x.s, "none", entry_collect, &b, &e) < 0);
	buf_release(&b);
	snapshot_end(&x);
}

Test(snapshot, of_a_directory)
{
	enum snapshot_kind kind;
	struct buf b = BUF_INIT;
	struct error e = ERROR_INIT;
	struct opened_snapshot x;
	char *real;

	sh(files);
	x = snapshot_of("base", "p/a");
	cr_expect(snapshot_search(x.s, "package.json", path_collect, &b, &e) == 0);
	cr_expect_str_eq(buf_text(&b), "package.json");
	real = snapshot_real(x.s, "to-b");
	cr_expect_null(real, "outside");
	buf_release(&b);
	snapshot_end(&x);

	x = snapshot_of("base", "none/at/all");
	cr_expect(snapshot_find(x.s, "", &kind, &e) == 0 && kind == SNAPSHOT_NONE);
	cr_expect(snapshot_search(x.s, "a", path_collect, &b, &e) == 0 && b.len == 0);
	cr_expect_null(snapshot_real(x.s, ""));
	snapshot_end(&x);
}

Test(snapshot, of_what_is_no_commit)
{
	static const char *const hexes[] = { "dddddddddddddddddddddddddddddddddddddddd",
					     "", "xyz" };
	struct snapshot *s = NULL;
	struct opened *o;
	char *tree;
	size_t i;

	sh(files);
	o = opened_new(".");
	for (i = 0; i < COUNT(hexes); i++) {
		struct error e = ERROR_INIT;

		cr_expect(snapshot_open(&o->repository, hexes[i], "", &s, &e) < 0);
		cr_expect(e.text[0] != '\0' && s == NULL);
	}
	tree = out("git rev-parse HEAD^{tree}");
	{
		struct error e = ERROR_INIT;

		cr_expect(snapshot_open(&o->repository, tree, "", &s, &e) < 0);
	}
	free(tree);
	opened_free(o);
}

/* A clone without blobs of r, which keeps its remote or not; gone into. */
static void
partial_enter(const char *filter, bool with_remote)
{
	char *command = xasprintf(
	    "git config uploadpack.allowFilter true && git config "
	    "uploadpack.allowAnySHA1InWant true && git config --global "
	    "protocol.file.allow always && git clone -q --no-checkout --filter=%s "
	    "file://$PWD ../c && git -C ../c reset -q && %s",
	    filter,
	    with_remote ? "true"
			: "git -C ../c config remote.origin.url "
			  "file:///nonexistent");

	sh(command);
	cr_assert(chdir("../c") == 0);
	free(command);
}

Test(snapshot, a_partial_clone_fetches)
{
	struct buf content = BUF_INIT;
	struct error e = ERROR_INIT;
	struct opened_snapshot x;

	sh(files);
	partial_enter("blob:none", true);
	x = snapshot_of("base", "");
	cr_expect(snapshot_read(x.s, "a", MAX, &content, &e) == 1, "%s", e.text);
	cr_expect_str_eq(buf_text(&content), "one");
	buf_release(&content);
	snapshot_end(&x);
}

Test(snapshot, a_partial_clone_without_its_remote)
{
	struct buf content = BUF_INIT;
	struct error e = ERROR_INIT;
	struct opened_snapshot x;
	enum snapshot_kind kind;

	sh(files);
	partial_enter("blob:none", false);
	x = snapshot_of("base", "");
	cr_expect(snapshot_find(x.s, "p/a/package.json", &kind, &e) == 0 &&
		  kind == SNAPSHOT_FILE);
	cr_expect(snapshot_read(x.s, "a", MAX, &content, &e) < 0);
	cr_expect(strchr(e.text, '\n') == NULL && e.text[0] == 'a', "%s", e.text);
	snapshot_end(&x);
}

Test(snapshot, sha256)
{
	sh("git init -q --object-format=sha256 ../r256");
	cr_assert(chdir("../r256") == 0);
	sh("git config --global init.defaultObjectFormat sha256");
	(void)setenv("GIT_DEFAULT_HASH", "sha256", 1);
	sh(files);
	table_expect();
}

/* A tree that cannot be, made by hand. */
Test(snapshot, damaged_trees)
{
	static const char *const trees[] = {
		"100644 a/b\\0AAAAAAAAAAAAAAAAAAAA",
		"100644 ..\\0AAAAAAAAAAAAAAAAAAAA",
		"100644 a\\0AAAA",
		"9 a\\0AAAAAAAAAAAAAAAAAAAA",
		"100644 \\0AAAAAAAAAAAAAAAAAAAA",
		"100644 a",
		"x1 a\\0AAAAAAAAAAAAAAAAAAAA",
	};
	size_t i;

	sh("git commit -q --allow-empty -m x");
	for (i = 0; i < COUNT(trees); i++) {
		char *command = xasprintf(
		    "git commit-tree -m x $(printf '%s' | git hash-object --literally -t "
		    "tree -w --stdin) 2>/dev/null || printf 'tree %%s\\nauthor t <t> 1 "
		    "+0000\\ncommitter t <t> 1 +0000\\n\\nx\\n' $(printf '%s' | git "
		    "hash-object --literally -t tree -w --stdin) | git hash-object "
		    "--literally -t commit -w --stdin",
		    trees[i], trees[i]);
		char *hex = out(command);
		struct opened *o = opened_new(".");
		struct snapshot *s = NULL;
		struct error e = ERROR_INIT;
		enum snapshot_kind kind;

		cr_assert(strlen(hex) == 40, "%s", hex);
		if (snapshot_open(&o->repository, hex, "", &s, &e) == 0)
			cr_expect(snapshot_find(s, "a", &kind, &e) < 0, "%s", trees[i]);
		cr_expect(e.text[0] != '\0');
		snapshot_free(s);
		opened_free(o);
		free(hex);
		free(command);
	}
}
