/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/objects.h"
#include "git/pack.h"
#include "ipc/fd.h"
#include "tests/git/fixture.h"

TestSuite(objects, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);

/* Versions of a file that are near each other, so that packs hold deltas. */
static const char history[] =
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir -p d/$i; seq 1 400 >d/f;"
    " sed -i \"$((i * 30))s/.*/changed $i/\" d/f; echo $i >d/$i/x; git add -A;"
    " git commit -qm \"commit $i\"; done; git tag -a -m t v1; : >e; git add e;"
    " git commit -qm empty";

/* All objects as git names and prints them: `<id> <kind> <size>` LF content LF. */
static void
store_equals(const char *common_dir, enum object_format format, const char *what)
{
	struct objects *o = objects_new(common_dir, format);
	struct buf all = BUF_INIT;
	struct error e = ERROR_INIT;
	const char *p, *end;
	size_t n = 0, id_size = object_format_size(format);

	sh("git cat-file --batch-all-objects --batch >../all");
	cr_assert(file_read("../all", 1 << 26, &all, &e) == 0, "%s", e.text);
	p = buf_text(&all);
	for (end = p + all.len; p < end; n++) {
		static const char *const kinds[] = { "?", "commit", "tree", "blob",
						     "tag" };
		uint8_t id[OBJECT_ID_MAX];
		struct buf content = BUF_INIT;
		enum object_kind kind = OBJECT_TAG;
		char name[16];
		size_t size;
		int used = 0;

		cr_assert(hex_decode(p, id_size, id) == 0);
		cr_assert(sscanf(p + 2 * id_size, " %15s %zu%n", name, &size, &used) ==
			  2);
		p += 2 * id_size + (size_t)used + 1;
		cr_expect(object_read(o, id, &kind, &content) == 1, "%s: no %s", what,
			  name);
		cr_expect_str_eq(kinds[kind], name, "%s", what);
		cr_expect(content.len == size && memcmp(content.data, p, size) == 0,
			  "%s: a %s differs", what, name);
		buf_release(&content);
		p += size + 1;
	}
	cr_expect(n > 60, "%s: only %zu objects", what, n);
	buf_release(&all);
	objects_free(o);
}

Test(objects, read_as_git_reads_them)
{
	static const struct {
		const char *name, *make;
	} stores[] = {
		{ "loose", history },
		{ "packed", "git gc -q --aggressive" },
		{ "bases by id", "git -c repack.useDeltaBaseOffset=false repack -adfq" },
		{ "several packs, an index over them",
		  "echo 1 >n && git add n && git commit -qm n && git repack -dq &&"
		  " git multi-pack-index write" },
		{ "alternates",
		  "cd .. && mv r other && git clone -q -s other r && cd r &&"
		  " echo 2 >m && git add m && git commit -qm m" },
	};
	size_t i;

	for (i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		sh(stores[i].make);
		if (i == 4)
			cr_assert(chdir("../r") == 0);
		store_equals(".git", OBJECT_FORMAT_SHA1, stores[i].name);
	}
}

Test(objects, of_sha256)
{
	sh("cd .. && rm -rf r && git init -q --object-format=sha256 r");
	cr_assert(chdir("../r") == 0);
	sh(history);
	store_equals(".git", OBJECT_FORMAT_SHA256, "loose");
	sh("git gc -q");
	store_equals(".git", OBJECT_FORMAT_SHA256, "packed");
}

Test(objects, what_is_not_there_or_not_sound_is_not_read)
{
	struct objects *o = objects_new(".git", OBJECT_FORMAT_SHA1);
	uint8_t id[OBJECT_ID_MAX] = { 1, 2, 3 };
	struct buf content = BUF_INIT;
	enum object_kind kind;

	cr_expect(object_read(o, id, &kind, &content) == 0);
	sh("mkdir .git/objects/01 && echo nonsense >"
	   ".git/objects/01/02030000000000000000000000000000000000");
	cr_expect(object_read(o, id, &kind, &content) == 0);
	objects_free(o);
}

Test(objects, a_pack_cut_or_changed_anywhere_never_crashes)
{
	struct buf idx = BUF_INIT, pack = BUF_INIT;
	struct error e = ERROR_INIT;
	size_t at;

	sh(history);
	sh("git gc -q && cp .git/objects/pack/*.idx ../p.idx && cp "
	   ".git/objects/pack/*.pack "
	   "../p.pack && git rev-parse HEAD >../head && chmod u+w ../p.*");
	cr_assert(file_read("../p.idx", 1 << 20, &idx, &e) == 0);
	cr_assert(file_read("../p.pack", 1 << 20, &pack, &e) == 0);
	for (at = 0; at < pack.len; at += 37) {
		struct pack p;
		struct pack_entry entry;
		uint64_t offset;

		pack.data[at] ^= 0x55;
		cr_assert(file_save("../p.pack", pack.data, pack.len - at % 5, &e) == 0);
		pack_init(&p, strdup("../p"));
		(void)pack_find(&p, OBJECT_FORMAT_SHA1,
				(const uint8_t *)idx.data + at % 900, &offset);
		if (p.idx_fd >= 0)
			for (offset = 12; offset < 3000; offset += 61)
				if (pack_entry_read(&p, OBJECT_FORMAT_SHA1, offset,
						    &entry) == 1)
					buf_release(&entry.content);
		pack_release(&p);
	}
	buf_release(&idx);
	buf_release(&pack);
}
