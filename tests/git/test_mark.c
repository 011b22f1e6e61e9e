/* SPDX-License-Identifier: MIT */
#include "git/mark.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "tests/git/fixture.h"
#include "tests/git/opened.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MARK "refs/geonosis/verified"

TestSuite(mark_name, .timeout = 120);
TestSuite(mark, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);

static const struct {
	const char *tier, *subdir, *name;
} names[] = {
	{ "fast", "", "refs/geonosis/verified" },
	{ "full", "", "refs/geonosis/verified-full" },
	{ "v1.2_x-y", "", "refs/geonosis/verified-v1.2_x-y" },
	{ "fast", "a", "refs/geonosis/in/a/verified" },
	{ "full", "packages/core", "refs/geonosis/in/packages%2Fcore/verified-full" },
	{ "fast", "a b", "refs/geonosis/in/a%20b/verified" },
	{ "fast", "100%", "refs/geonosis/in/100%25/verified" },
	{ "fast", "%20", "refs/geonosis/in/%2520/verified" },
	{ "fast", ".hidden", "refs/geonosis/in/%2Ehidden/verified" },
	{ "fast", "a/.hidden", "refs/geonosis/in/a%2F.hidden/verified" },
	{ "fast", "a..b", "refs/geonosis/in/a.%2Eb/verified" },
	{ "fast", "...", "refs/geonosis/in/%2E%2E%2E/verified" },
	{ "fast", "x.lock", "refs/geonosis/in/x%2Elock/verified" },
	{ "fast", "x.lock/y", "refs/geonosis/in/x.lock%2Fy/verified" },
	{ "fast", "a@{b", "refs/geonosis/in/a@%7Bb/verified" },
	{ "fast", "@", "refs/geonosis/in/@/verified" },
	{ "fast", "a{b}", "refs/geonosis/in/a{b}/verified" },
	{ "fast", "n\nl\x7f", "refs/geonosis/in/n%0Al%7F/verified" },
	{ "fast", "~^:?*[\\", "refs/geonosis/in/%7E%5E%3A%3F%2A%5B%5C/verified" },
	{ "fast", "\xff\xc3\xa9", "refs/geonosis/in/\xff\xc3\xa9/verified" },
	{ "fast", "-x", "refs/geonosis/in/-x/verified" },
};

Test(mark_name, table)
{
	size_t i;

	for (i = 0; i < COUNT(names); i++) {
		char *name = mark_name(names[i].tier, names[i].subdir);

		cr_expect_str_eq(name, names[i].name, "%s in '%s': %s", names[i].tier,
				 names[i].subdir, name);
		free(name);
	}
}

/* Do these names hold as refs, all of them and beside each other? */
static void
names_hold(char *const *refs, size_t n)
{
	struct buf b = BUF_INIT;
	char *listed;
	FILE *f;
	size_t i;

	/* With -z, names and values end in NUL. */
	for (i = 0; i < n; i++) {
		buf_printf(&b, "create %s", refs[i]);
		buf_putc(&b, '\0');
		buf_puts(&b, "HEAD");
		buf_putc(&b, '\0');
	}
	f = popen("git update-ref -z --stdin", "we");
	cr_assert(f != NULL && fwrite(b.data, 1, b.len, f) == b.len);
	cr_assert(pclose(f) == 0, "git refuses a name");
	listed = out("git for-each-ref | wc -l");
	cr_expect(strtoul(listed, NULL, 10) == n + 1, "%s refs, wanted %zu", listed,
		  n + 1);
	free(listed);
	buf_release(&b);
}

Test(mark, names_of_any_directory_hold)
{
	static const char bytes[] = ".@{}%~^:?*[\\ -lock/a\n\x7f\x01\xff";
	static const char *const odd[] = { "x",	     "x.lock", "x.lock.lock", ".lock",
					   "a.lock", "a.",     "@",	      "a/b" };
	char *refs[240];
	struct buf dir = BUF_INIT;
	unsigned seed = 7;
	size_t i, k, n = 0;

	sh("git commit -q --allow-empty -m x");
	for (i = 0; i < COUNT(odd); i++)
		refs[n++] = mark_name("fast", odd[i]);
	for (i = 0; i < 200; i++) {
		buf_clear(&dir);
		for (k = 0; k < 1 + i % 9; k++)
			buf_putc(&dir,
				 bytes[(size_t)rand_r(&seed) % (sizeof(bytes) - 1)]);
		buf_printf(&dir, "%zu", i); /* so that no two are the same */
		refs[n++] = mark_name("fast", dir.data);
	}
	/* Longer than a file's name may be; two that differ at their ends only. */
	for (i = 0; i < 2; i++) {
		buf_clear(&dir);
		for (k = 0; k < 400; k++)
			buf_puts(&dir, "d/");
		buf_printf(&dir, "%zu", i);
		refs[n++] = mark_name("full", dir.data);
	}
	names_hold(refs, n);
	for (i = 0; i < n; i++)
		free(refs[i]);
	buf_release(&dir);
}

static const struct {
	const char *name, *setup;
	enum mark_state state;
	bool is_head;
} states[] = {
	{ "none", "true", MARK_NONE, false },
	{ "at HEAD", "git update-ref " MARK " HEAD", MARK_FOUND, true },
	{ "at its parent", "git update-ref " MARK " HEAD~1", MARK_FOUND, false },
	{ "packed", "git update-ref " MARK " HEAD && git pack-refs --all", MARK_FOUND,
	  true },
	{ "packed and then moved",
	  "git update-ref " MARK " HEAD~1 && git pack-refs --all && git update-ref " MARK
	  " HEAD",
	  MARK_FOUND, true },
	{ "a tag of a tag",
	  "git tag -a -m x t HEAD && git tag -a -m y u t && git update-ref " MARK " u",
	  MARK_FOUND, true },
	{ "symbolic", "git symbolic-ref " MARK " refs/heads/main", MARK_FOUND, true },
	{ "symbolic, to nothing", "git symbolic-ref " MARK " refs/heads/none", MARK_GONE,
	  false },
	{ "a tree", "git update-ref " MARK " HEAD^{tree}", MARK_GONE, false },
	{ "a commit that is gone",
	  "mkdir -p .git/refs/geonosis && echo " /* 40 digits */
	  "dddddddddddddddddddddddddddddddddddddddd >.git/" MARK,
	  MARK_GONE, false },
	{ "zeros",
	  "mkdir -p .git/refs/geonosis && echo "
	  "0000000000000000000000000000000000000000 >.git/" MARK,
	  MARK_GONE, false },
	{ "garbage", "mkdir -p .git/refs/geonosis && echo garbage >.git/" MARK, MARK_GONE,
	  false },
	{ "empty", "mkdir -p .git/refs/geonosis && : >.git/" MARK, MARK_GONE, false },
	{ "large", "mkdir -p .git/refs/geonosis && head -c 99999 /dev/zero >.git/" MARK,
	  MARK_GONE, false },
	{ "objects packed, refs too", "git update-ref " MARK " HEAD && git gc -q",
	  MARK_FOUND, true },
	{ "replaced", "git update-ref " MARK " HEAD && git replace HEAD HEAD~1",
	  MARK_FOUND, true },
};

Test(mark, states)
{
	size_t i;

	cr_assert(chdir("..") == 0);
	for (i = 0; i < COUNT(states); i++) {
		struct mark m = MARK_INIT;
		struct opened *o;

		sh("rm -rf s && git init -q s && cd s &&"
		   " git commit -q --allow-empty -m 1 && git commit -q --allow-empty -m "
		   "2");
		cr_assert(chdir("s") == 0);
		sh(states[i].setup);
		o = opened_new(".");
		mark_read(&o->repository, MARK, &m);
		cr_expect(m.state == states[i].state, "%s: state %d: %s", states[i].name,
			  (int)m.state, m.why.text);
		cr_expect((strcmp(m.commit, o->key.head) == 0) == states[i].is_head,
			  "%s: %s", states[i].name, m.commit);
		cr_expect((m.commit[0] != '\0') == (m.state == MARK_FOUND), "%s",
			  states[i].name);
		cr_expect((m.why.text[0] != '\0') == (m.state == MARK_GONE), "%s: %s",
			  states[i].name, m.why.text);
		opened_free(o);
		cr_assert(chdir("..") == 0);
	}
}

/* Read it, move it to HEAD, and see that it is there. */
static int
move_to_head(const char *dir, const struct mark_parts *parts, struct error *err)
{
	struct opened *o = opened_new(dir);
	struct mark m = MARK_INIT;
	int rc;

	mark_read(&o->repository, MARK, &m);
	rc = mark_move(&o->repository, MARK, &m, o->key.head, parts, "green: fast", err);
	if (rc == 0) {
		mark_read(&o->repository, MARK, &m);
		cr_expect(m.state == MARK_FOUND && strcmp(m.commit, o->key.head) == 0);
	}
	opened_free(o);
	return rc;
}

Test(mark, moves)
{
	struct error e = ERROR_INIT;
	char *text, *wanted;

	sh("git config core.logAllRefUpdates always && git commit -q --allow-empty -m 1");
	cr_expect(move_to_head(".", NULL, &e) == 0, "%s", e.text);
	cr_expect(move_to_head(".", NULL, &e) == 0, "%s", e.text);
	sh("git commit -q --allow-empty -m 2");
	cr_expect(move_to_head(".", NULL, &e) == 0, "%s", e.text);
	text = out("git reflog show --format=%gs " MARK " | wc -l");
	cr_expect_str_eq(text, "2", "moves in the reflog: %s", text);
	free(text);
	text = out("git rev-parse " MARK);
	wanted = out("git rev-parse HEAD");
	cr_expect_str_eq(text, wanted);
	free(text);
	free(wanted);
}

Test(mark, moves_from_wherever_it_was)
{
	static const char *const befores[] = {
		"git update-ref " MARK " HEAD~1",
		"git update-ref " MARK " HEAD~1 && git pack-refs --all",
		"git tag -a -m x t HEAD && git update-ref " MARK " t",
		"git update-ref " MARK " HEAD^{tree}",
		"mkdir -p .git/refs/geonosis && echo "
		"dddddddddddddddddddddddddddddddddddddddd >.git/" MARK,
	};
	size_t i;

	sh("git commit -q --allow-empty -m 1; git commit -q --allow-empty -m 2");
	for (i = 0; i < COUNT(befores); i++) {
		struct error e = ERROR_INIT;

		sh("rm -rf .git/refs/geonosis .git/packed-refs");
		sh("git tag -d t || true");
		sh("git update-ref refs/heads/main $(git rev-list --all --reflog | head "
		   "-1)");
		sh(befores[i]);
		cr_expect(move_to_head(".", NULL, &e) == 0, "%s: %s", befores[i], e.text);
	}
}

Test(mark, a_symbolic_mark_never_moves_what_it_names)
{
	struct error e = ERROR_INIT;
	char *was, *is;

	sh("git commit -q --allow-empty -m 1 && git branch other &&"
	   " git symbolic-ref " MARK
	   " refs/heads/other && git commit -q --allow-empty -m 2");
	was = out("git rev-parse other");
	cr_expect(move_to_head(".", NULL, &e) == 0, "%s", e.text);
	is = out("git rev-parse other");
	cr_expect_str_eq(is, was, "the branch was moved");
	free(was);
	free(is);
}

Test(mark, is_not_moved_where_another_was_faster)
{
	struct mark m = MARK_INIT;
	struct error e = ERROR_INIT;
	struct opened *o;
	char *is, *wanted;
	int i;

	sh("git commit -q --allow-empty -m 1 && git commit -q --allow-empty -m 2 &&"
	   " git commit -q --allow-empty -m 3");
	o = opened_new(".");
	for (i = 0; i < 2; i++) {
		/* once from no mark, once from one */
		mark_read(&o->repository, MARK, &m);
		sh(i == 0 ? "git update-ref " MARK " HEAD~2"
			  : "git update-ref " MARK " HEAD~1");
		e.text[0] = '\0';
		cr_expect(
		    mark_move(&o->repository, MARK, &m, o->key.head, NULL, "x", &e) < 0);
		cr_expect(strstr(e.text, MARK) != NULL, "%s", e.text);
	}
	is = out("git rev-parse " MARK);
	wanted = out("git rev-parse HEAD~1");
	cr_expect_str_eq(is, wanted);
	free(is);
	free(wanted);
	opened_free(o);
}

Test(mark, a_lock_that_was_left_behind_is_named)
{
	struct error e = ERROR_INIT;

	sh("git commit -q --allow-empty -m 1 && mkdir -p .git/refs/geonosis &&"
	   " : >.git/" MARK ".lock");
	cr_expect(move_to_head(".", NULL, &e) < 0);
	cr_expect(strstr(e.text, "verified.lock") != NULL, "%s", e.text);
	cr_expect(strchr(e.text, '\n') == NULL, "%s", e.text);
}

static struct mark_parts
parts_of(struct mark_part *items, size_t n)
{
	return (struct mark_parts){ .items = items, .n = n };
}

static void
parts_expect(const char *dir, int wanted, const struct mark_parts *p, const char *what)
{
	struct mark_parts got = MARK_PARTS_INIT;
	struct opened *o = opened_new(dir);
	struct error e = ERROR_INIT;
	size_t i;
	int rc;

	rc = mark_parts_read(&o->repository, MARK, o->key.head, &got, &e);
	cr_expect(rc == wanted, "%s: %d: %s", what, rc, e.text);
	cr_expect((rc == 1) == (e.text[0] == '\0'), "%s: %s", what, e.text);
	if (rc == 1) {
		cr_assert(got.n == p->n, "%s: %zu parts", what, got.n);
		for (i = 0; i < got.n; i++) {
			cr_expect_str_eq(got.items[i].name, p->items[i].name);
			cr_expect_str_eq(got.items[i].value, p->items[i].value);
		}
	}
	mark_parts_release(&got);
	opened_free(o);
}

Test(mark, parts_are_kept_for_their_commit_only)
{
	char name1[] = "keyEnv CI", value1[] = "3f2a", name2[] = "odd\n\t%41\x7f name",
	     value2[] = "", name3[] = "\xff\xfe", value3[] = "a\tb";
	struct mark_part items[] = { { name1, value1 },
				     { name2, value2 },
				     { name3, value3 } };
	struct mark_parts p = parts_of(items, COUNT(items)), none = parts_of(NULL, 0);
	struct error e = ERROR_INIT;
	struct stat was, is;

	sh("git commit -q --allow-empty -m 1");
	parts_expect(".", 0, NULL, "none yet");
	cr_assert(move_to_head(".", &p, &e) == 0, "%s", e.text);
	parts_expect(".", 1, &p, "kept");
	cr_assert(stat(".git/geonosis/verified", &was) == 0);
	cr_assert(move_to_head(".", &p, &e) == 0, "%s", e.text);
	cr_assert(stat(".git/geonosis/verified", &is) == 0);
	cr_expect(was.st_ino == is.st_ino, "written again, for nothing");
	sh("git commit -q --allow-empty -m 2");
	parts_expect(".", 0, NULL, "of another commit");
	cr_assert(move_to_head(".", &none, &e) == 0, "%s", e.text);
	parts_expect(".", 1, &none, "none, and known");
	cr_assert(move_to_head(".", NULL, &e) == 0, "%s", e.text);
	parts_expect(".", 0, NULL, "taken away");
}

Test(mark, parts_cut_anywhere_are_not_known)
{
	char name[] = "keyEnv CI", value[] = "3f2a%1";
	struct mark_part items[] = { { name, value }, { name, value } };
	struct mark_parts p = parts_of(items, COUNT(items));
	struct error e = ERROR_INIT;
	struct stat st;
	off_t n;

	sh("git commit -q --allow-empty -m 1");
	cr_assert(move_to_head(".", &p, &e) == 0, "%s", e.text);
	cr_assert(stat(".git/geonosis/verified", &st) == 0);
	for (n = st.st_size - 1; n >= 0; n--) {
		cr_assert(truncate(".git/geonosis/verified", n) == 0);
		parts_expect(".", 0, NULL, "cut");
	}
}

static const char *const damages[] = {
	"%00", "%0", "%", "%zz", "%4", "no tab", "a\tb\nend\nmore", "a\tb\nend\nend",
};

Test(mark, parts_that_are_damaged_are_not_known)
{
	size_t i;

	sh("git commit -q --allow-empty -m 1 && mkdir .git/geonosis");
	for (i = 0; i < COUNT(damages); i++) {
		struct opened *o = opened_new(".");
		bool has_tab = strchr(damages[i], '\t') != NULL || i == 5;
		char *text = xasprintf("geonosis mark parts 1\n%s\n%s%s\nend\n",
				       o->key.head, damages[i], has_tab ? "" : "\tx");

		scratch_write(".git/geonosis/verified", text);
		parts_expect(".", 0, NULL, damages[i]);
		free(text);
		opened_free(o);
	}
	sh("rm .git/geonosis/verified && mkdir .git/geonosis/verified");
	parts_expect(".", -1, NULL, "a directory");
}

Test(mark, a_part_that_cannot_be_kept_moves_no_mark)
{
	struct mark_parts none = parts_of(NULL, 0);
	struct error e = ERROR_INIT;
	char *is;

	sh("git commit -q --allow-empty -m 1 && : >.git/geonosis");
	cr_expect(move_to_head(".", &none, &e) < 0);
	cr_expect(strstr(e.text, "geonosis") != NULL, "%s", e.text);
	is = out("git for-each-ref " MARK);
	cr_expect_str_eq(is, "");
	free(is);
}

Test(mark, worktrees_share_it)
{
	struct mark_parts none = parts_of(NULL, 0);
	struct mark m = MARK_INIT;
	struct error e = ERROR_INIT;
	struct opened *o;

	sh("git commit -q --allow-empty -m 1 && git worktree add -q -b side ../wt &&"
	   " git -C ../wt commit -q --allow-empty -m 2");
	cr_assert(move_to_head("../wt", &none, &e) == 0, "%s", e.text);
	o = opened_new(".");
	mark_read(&o->repository, MARK, &m);
	cr_expect(m.state == MARK_FOUND && strcmp(m.commit, o->key.head) != 0);
	cr_expect(access(".git/geonosis/verified", F_OK) == 0);
	opened_free(o);
	parts_expect("../wt", 1, &none, "the worktree's");
	sh("git update-ref -d " MARK);
	o = opened_new("../wt");
	mark_read(&o->repository, MARK, &m);
	cr_expect(m.state == MARK_NONE);
	opened_free(o);
}

Test(mark, a_hook_s_environment_misleads_nobody)
{
	struct error e = ERROR_INIT;
	char *is;

	sh("git commit -q --allow-empty -m 1 && git init -q ../other &&"
	   " git -C ../other commit -q --allow-empty -m o");
	(void)setenv("GIT_DIR", "../other/.git", 1);
	(void)setenv("GIT_WORK_TREE", "../other", 1);
	(void)setenv("GIT_INDEX_FILE", "/nonexistent", 1);
	(void)setenv("GIT_NAMESPACE", "ns", 1);
	(void)setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'", 1);
	(void)setenv("GIT_OBJECT_DIRECTORY", "/nonexistent", 1);
	cr_expect(move_to_head(".", NULL, &e) == 0, "%s", e.text);
	is = out(
	    "env -u GIT_DIR -u GIT_WORK_TREE -u GIT_NAMESPACE -u GIT_CONFIG_PARAMETERS"
	    " -u GIT_OBJECT_DIRECTORY git -C ../other for-each-ref refs/geonosis");
	cr_expect_str_eq(is, "");
	free(is);
}

Test(mark, sha256)
{
	struct error e = ERROR_INIT;
	struct mark_parts none = parts_of(NULL, 0);

	sh("git init -q --object-format=sha256 ../r256");
	cr_assert(chdir("../r256") == 0);
	sh("git commit -q --allow-empty -m 1");
	cr_assert(move_to_head(".", &none, &e) == 0, "%s", e.text);
	sh("git commit -q --allow-empty -m 2");
	cr_assert(move_to_head(".", &none, &e) == 0, "%s", e.text);
	parts_expect(".", 1, &none, "kept");
}

Test(mark, a_repository_that_takes_no_writes)
{
	struct error e = ERROR_INIT;

	sh("git commit -q --allow-empty -m 1 && : >.git/refs/geonosis");
	cr_expect(move_to_head(".", NULL, &e) < 0);
	cr_expect(strncmp(e.text, MARK, strlen(MARK)) == 0, "%s", e.text);
}
