/* SPDX-License-Identifier: MIT */
/* The parts of prove that ask no process: paths, links, mounts, changes, lines. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "supervisor/prove/ground.h"
#include "supervisor/prove/manifest.h"
#include "supervisor/prove/portable.h"
#include "supervisor/prove/proof_lines.h"
#include "supervisor/prove/proof_report.h"
#include "supervisor/prove/reach.h"
#include "supervisor/prove/removal.h"
#include "supervisor/prove/space.h"
#include "supervisor/prove/surroundings.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
expect_text(char *got, const char *want, const char *what)
{
	cr_expect((got == NULL) == (want == NULL) &&
		      (got == NULL || strcmp(got, want) == 0),
		  "%s: got %s, want %s", what, got != NULL ? got : "(none)",
		  want != NULL ? want : "(none)");
	free(got);
}

Test(prove_path, lies_in)
{
	static const struct {
		const char *path, *dir;
		bool is;
	} rows[] = {
		{ "/a/b", "/a/b", true },   { "/a/b/c", "/a/b", true },
		{ "/a/bc", "/a/b", false }, { "/a", "/a/b", false },
		{ "/a", "/", true },	    { "/", "/", true },
		{ "a", "/", false },	    { "", "/a", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		cr_expect(path_lies_in(rows[i].path, rows[i].dir) == rows[i].is,
			  "%s in %s", rows[i].path, rows[i].dir);
}

Test(prove_portable, links)
{
	static const struct {
		const char *dir, *target, *want;
	} rows[] = {
		/* What lies in the tree is found in the copy by itself. */
		{ "", "a", NULL },
		{ "node_modules/@t", "../../packages/core", NULL },
		{ "a", "..", NULL },
		{ "a", "./../b", NULL },
		{ "", "", NULL },
		/* An absolute path into the tree leads into the copy. */
		{ "", "/r/tree/a", "/copy/a" },
		{ "x/y", "/r/tree/a/../b/./c", "/copy/b/c" },
		{ "", "/r/tree", "/copy" },
		{ "", "/r/tree/", "/copy" },
		{ "a", "/r/x/../tree/b", "/copy/b" },
		/* One that only looks like it does not. */
		{ "", "/r/tree2/a", NULL },
		{ "", "/r/tree/../b", NULL },
		{ "", "/usr/bin/env", NULL },
		/* A relative one that leaves the tree still leads there. */
		{ "", "../b", "/r/b" },
		{ "a/b", "../../../c", "/r/c" },
		{ "", "../../../../../etc", "/etc" },
		{ "a", "../../tree2/x", "/r/tree2/x" },
		/* Out of it and back in again: it is in it. */
		{ "a", "../../tree/b", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		expect_text(
		    portable_link("/r/tree", "/copy", rows[i].dir, rows[i].target),
		    rows[i].want, rows[i].target);
}

Test(prove_surroundings, values)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "/r/tree", "/copy" },
		{ "/r/tree/bin", "/copy/bin" },
		{ "/usr/bin:/r/tree/bin:/r/tree2:", "/usr/bin:/copy/bin:/r/tree2:" },
		{ "", "" },
		{ ":", ":" },
		{ "--dir=/r/tree", "--dir=/r/tree" },
		{ "file:/r/tree", "file:/copy" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		expect_text(surroundings_lead(rows[i].text, "/r/tree", "/copy"),
			    rows[i].want, rows[i].text);
}

Test(prove_mounts, below_a_directory)
{
	static const char text[] =
	    "25 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	    "26 25 0:5 / /r/tree/z rw - tmpfs none rw\n"
	    "27 25 0:6 / /r/tree rw - tmpfs none rw\n"
	    "28 26 0:7 / /r/tree/a\\040b\\134c\\012d rw - tmpfs none rw\n"
	    "29 26 0:8 / /r/tree/z/in rw shared:1 - tmpfs none rw\n"
	    "30 26 0:9 / /r/tree/z rw - tmpfs none rw\n"
	    "31 25 0:9 / /r/tree2 rw - tmpfs none rw\n"
	    "broken\n"
	    "1 2 3\n";
	static const char *const want[] = { "a b\\c\nd", "z", "z/in" };
	struct mounts m;

	mounts_parse(text, "/r/tree", &m);
	cr_assert(m.npaths == COUNT(want), "%zu", m.npaths);
	for (size_t i = 0; i < COUNT(want); i++)
		cr_expect_str_eq(m.paths[i], want[i]);
	mounts_release(&m);
	mounts_parse("", "/r/tree", &m);
	cr_expect(m.npaths == 0);
	mounts_release(&m);
}

/* --- manifests --- */

static bool
always(void *ctx, const struct manifest_entry *a, const struct manifest_entry *b)
{
	(void)a;
	(void)b;
	++*(int *)ctx;
	return true;
}

Test(prove_manifest, tells_what_differs, .timeout = 10)
{
	struct manifest before, after;
	struct changes changes = CHANGES_INIT;
	struct error err = ERROR_INIT;
	int asked = 0;

	(void)scratch_enter();
	cr_assert(mkdir("d", 0755) == 0 && mkdir("d/.geonosis", 0755) == 0 &&
		  mkdir(".git", 0755) == 0 && mkdir(".git/objects", 0755) == 0 &&
		  mkdir("geonosis-copies-0-1", 0700) == 0);
	scratch_write("same", "1");
	scratch_write("gone", "1");
	scratch_write("d/written", "1");
	scratch_write(".git/index", "1");
	cr_assert(symlink("same", "link") == 0);
	cr_assert(manifest_take(".", &before, &err) == 0);
	scratch_write("d/.geonosis/x", "1");
	scratch_write(".git/objects/x", "1");
	scratch_write(".git/index", "22");
	scratch_write("geonosis-copies-0-1/x", "1");
	cr_assert(unlink("gone") == 0 && unlink("link") == 0 &&
		  symlink("other", "link") == 0);
	scratch_write("d/written", "22");
	scratch_write("new", "");
	cr_assert(manifest_take(".", &after, &err) == 0);
	manifest_compare(&before, &after, always, &asked, &changes);
	cr_expect(changes.count == 4 && asked == 4, "%zu", changes.count);
	cr_assert(changes.nkept == 4);
	cr_expect_str_eq(changes.paths[0], "d/written");
	cr_expect_str_eq(changes.paths[1], "gone");
	cr_expect_str_eq(changes.paths[2], "link");
	cr_expect_str_eq(changes.paths[3], "new");
	cr_expect(manifest_find(&after, "d/written") != NULL);
	cr_expect(manifest_find(&after, "gone") == NULL);
	changes_release(&changes);
	manifest_release(&before);
	manifest_release(&after);
	cr_expect(manifest_take("none", &before, &err) == -1);
	scratch_leave();
}

Test(prove_manifest, content, .timeout = 10)
{
	char *big = xmalloc(200001);

	(void)scratch_enter();
	memset(big, 'x', 200000);
	big[200000] = '\0';
	scratch_write("a", big);
	scratch_write("b", big);
	big[199999] = 'y';
	scratch_write("c", big);
	scratch_write("empty", "");
	cr_assert(symlink("a", "link") == 0 && mkfifo("fifo", 0600) == 0);
	cr_expect(file_content_same("a", "b"));
	cr_expect(!file_content_same("a", "c"));
	cr_expect(!file_content_same("a", "empty"));
	cr_expect(!file_content_same("empty", "a"));
	cr_expect(file_content_same("empty", "empty"));
	cr_expect(!file_content_same("a", "link"));
	cr_expect(!file_content_same("a", "none"));
	cr_expect(!file_content_same("a", "fifo"));
	free(big);
	scratch_leave();
}

/* --- removal --- */

Test(prove_removal, deep_unreadable_and_linked, .timeout = 30)
{
	uint64_t bytes = 0;
	int fd, depth;

	(void)scratch_enter();
	cr_assert(mkdir("kept", 0755) == 0 && mkdir("top", 0755) == 0);
	scratch_write("kept/file", "1");
	scratch_write("top/file", "12345");
	cr_assert(symlink("../kept", "top/link") == 0);
	cr_assert(symlink("/", "top/root") == 0);
	cr_assert(mkdir("top/closed", 0755) == 0);
	scratch_write("top/closed/file", "123");
	cr_assert(chmod("top/closed", 0) == 0);
	fd = open("top", O_RDONLY | O_DIRECTORY);
	/* Far past what a path or a process' descriptors can hold. */
	for (depth = 0; depth < 3000; depth++) {
		int child;

		cr_assert(mkdirat(fd, "a-directory", 0755) == 0);
		child = openat(fd, "a-directory", O_RDONLY | O_DIRECTORY);
		(void)close(fd);
		fd = child;
	}
	(void)close(fd);
	cr_expect(removal_run(AT_FDCWD, "top", &bytes) == 0, "%s", strerror(errno));
	cr_expect(access("top", F_OK) < 0);
	cr_expect(access("kept/file", F_OK) == 0);
	cr_expect(bytes == 8, "%d", (int)bytes);
	cr_expect(removal_run(AT_FDCWD, "top", NULL) == 0, "what is not there is gone");
	cr_expect(removal_run(AT_FDCWD, "kept/file", NULL) == -1, "it is no directory");
	scratch_leave();
}

Test(prove_removal, never_enters_a_mount, .timeout = 30)
{
	(void)scratch_enter();
	cr_assert(mkdir("top", 0755) == 0);
	if (!scratch_mount("top/mounted", 1 << 20))
		cr_skip_test("no mounts here");
	scratch_write("top/mounted/file", "1");
	cr_expect(removal_run(AT_FDCWD, "top", NULL) == -1);
	cr_expect(access("top/mounted/file", F_OK) == 0);
	scratch_leave();
}

/* --- reach --- */

Test(prove_reach, workspaces)
{
	char path_a[] = "packages/a", path_b[] = "packages/b", path_c[] = "packages/c";
	char name[] = "x", root[] = "/r", dir[] = "/r/sub";
	struct workspace items[] = {
		{ .path = path_a, .name = name },
		{ .path = path_b, .name = name },
		{ .path = path_c, .name = name },
	};
	static const struct edge edges[] = { { 1, 0 } };
	static const struct {
		const char *path;
		bool want[3];
	} rows[] = {
		{ "sub/packages/a/x.js", { true, true, false } },
		{ "sub/packages/b/x.js", { false, true, false } },
		{ "sub/packages/c/README.md", { false, false, true } },
		{ "sub/package.json", { true, true, true } },
		{ "other", { true, true, true } },
		{ "sub/node_modules/x/y", { true, true, true } },
	};
	const struct ground g = { .root = root, .dir = dir, .rel = "sub" };
	struct scope s = SCOPE_INIT;

	s.workspaces.items = items;
	s.workspaces.nitems = COUNT(items);
	graph_from_edges(3, edges, 1, &s.graph);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct changes changes = CHANGES_INIT;
		struct error err = ERROR_INIT;
		bool *reached = NULL;

		changes_add(&changes, rows[i].path);
		cr_assert(reach_find(&g, &s, &s, &changes, &reached, &err) == 0, "%s",
			  err.text);
		for (size_t k = 0; k < 3; k++)
			cr_expect(reached[k] == rows[i].want[k], "%s reaches %s",
				  rows[i].path, items[k].path);
		free(reached);
		changes_release(&changes);
	}
	graph_release(&s.graph);
}

/* --- lines --- */

Test(prove_lines, sizes)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} rows[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 1000, "1.0 kB" },
		{ 1234567, "1.2 MB" },
		{ 999999, "999.9 kB" },
		{ 1000000, "1.0 MB" },
		{ 49999999999, "49.9 GB" },
		{ UINT64_MAX, "18.4 EB" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf b = BUF_INIT;

		proof_lines_size(rows[i].bytes, &b);
		cr_expect_str_eq(buf_text(&b), rows[i].want);
		buf_release(&b);
	}
}

/* One step and its view, to be altered. */
struct stage {
	struct step step;
	struct job job;
	struct tier tier;
	struct plan plan;
	struct provable provable;
	struct proof proof;
	struct prove_view view;
};

static char text_id[] = "fast/2", text_command[] = "pnpm lint", text_tier[] = "fast",
	    text_plant[] = "touch p", text_expect[] = "no-debugger",
	    text_tail[] = "one\ntwo", text_detail[] = "src/a\nPROVEN fast/1",
	    text_part[] = "2/3";

static void
stage_set(struct stage *s)
{
	*s = (struct stage){ 0 };
	s->step.id = text_id;
	s->step.command = text_command;
	s->step.plant = text_plant;
	s->step.expect = text_expect;
	s->job = (struct job){ .step = &s->step, .id = text_id, .command = text_command };
	s->tier.name = text_tier;
	s->plan = (struct plan){ .tier = &s->tier, .jobs = &s->job, .njobs = 1 };
	s->provable = (struct provable){ &s->step, 0, 1 };
	s->proof = (struct proof)PROOF_INIT;
	s->proof.copy = COPY_OVERLAY;
	s->proof.copy_bytes = 1234567;
	s->proof.outcome = PROOF_NOT_PROVEN;
	s->proof.exit_code = 1;
	s->view = (struct prove_view){
		.plan = &s->plan, .steps = &s->provable, .nsteps = 1, .proofs = &s->proof
	};
}

static void
expect_line(const struct stage *s, const char *want)
{
	struct buf b = BUF_INIT;

	proof_lines_step(&s->view, 0, &b);
	cr_expect_str_eq(buf_text(&b), want);
	buf_release(&b);
}

Test(prove_lines, a_step)
{
	struct stage s;
	struct buf b = BUF_INIT;

	stage_set(&s);
	s.proof.outcome = PROOF_PROVEN;
	expect_line(&s,
		    "PROVEN fast/2 pnpm lint — the plant made it exit 1 and its output "
		    "carried \"no-debugger\" (copy 1.2 MB)\n");
	s.step.per = STEP_PER_SHARD;
	s.proof.part = text_part;
	expect_line(&s,
		    "PROVEN fast/2 pnpm lint — the plant made it exit 1 and its output "
		    "carried \"no-debugger\" (shard 2/3) (copy 1.2 MB)\n");
	proof_lines_summary(&s.view, &b);
	cr_expect_str_eq(buf_text(&b),
			 "prove fast: 1 proven, 0 unproven, 0 not proven\n");
	buf_release(&b);
	stage_set(&s);
	s.proof.outcome = PROOF_UNPROVEN;
	s.proof.copy = COPY_NONE;
	expect_line(&s,
		    "PASS (unproven) fast/2 pnpm lint — no proves declared — nobody has "
		    "watched this step fail\n");
	s.proof.outcome = PROOF_NOT_RUN;
	expect_line(
	    &s, "skip fast/2 pnpm lint — interrupted before it was watched failing\n");
}

Test(prove_lines, reasons)
{
	static const struct {
		enum proof_reason reason;
		int signal;
		const char *want;
	} rows[] = {
		{ PROOF_STAYED_GREEN, 0, "the plant left it green: it exited 0" },
		{ PROOF_NO_EVIDENCE, 0,
		  "the plant made it exit 1, but its output did not carry "
		  "\"no-debugger\"" },
		{ PROOF_STEP_SIGNAL, 9,
		  "it was ended by SIGKILL: that is no verdict of its own" },
		{ PROOF_PLANT_FAILED, 0, "the plant itself failed: it exited 1" },
		{ PROOF_PLANT_FAILED, 15,
		  "the plant itself failed: it was ended by SIGTERM" },
		{ PROOF_NOTHING_CHANGED, 0, "the plant changed nothing" },
		{ PROOF_NOTHING_REACHED, 0,
		  "the plant reached no workspace that it runs over" },
		{ PROOF_RED_BEFORE, 0, "it was red before the plant: it exited 1" },
		/* What others wrote stays on its line. */
		{ PROOF_TREE_TOUCHED, 0,
		  "the tree was written to meanwhile: src/a\xef\xbf\xbdPROVEN fast/1" },
		{ PROOF_TROUBLE, 0,
		  "it could not be tried: src/a\xef\xbf\xbdPROVEN fast/1" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stage s;
		char *want;

		stage_set(&s);
		s.proof.reason = rows[i].reason;
		s.proof.signal = rows[i].signal;
		s.proof.detail = text_detail;
		s.proof.tail = text_tail;
		s.proof.lines = 5;
		s.proof.tail_from = 2;
		s.proof.tail_lines = 2;
		want = xasprintf("NOT PROVEN fast/2 pnpm lint — %s (copy 1.2 MB)\n"
				 "  … 1 line above\n  one\n  two\n  … 2 lines below\n",
				 rows[i].want);
		expect_line(&s, want);
		free(want);
	}
}

Test(prove_report, a_step)
{
	struct stage s;
	struct buf b = BUF_INIT;

	stage_set(&s);
	s.proof.reason = PROOF_NO_EVIDENCE;
	s.proof.nchanged = 3;
	proof_report_format(&s.view, &b);
	cr_expect(strstr(buf_text(&b), "\"outcome\": \"not proven\"") != NULL);
	cr_expect(strstr(buf_text(&b), "\"reason\": \"no-evidence\"") != NULL);
	cr_expect(strstr(buf_text(&b), "\"changedCount\": 3") != NULL);
	cr_expect(strstr(buf_text(&b), "\"ok\": false") != NULL);
	buf_release(&b);
}
