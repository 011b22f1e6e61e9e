/* SPDX-License-Identifier: MIT */
#include "supervisor/green/key.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/git/fixture.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
enter(void)
{
	fixture_enter();
	(void)unsetenv("GN_A");
	(void)unsetenv("GN_B");
	sh("printf '%s' '{\"verify\": {\"fast\": [\"true\"], \"full\": [\"true\"]}, "
	   "\"keyEnv\": [\"GN_A\", \"GN_B\"], \"keyFiles\": [\"vars\", \"d/vars\"]}' "
	   ">geonosis.json");
	sh("printf 'vars\\nnode_modules\\nout\\n.geonosis\\n' >.gitignore; mkdir d; echo "
	   "x "
	   ">d/x; git add -A; git commit -qm x");
}

TestSuite(key, .init = enter, .fini = fixture_leave, .timeout = 120);

/* The key as it is now, and its parts where they are asked for. */
static void
key_now(const char *tier, const char *flags, const char *version, struct key *ret_key)
{
	struct config c = CONFIG_INIT;
	struct error e = ERROR_INIT;

	cr_assert(config_load(".", &c, &e) == 0, "%s", e.text);
	cr_assert(key_compute(&c, tier, flags, version, ret_key, &e) == 0, "%s", e.text);
	cr_assert(ret_key->is_there, "%s", ret_key->why);
	config_release(&c);
}

struct key_row {
	const char *name;
	const char *change; /* a shell command */
	const char *variable, *value;
	const char *part; /* that differs; NULL: none */
	bool differs;	  /* the key */
};

/* One after the other, each against the one before. */
static const struct key_row rows[] = {
	{ "nothing", "true", NULL, NULL, NULL, false },
	{ "a touch", "touch d/x", NULL, NULL, NULL, false },
	{ "an edit", "echo y >d/x", NULL, NULL, NULL, true },
	{ "staged", "git add -A", NULL, NULL, NULL, false },
	{ "committed", "git commit -qm y", NULL, NULL, NULL, true },
	{ "an empty commit", "git commit -qm z --allow-empty", NULL, NULL, NULL, true },
	{ "a branch", "git checkout -qb side", NULL, NULL, NULL, false },
	{ "an ignored file", "echo x >out", NULL, NULL, NULL, false },
	{ "what is ours", "mkdir .geonosis && echo x >.geonosis/x", NULL, NULL, NULL,
	  false },
	{ "a mode", "chmod +x d/x", NULL, NULL, NULL, true },
	{ "a keyFile", "echo 1 >vars", NULL, NULL, "keyFiles", true },
	{ "its content", "echo 2 >vars", NULL, NULL, "keyFiles", true },
	{ "its time", "touch vars", NULL, NULL, NULL, false },
	{ "another's content", "mv vars d/vars", NULL, NULL, "keyFiles", true },
	{ "an empty one", ": >vars", NULL, NULL, "keyFiles", true },
	{ "a link to it", "mv d/vars d/w; ln -s w d/vars", NULL, NULL, NULL, true },
	{ "a value", "true", "GN_A", "1", "keyEnv", true },
	{ "another", "true", "GN_A", "2", "keyEnv", true },
	{ "an empty one", "true", "GN_A", "", "keyEnv", true },
	{ "of another name", "true", "GN_B", "", "keyEnv", true },
	{ "one that is not named", "true", "GN_C", "1", NULL, false },
	{ "an install", "mkdir node_modules; echo 1 >node_modules/.package-lock.json",
	  NULL, NULL, "install", true },
	{ "another", "echo 2 >node_modules/.package-lock.json", NULL, NULL, "install",
	  true },
	{ "what it installs", "echo 2 >node_modules/x", NULL, NULL, NULL, false },
	{ "a blank in the config", "echo >>geonosis.json", NULL, NULL, "config", true },
	{ "a submodule",
	  "git init -q ../s; git -C ../s commit -qm x --allow-empty; git -c "
	  "protocol.file.allow=always submodule --quiet add ../s s 2>/dev/null; git "
	  "commit "
	  "-qm s",
	  NULL, NULL, NULL, true },
	{ "that is not checked out", "git submodule --quiet deinit s", NULL, NULL,
	  "submodules", true },
};

Test(key, covers)
{
	struct key before = KEY_INIT;
	size_t i, k;

	key_now("fast", "", "1", &before);
	for (i = 0; i < COUNT(rows); i++) {
		const struct key_row *r = &rows[i];
		struct key now = KEY_INIT;

		sh(r->change);
		if (r->variable != NULL)
			(void)setenv(r->variable, r->value, 1);
		key_now("fast", "", "1", &now);
		cr_expect((strcmp(now.hex, before.hex) != 0) == r->differs, "%zu %s", i,
			  r->name);
		for (k = 0; k < KEY_NPARTS; k++) {
			bool expected =
			    r->part != NULL && strcmp(r->part, key_part_name(k)) == 0;

			cr_expect((strcmp(now.parts[k], before.parts[k]) != 0) ==
				      expected,
				  "%zu %s: %s", i, r->name, key_part_name(k));
		}
		key_release(&before);
		before = now;
	}
	key_release(&before);
}

/* Tier, flags and version, and no two of them by the same bytes in another place. */
Test(key, is_of_a_question)
{
	static const char *const questions[][3] = {
		{ "fast", "", "1" },
		{ "full", "", "1" },
		{ "fast", "--affected", "1" },
		{ "fast", "--affected --require-work", "1" },
		{ "fast", "", "2" },
		{ "fast1", "", "" },
		{ "", "fast", "1" },
		{ "f", "ast", "1" },
	};
	struct key keys[COUNT(questions)];
	size_t i, k;

	for (i = 0; i < COUNT(questions); i++) {
		keys[i] = (struct key)KEY_INIT;
		key_now(questions[i][0], questions[i][1], questions[i][2], &keys[i]);
		for (k = 0; k < i; k++)
			cr_expect_str_neq(keys[i].hex, keys[k].hex, "%zu and %zu", i, k);
	}
	for (i = 0; i < COUNT(questions); i++)
		key_release(&keys[i]);
}

/* The same files asked from another directory are another question. */
Test(key, is_of_a_directory)
{
	struct key top = KEY_INIT, below = KEY_INIT;

	sh("cp geonosis.json d/; git add -A; git commit -qm d");
	key_now("fast", "", "1", &top);
	cr_assert(chdir("d") == 0);
	key_now("fast", "", "1", &below);
	cr_expect_str_neq(top.hex, below.hex);
	cr_expect_str_eq(top.tree.hex, below.tree.hex);
	key_release(&top);
	key_release(&below);
}

Test(key, is_not_there)
{
	struct config c = CONFIG_INIT;
	struct error e = ERROR_INIT;
	struct key k = KEY_INIT;

	cr_assert(config_load(".", &c, &e) == 0);
	/* A keyFile that cannot be read is no state. */
	sh("mkdir vars");
	cr_expect(key_compute(&c, "fast", "", "1", &k, &e) == -1);
	cr_expect(!k.is_there && k.is_unreadable && k.why != NULL);
	cr_expect(strstr(e.text, "keyFiles[0]") != NULL, "%s", e.text);
	key_release(&k);
	sh("rmdir vars; rm -rf .git");
	e = (struct error)ERROR_INIT;
	cr_expect(key_compute(&c, "fast", "", "1", &k, &e) == 0);
	cr_expect(!k.is_there && !k.is_unreadable && k.why != NULL && *k.hex == '\0');
	key_release(&k);
	config_release(&c);
}

/* What a mark keeps shows no value. */
Test(key, parts_are_digests)
{
	struct mark_parts parts = MARK_PARTS_INIT;
	struct key k = KEY_INIT;
	size_t i;

	(void)setenv("GN_A", "secret", 1);
	key_now("fast", "", "1", &k);
	key_to_parts(&k, &parts);
	cr_assert(parts.n == KEY_NPARTS);
	for (i = 0; i < parts.n; i++) {
		cr_expect_str_eq(parts.items[i].name, key_part_name(i));
		cr_expect(strlen(parts.items[i].value) == 2 * (size_t)DIGEST_SIZE);
		cr_expect(strspn(parts.items[i].value, "0123456789abcdef") ==
			  2 * (size_t)DIGEST_SIZE);
	}
	mark_parts_release(&parts);
	key_release(&k);
}
