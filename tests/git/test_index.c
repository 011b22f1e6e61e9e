/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/index.h"
#include "ipc/fd.h"
#include "tests/git/fixture.h"

TestSuite(index, .init = fixture_enter, .fini = fixture_leave, .timeout = 60);

static const char files[] =
    "mkdir -p d/e f && echo 1 >a && echo 2 >d/b && echo 3 >d/e/c &&"
    " echo 4 >d.x && echo 5 >f/a && ln -s a l && chmod +x d/b";

static void
listing_equals(const struct index *x, const char *what)
{
	struct buf ours = BUF_INIT, theirs = BUF_INIT;
	struct error e = ERROR_INIT;
	char hex[2 * OBJECT_ID_MAX + 1];
	size_t i;

	for (i = 0; i < x->nentries; i++) {
		hex_encode(x->entries[i].id, 20, hex);
		buf_printf(&ours, "%06o %s %u\t%s\n", x->entries[i].mode, hex,
			   x->entries[i].stage, x->entries[i].path);
	}
	sh("git ls-files -s --sparse >../listing");
	cr_assert(file_read("../listing", 1 << 20, &theirs, &e) == 0, "%s", e.text);
	cr_expect_str_eq(buf_text(&ours), buf_text(&theirs), "%s", what);
	buf_release(&ours);
	buf_release(&theirs);
}

Test(index, every_form_that_git_writes)
{
	static const struct {
		const char *name, *make;
	} forms[] = {
		{ "version 2", "git add -A" },
		{ "version 3", "git add -A && echo n >n && git add -N n" },
		{ "version 4", "git config index.version 4; rm .git/index; git add -A" },
		{ "split",
		  "rm .git/index; git add -A; git update-index --split-index &&"
		  " git config splitIndex.maxPercentChange 100 &&"
		  " echo x >>a && echo y >new && git add -A && git rm -qf d/e/c" },
		{ "split, whole again", "git update-index --no-split-index" },
		{ "cache tree and resolve undo", "git commit -qm one" },
		{ "untracked cache",
		  "git update-index --force-untracked-cache; git status" },
		{ "conflict", "git checkout -qb s && echo s >a && git commit -qam s && "
			      "git checkout -q main"
			      " && echo m >a && git commit -qam m; ! git merge -q s" },
		{ "sparse", "git merge --abort; git sparse-checkout set --cone "
			    "--sparse-index f" },
	};
	size_t i;

	sh(files);
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct index x = INDEX_INIT;
		struct error e = ERROR_INIT;

		sh(forms[i].make);
		cr_assert(index_read(".git", OBJECT_FORMAT_SHA1, &x, &e) == 0, "%s: %s",
			  forms[i].name, e.text);
		listing_equals(&x, forms[i].name);
		index_release(&x);
	}
}

Test(index, none_is_empty)
{
	struct index x = INDEX_INIT;
	struct error e = ERROR_INIT;

	cr_expect(index_read(".git", OBJECT_FORMAT_SHA1, &x, &e) == 0);
	cr_expect(x.nentries == 0);
}

Test(index, flags_and_stat_data_are_kept)
{
	struct index x = INDEX_INIT;
	struct error e = ERROR_INIT;

	sh(files);
	sh("git add -A && git update-index --assume-unchanged a &&"
	   " git update-index --skip-worktree d/b && echo n >n && git add -N n");
	cr_assert(index_read(".git", OBJECT_FORMAT_SHA1, &x, &e) == 0, "%s", e.text);
	cr_assert(x.nentries == 7);
	cr_expect(x.entries[0].flags == INDEX_ASSUME_UNCHANGED);
	cr_expect(index_stat_word(&x.entries[0], INDEX_STAT_BYTES) == 2);
	cr_expect(x.entries[2].flags == INDEX_SKIP_WORKTREE);
	cr_expect(x.entries[2].mode == INDEX_MODE_EXEC);
	cr_expect(x.entries[6].flags == INDEX_INTENT_TO_ADD);
	index_release(&x);
}

Test(index, listing_of_git_is_the_same)
{
	struct index x = INDEX_INIT, y = INDEX_INIT;
	struct error e = ERROR_INIT;
	struct buf listing = BUF_INIT;
	size_t i;

	sh(files);
	sh("echo s >' lead' && git add -A && git update-index --skip-worktree d/b &&"
	   " git ls-files --stage --debug -z >../l");
	cr_assert(file_read("../l", 1 << 20, &listing, &e) == 0);
	cr_assert(index_read(".git", OBJECT_FORMAT_SHA1, &x, &e) == 0, "%s", e.text);
	cr_assert(index_parse_listing(&listing, OBJECT_FORMAT_SHA1, &y, &e) == 0, "%s",
		  e.text);
	cr_assert(x.nentries == y.nentries);
	for (i = 0; i < x.nentries; i++) {
		const struct index_entry *a = &x.entries[i], *b = &y.entries[i];

		cr_expect_str_eq(a->path, b->path);
		cr_expect(a->mode == b->mode && a->flags == b->flags &&
			  a->stage == b->stage && memcmp(a->id, b->id, 20) == 0);
		cr_expect(index_stat_word(a, INDEX_STAT_CTIME_NSEC) ==
			  index_stat_word(b, INDEX_STAT_CTIME_NSEC));
		cr_expect(index_stat_word(a, INDEX_STAT_INO) ==
			  index_stat_word(b, INDEX_STAT_INO));
	}
	index_release(&x);
	index_release(&y);
}

/* A copy of the index with something done to it. */
static int
parse_changed(const struct buf *good, size_t len, size_t at, int byte, struct error *e)
{
	struct index x = INDEX_INIT;
	struct buf copy = BUF_INIT;
	int rc;

	buf_append(&copy, good->data, len);
	if (byte >= 0)
		copy.data[at] = (char)byte;
	rc = index_parse(&copy, NULL, OBJECT_FORMAT_SHA1, &x, e);
	index_release(&x);
	return rc;
}

Test(index, cut_anywhere_it_is_refused_or_whole)
{
	static const char *const versions[] = { "2", "4" };
	size_t v, n;

	sh(files);
	for (v = 0; v < 2; v++) {
		struct buf good = BUF_INIT;
		struct error e = ERROR_INIT;
		char make[128];

		(void)snprintf(
		    make, sizeof(make),
		    "rm -f .git/index; git config index.version %s && git add -A",
		    versions[v]);
		sh(make);
		cr_assert(file_read(".git/index", 1 << 20, &good, &e) == 0);
		cr_assert(parse_changed(&good, good.len, 0, -1, &e) == 0, "%s", e.text);
		/* Less the checksum, nothing of the entries may be missing. */
		for (n = 0; n < good.len; n++)
			cr_expect(parse_changed(&good, n, 0, -1, &e) < 0,
				  "version %s cut at %zu was read", versions[v], n);
		buf_release(&good);
	}
}

Test(index, any_byte_changed_never_crashes)
{
	struct buf good = BUF_INIT;
	struct error e = ERROR_INIT;
	size_t n;
	int b;

	sh(files);
	sh("git config index.version 4 && git add -A");
	cr_assert(file_read(".git/index", 1 << 20, &good, &e) == 0);
	for (n = 0; n < good.len; n++)
		for (b = 0; b < 256; b += 5)
			(void)parse_changed(&good, good.len, n, b, &e);
	buf_release(&good);
}

Test(index, what_is_not_known_is_refused)
{
	static const struct {
		const char *name;
		size_t at;
		const char *bytes;
	} changes[] = {
		{ "magic", 0, "XIRC" },
		{ "version 1", 7, "\1" },
		{ "version 5", 7, "\5" },
		{ "too many entries", 8, "\x7f" },
		{ "a mode of nothing", 12 + 26, "\x10" },
		{ "a path to .git", 12 + 62, ".git/hooks" },
		{ "a path upwards", 12 + 62, "../../etc/" },
		{ "a path that is absolute", 12 + 62, "/etc/passw" },
		{ "a path with nothing between", 12 + 62, "a//bcdefgh" },
		{ "a path with .GIT inside", 12 + 62, "aa/.GIT/ab" },
	};
	struct buf good = BUF_INIT;
	struct error e = ERROR_INIT;
	size_t i;

	sh("echo 1 >0123456789 && git add -A");
	cr_assert(file_read(".git/index", 1 << 20, &good, &e) == 0);
	cr_assert(parse_changed(&good, good.len, 0, -1, &e) == 0);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct buf copy = BUF_INIT;
		struct index x = INDEX_INIT;

		buf_append(&copy, good.data, good.len);
		memcpy(copy.data + changes[i].at, changes[i].bytes,
		       strlen(changes[i].bytes));
		cr_expect(index_parse(&copy, NULL, OBJECT_FORMAT_SHA1, &x, &e) < 0, "%s",
			  changes[i].name);
		cr_expect(e.kind == ERROR_DATA);
	}
	buf_release(&good);
}

Test(index, an_unknown_extension_counts_by_its_first_letter)
{
	static const struct {
		const char *tag;
		int rc;
	} tags[] = { { "ZZZZ", 0 }, { "zzzz", -1 } };
	struct buf good = BUF_INIT;
	struct error e = ERROR_INIT;
	size_t i;

	sh("echo 1 >a && git add -A");
	cr_assert(file_read(".git/index", 1 << 20, &good, &e) == 0);
	for (i = 0; i < 2; i++) {
		struct buf copy = BUF_INIT;
		struct index x = INDEX_INIT;

		buf_append(&copy, good.data, good.len - 20);
		buf_append(&copy, tags[i].tag, 4);
		buf_append(&copy, "\0\0\0\2ab", 6);
		buf_append(&copy, good.data + good.len - 20, 20);
		cr_expect(index_parse(&copy, NULL, OBJECT_FORMAT_SHA1, &x, &e) ==
			      tags[i].rc,
			  "%s", tags[i].tag);
		index_release(&x);
	}
	buf_release(&good);
}

Test(index, a_split_index_without_its_shared_file_is_refused)
{
	struct index x = INDEX_INIT;
	struct error e = ERROR_INIT;

	sh("echo 1 >a && git add -A && git update-index --split-index &&"
	   " rm .git/sharedindex.*");
	cr_expect(index_read(".git", OBJECT_FORMAT_SHA1, &x, &e) < 0);
	cr_expect(e.kind == ERROR_DATA);
}
