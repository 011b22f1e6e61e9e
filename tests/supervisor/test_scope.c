/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/scope.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/green/key.h"
#include "supervisor/green/moves.h"
#include "tests/git/fixture.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* p/b depends on p/a, p/c on nobody. */
#define BASE                                                                          \
	"git checkout -q -B main; echo '{\"workspaces\": [\"p/*\"]}' >package.json; " \
	"for n in a b c; do mkdir -p p/$n; echo \"{\\\"name\\\": \\\"$n\\\", "        \
	"\\\"version\\\": \\\"1.0.0\\\"}\" >p/$n/package.json; echo 1 >p/$n/x.js; "   \
	"done; echo '{\"name\": \"b\", \"dependencies\": {\"a\": \"*\"}}' "           \
	">p/b/package.json; "                                                         \
	"echo '{\"verify\": {\"fast\": [{\"command\": \"true {workspace}\", "         \
	"\"per\": \"workspace\"}]}}' >geonosis.json; "                                \
	"echo .geonosis >.gitignore; git add -A; git commit -qm base; "
#define NAMED                                                                      \
	"sed -i 's/^{/{\"keyEnv\": [\"GN_A\"], /' geonosis.json; git commit -qam " \
	"env"

struct scope_row {
	const char *name;
	const char *before; /* after the base, before the green; may be "" */
	const char *after;
	const char *selected; /* "*": all, and nothing is narrowed; names otherwise */
	const char *reason;   /* part of it; NULL: none */
};

static const struct scope_row rows[] = {
	{ "at the mark", "", "true", "", "nothing changed" },
	{ "an edit", "", "echo 2 >p/a/x.js", "a b", NULL },
	{ "a leaf", "", "echo 2 >p/b/x.js", "b", NULL },
	{ "committed", "", "echo 2 >p/c/x.js; git commit -qam 2", "c", NULL },
	{ "a document", "", "echo 2 >p/a/README.md", "", "only documents changed" },
	{ "a cut", "", "sed -i s/1.0.0/1.1.0/ p/a/package.json", "", "nothing changed" },
	{ "no cut", "", "sed -i 's/1.0.0/1.1.0\", \"x\": \"/' p/a/package.json", "a b",
	  NULL },
	{ "a cut that gains a mode", "",
	  "sed -i s/1.0.0/1.1.0/ p/a/package.json; chmod +x p/a/package.json", "a b",
	  NULL },
	{ "a cut of the merge-base only",
	  "sed -i 's/1.0.0/1.1.0\", \"x\": \"/' p/a/package.json; git commit -qam x",
	  "git checkout -q HEAD~1", "a b", NULL },
	{ "nobody's", "", "echo 2 >x.js", "a b c", "x.js changed" },
	{ "gone", "", "git rm -qr p/c", "a b", "p/c is gone" },
	{ "renamed", "", "sed -i s/\\\"c\\\"/\\\"d\\\"/ p/c/package.json", "a b c",
	  "p/c has another name" },
	{ "an edge of the base", "",
	  "echo '{\"name\": \"b\"}' >p/b/package.json; echo 2 >p/a/x.js", "a b", NULL },
	{ "an edge of the tree", "",
	  "echo '{\"name\": \"c\", \"dependencies\": {\"a\": \"*\"}}' >p/c/package.json; "
	  "git commit -qam c; git reset -q --soft HEAD~1; echo 2 >p/a/x.js",
	  "a b c", NULL },
	{ "a diverged mark", "git checkout -qb side; echo 2 >p/c/x.js; git commit -qam 2",
	  "git checkout -q main; echo 2 >p/b/x.js", "b c", NULL },
	{ "a name of the mark's branch",
	  "git checkout -qb side; sed -i s/\\\"a\\\",/\\\"z\\\",/ p/a/package.json; sed "
	  "-i "
	  "s/1/2/ p/c/x.js; git commit -qam 2",
	  "git checkout -q main", "a b c", "p/a has another name" },
	{ "an unrelated mark",
	  "git checkout -q --orphan other; git commit -qm other; git checkout -q -b o2",
	  "git checkout -q main", "*", "is no base" },
	{ "manifests of the base that do not parse", "true",
	  "git update-ref refs/geonosis/verified $(echo '{' >p/c/package.json; "
	  "git commit -qam bad; git rev-parse HEAD); git reset -q --hard HEAD~1; "
	  "echo 2 >p/b/x.js",
	  "*", "workspaces of the base cannot be read" },
	{ "no mark, and HEAD in main", "", "git update-ref -d refs/geonosis/verified",
	  "*", "HEAD is in main" },
	{ "no mark, beside main", "",
	  "git update-ref -d refs/geonosis/verified; git checkout -qb side; echo 2 "
	  ">p/c/x.js; git commit -qam 2",
	  "c", NULL },
	{ "no mark and no main", "",
	  "git update-ref -d refs/geonosis/verified; git branch -m trunk", "*",
	  "no main" },
	{ "no commit", "", "git update-ref -d HEAD", "*", "no commit yet" },
};

static void
enter(void)
{
	fixture_enter();
	(void)unsetenv("GN_A");
}

TestSuite(scope, .init = enter, .fini = fixture_leave, .timeout = 300);

struct asked {
	struct config config;
	struct key key;
	struct scope scope;
	struct mark_parts parts;
};

static int
ask(bool affected, const char *since, struct asked *a, struct error *err)
{
	struct scope_request rq = { .tier = "fast",
				    .affected = affected,
				    .since = since,
				    .needs_workspaces = true };
	struct error e = ERROR_INIT;

	*a = (struct asked){ .config = CONFIG_INIT,
			     .key = KEY_INIT,
			     .scope = SCOPE_INIT,
			     .parts = MARK_PARTS_INIT };
	cr_assert(config_load(".", &a->config, &e) == 0, "%s", e.text);
	cr_assert(key_compute(&a->config, "fast", "", "1", &a->key, &e) == 0, "%s",
		  e.text);
	key_to_parts(&a->key, &a->parts);
	rq.config = &a->config;
	rq.tree = &a->key.tree;
	rq.parts = &a->parts;
	return scope_find(&rq, &a->scope, err);
}

static void
asked_release(struct asked *a)
{
	scope_release(&a->scope);
	mark_parts_release(&a->parts);
	key_release(&a->key);
	config_release(&a->config);
}

/* The mark as a green run leaves it. */
static void
be_green(void)
{
	struct error e = ERROR_INIT;
	struct asked a;

	cr_assert(ask(false, NULL, &a, &e) == 0, "%s", e.text);
	cr_assert(moves_to_head(&a.config, "fast", &a.key, &e) == 1, "%s", e.text);
	asked_release(&a);
}

static char *
selected(const struct scope *s)
{
	struct buf b = BUF_INIT;
	size_t i;

	buf_puts(&b, s->is_narrowed ? "" : "*");
	for (i = 0; s->is_narrowed && i < s->workspaces.nitems; i++)
		if (s->is_selected[i])
			buf_printf(&b, "%s%s", b.len > 0 ? " " : "",
				   s->workspaces.items[i].path + 2);
	for (i = 0; !s->is_narrowed && i < s->workspaces.nitems; i++)
		cr_expect(s->is_selected[i]);
	return buf_steal(&b);
}

static void
row_check(const struct scope_row *r)
{
	struct error e = ERROR_INIT;
	struct asked a;
	char *got;
	size_t i;

	sh("cd .. && rm -rf r && git init -q r");
	cr_assert(chdir("../r") == 0);
	sh(BASE "true");
	if (*r->before != '\0')
		sh(r->before);
	be_green();
	sh(r->after);
	cr_assert(ask(true, NULL, &a, &e) == 0, "%s: %s", r->name, e.text);
	got = selected(&a.scope);
	cr_expect_str_eq(got, r->selected, "%s: %s, want %s", r->name, got, r->selected);
	if (r->reason == NULL)
		cr_expect(a.scope.reason == NULL, "%s: %s", r->name, a.scope.reason);
	else
		cr_expect(a.scope.reason != NULL &&
			      strstr(a.scope.reason, r->reason) != NULL,
			  "%s: %s", r->name,
			  a.scope.reason != NULL ? a.scope.reason : "no reason");
	/* Who runs among others that do not says why. */
	for (i = 0; i < a.scope.workspaces.nitems; i++)
		cr_expect((a.scope.why[i] != NULL) ==
			      (a.scope.is_narrowed && a.scope.is_selected[i]),
			  "%s: why %s", r->name, a.scope.workspaces.items[i].path);
	free(got);
	asked_release(&a);
}

Test(scope, selects)
{
	size_t i;

	for (i = 0; i < COUNT(rows); i++)
		row_check(&rows[i]);
}

/* A part of the key that differs, or that is named and not known. */
Test(scope, key_parts)
{
	struct error e = ERROR_INIT;
	struct asked a;

	sh(BASE NAMED);
	be_green();
	(void)setenv("GN_A", "1", 1);
	cr_assert(ask(true, NULL, &a, &e) == 0);
	cr_expect(!a.scope.leaves_out && strstr(a.scope.reason, "keyEnv") != NULL);
	asked_release(&a);
	be_green();
	cr_assert(ask(true, NULL, &a, &e) == 0);
	cr_expect(a.scope.leaves_out && a.scope.base_is_verified);
	asked_release(&a);
	/* Moved by hand to where no green was. */
	sh("git commit -q --allow-empty -m x; git update-ref refs/geonosis/verified "
	   "HEAD");
	cr_assert(ask(true, NULL, &a, &e) == 0);
	cr_expect(!a.scope.leaves_out && strstr(a.scope.reason, "keyEnv") != NULL);
	asked_release(&a);
}

Test(scope, since)
{
	struct error e = ERROR_INIT;
	struct asked a;

	sh(BASE NAMED "; git tag one; echo 2 >p/c/x.js; git commit -qam 2");
	be_green();
	(void)setenv("GN_A", "1", 1);
	cr_assert(ask(false, "one", &a, &e) == 0, "%s", e.text);
	cr_expect(!a.scope.base_is_verified);
	/* What was green at the tag is not known. */
	cr_expect(!a.scope.leaves_out);
	asked_release(&a);
	cr_expect(ask(false, "nowhere", &a, &e) == -1 && e.kind == ERROR_USAGE);
	cr_expect(strstr(e.text, "nowhere") != NULL, "%s", e.text);
	asked_release(&a);
}

/* The mark does not move over a tree that is not HEAD's. */
Test(scope, marks)
{
	static const struct {
		const char *name, *change;
		int rc;
	} trees[] = {
		{ "clean", "true", 1 },
		{ "a document", "echo x >p/a/NOTES.md", 1 },
		{ "an ignored file", "mkdir .geonosis; echo x >.geonosis/x", 1 },
		{ "a touch", "touch p/a/x.js", 1 },
		{ "an edit", "echo 2 >p/a/x.js", 0 },
		{ "a staged one", "git add -A", 0 },
		{ "staged, and undone on disk", "echo 1 >p/a/x.js", 0 },
		{ "put back", "git checkout -qf HEAD -- .", 1 },
		{ "untracked", "echo x >new", 0 },
		{ "by intent", "git add -N new", 0 },
		{ "gone again", "git rm -qf --cached new; rm new", 1 },
		{ "a mode", "chmod +x p/a/x.js", 0 },
		{ "a deletion", "rm p/a/x.js", 0 },
		{ "that is hidden", "git update-index --skip-worktree p/a/x.js", 0 },
		{ "an edit that is hidden", "echo 2 >p/a/x.js", 0 },
		{ "shown",
		  "git update-index --no-skip-worktree p/a/x.js; git checkout "
		  "-qf HEAD -- .",
		  1 },
		{ "out of the index", "git rm -q --cached p/c/x.js", 0 },
		{ "as it was", "git reset -q --hard", 1 },
		{ "a sparse checkout", "git sparse-checkout set p/a 2>/dev/null", 0 },
		{ "a whole one", "git sparse-checkout disable 2>/dev/null", 1 },
		{ "no commit", "git update-ref -d HEAD", 0 },
	};
	struct error e = ERROR_INIT;
	size_t i;

	sh(BASE "true");
	for (i = 0; i < COUNT(trees); i++) {
		struct asked a;
		int rc;

		sh(trees[i].change);
		cr_assert(ask(false, NULL, &a, &e) == 0, "%s", e.text);
		rc = moves_to_head(&a.config, "fast", &a.key, &e);
		cr_expect(rc == trees[i].rc, "%s: %d %s", trees[i].name, rc, e.text);
		asked_release(&a);
	}
}
