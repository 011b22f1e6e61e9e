/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/plan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "tests/supervisor/shape.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Ends the test where the text is no configuration: that is another room's. */
static void
parse(const char *text, size_t n, struct config *ret_config)
{
	struct error err = ERROR_INIT;

	*ret_config = (struct config)CONFIG_INIT;
	cr_assert_eq(config_parse("geonosis.json", text, n, ret_config, &err), 0,
		     "%.200s: %s", text, err.text);
}

static const struct tier *
tier_of(const struct config *c, const char *name)
{
	struct error err = ERROR_INIT;
	const struct tier *t = config_tier(c, name, &err);

	cr_assert_not_null(t, "%s", err.text);
	return t;
}

/* Without workspaces. */
static int
build(const struct config *c, const char *tier, const char *only, struct plan *ret_plan,
      struct error *err)
{
	static const struct scope none = SCOPE_INIT;

	return plan_build(c, tier_of(c, tier), &none, only, ret_plan, err);
}

static char *
repeats_text(const struct plan *p)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < p->nrepeats; i++)
		buf_printf(&b, "%s%s in %s", i > 0 ? ", " : "", p->repeats[i].tier->name,
			   p->repeats[i].in->name);
	return buf_steal(&b);
}

struct plan_case {
	const char *verify; /* the object, ' for " */
	const char *tier;
	const char *shape;
	const char *repeats;
};

static const struct plan_case plans[] = {
	{ "{'t':['x']}", "t", "t/1", "" },
	{ "{'t':['x','x','y']}", "t", "t/1 t/2 t/3", "" },
	{ "{'t':['x',{'parallel':['y','z']},'w']}", "t", "t/1 [t/2 t/3] t/4", "" },
	/* A tier's name is inlined in place, and is not counted. */
	{ "{'t':['x','s','y'],'s':['p','q']}", "t", "t/1 (s/1 s/2) t/2", "" },
	{ "{'t':['x','s','y'],'s':['p','q']}", "s", "s/1 s/2", "" },
	{ "{'t':['s'],'s':['r'],'r':['x']}", "t", "((r/1))", "" },
	{ "{'t':[{'command':'s'},'x'],'s':['p']}", "t", "(s/1) t/1", "" },
	/* In a group it is one lane, its steps in their own order. */
	{ "{'t':[{'parallel':['x','s','y']}],'s':['p','q']}", "t", "[t/1 (s/1 s/2) t/2]",
	  "" },
	{ "{'t':[{'parallel':['r','s']}],'s':['p','q'],'r':['v','w']}", "t",
	  "[(r/1 r/2) (s/1 s/2)]", "" },
	{ "{'t':[{'parallel':['s','x']}],'s':['p',{'parallel':['q','o']}]}", "t",
	  "[(s/1 [s/2 s/3]) t/1]", "" },
	{ "{'t':[{'parallel':['x']}]}", "t", "[t/1]", "" },
	{ "{'t':[{'parallel':['x',{'parallel':['y','z']}]},'w']}", "t",
	  "[t/1 [t/2 t/3]] t/4", "" },
	/* Met again it runs once, at its first place, and is waited for. */
	{ "{'t':['s','s'],'s':['p']}", "t", "(s/1) <s", "s in t" },
	{ "{'t':['s','x','s','y','s'],'s':['p']}", "t", "(s/1) t/1 <s t/2 <s",
	  "s in t, s in t" },
	{ "{'t':['a','b'],'a':['s','x'],'b':['s','y'],'s':['p']}", "t",
	  "((s/1) a/1) (<s b/1)", "s in b" },
	{ "{'t':[{'parallel':['a','b']}],'a':['s','x'],'b':['s','y'],'s':['p']}", "t",
	  "[((s/1) a/1) (<s b/1)]", "s in b" },
	{ "{'t':['a','b','x'],'a':['s'],'b':['s'],'s':['p']}", "t", "((s/1)) (<s) t/1",
	  "s in b" },
	{ "{'t':['s',{'parallel':['s','s']},'x'],'s':['p']}", "t", "(s/1) [<s <s] t/1",
	  "s in t, s in t" },
	{ "{'t':['s',{'parallel':['s','x']}],'s':['p']}", "t", "(s/1) [<s t/1]",
	  "s in t" },
	/* Shards go at once. */
	{ "{'t':['x',{'command':'y','per':'shard','shards':3},'z']}", "t",
	  "t/1 [t/2@1/3 t/2@2/3 t/2@3/3] t/3", "" },
	{ "{'t':[{'command':'y','per':'shard','shards':1}]}", "t", "[t/1@1/1]", "" },
	{ "{'t':[{'parallel':['x',{'command':'y','per':'shard','shards':2}]}]}", "t",
	  "[t/1 [t/2@1/2 t/2@2/2]]", "" },
	/* Names that look like other things. */
	{ "{'t':['t2 ',' t2'],'t2':['p']}", "t", "t/1 t/2", "" },
	{ "{'1':['x'],'t':['1','1.5'],'1.5':['y']}", "t", "(1/1) (1.5/1)", "" },
};

static void
config_from_case(const char *verify, struct config *ret_config)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "{\"verify\":%s}", verify);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\'')
			b.data[i] = '"';
	parse(b.data, b.len, ret_config);
	buf_release(&b);
}

Test(plan, trees)
{
	for (size_t i = 0; i < COUNT(plans); i++) {
		const struct plan_case *k = &plans[i];
		struct error err = ERROR_INIT;
		struct plan p = PLAN_INIT;
		char *shape, *repeats;
		struct config c;

		config_from_case(k->verify, &c);
		cr_assert_eq(build(&c, k->tier, NULL, &p, &err), 0, "%s: %s", k->verify,
			     err.text);
		shape = shape_text(&p);
		repeats = repeats_text(&p);
		cr_expect_str_eq(shape, k->shape, "%s: %s", k->verify, shape);
		cr_expect_str_eq(repeats, k->repeats, "%s: %s", k->verify, repeats);
		cr_expect_eq(p.config, &c);
		cr_expect_str_eq(p.tier->name, k->tier);
		free(shape);
		free(repeats);
		plan_release(&p);
		config_release(&c);
	}
}

Test(plan, release_of_nothing)
{
	struct plan p = PLAN_INIT;

	plan_release(&p);
	plan_release(&p);
	plan_release(NULL);
}

struct command_case {
	const char *command;
	const char *first, *last; /* of three shards */
};

static const struct command_case commands[] = {
	{ "x", "x", "x" },
	{ "x {shard}/{shards}", "x 1/3", "x 3/3" },
	{ "{shards}{shard}{shard}", "311", "333" },
	{ "{{shard}}", "{1}", "{3}" },
	{ "{shard", "{shard", "{shard" },
	{ "{shard }{Shard}_{shard}", "{shard }{Shard}_1", "{shard }{Shard}_3" },
	{ "{shar{shard}ds}", "{shar1ds}", "{shar3ds}" },
	{ "'{shard}'", "'1'", "'3'" },
};

Test(plan, placeholders_of_shards)
{
	for (size_t i = 0; i < COUNT(commands); i++) {
		const struct command_case *k = &commands[i];
		struct error err = ERROR_INIT;
		struct plan p = PLAN_INIT;
		struct buf b = BUF_INIT;
		struct config c;

		buf_printf(&b,
			   "{\"verify\":{\"t\":[{\"command\":\"%s\",\"per\":\"shard\","
			   "\"shards\":3}]}}",
			   k->command);
		parse(b.data, b.len, &c);
		cr_assert_eq(build(&c, "t", NULL, &p, &err), 0, "%s", err.text);
		cr_assert_eq(p.njobs, 3);
		cr_expect_str_eq(p.jobs[0].command, k->first, "%s", k->command);
		cr_expect_str_eq(p.jobs[2].command, k->last, "%s", k->command);
		plan_release(&p);
		config_release(&c);
		buf_release(&b);
	}
}

Test(plan, other_steps_have_no_placeholders)
{
	struct error err = ERROR_INIT;
	struct plan p = PLAN_INIT;
	struct config c;

	config_from_case("{'t':['x {shard} {shards}']}", &c);
	if (build(&c, "t", NULL, &p, &err) == 0) {
		cr_expect_str_eq(p.jobs[0].command, "x {shard} {shards}");
		plan_release(&p);
	}
	config_release(&c);
}

struct only_case {
	const char *only;
	const char *shape; /* NULL: refused */
	const char *near;  /* that the refusal names */
};

/* t/1 (s/1 [s/2 s/3]) [t/2@1/2 t/2@2/2] [(r/1 … r/10)] t/3 */
static const char only_verify[] =
    "{'t':['x','s',{'command':'y','per':'shard','shards':2},{'parallel':['r','s']},'z'],"
    "'s':['p',{'parallel':['q','o']}],"
    "'r':['1','2','3','4','5','6','7','8','9','10'],'u':['other']}";

static const struct only_case onlys[] = {
	{ "t/1", "t/1", NULL },
	{ "t/3", "t/3", NULL },
	{ "s/1", "(s/1) [<s]", NULL },
	{ "s/3", "([s/3]) [<s]", NULL },
	{ "t/2", "[t/2@1/2 t/2@2/2]", NULL },
	{ "t/2@1/2", "[t/2@1/2]", NULL },
	{ "t/2@2/2", "[t/2@2/2]", NULL },
	{ "r/1", "[(r/1)]", NULL },
	{ "r/10", "[(r/10)]", NULL },
	{ "t/2@3/2", NULL, "t/2@" },
	{ "t/2@", NULL, "t/2@1/2" },
	{ "t/22", NULL, "t/2" },
	{ "r/11", NULL, "r/1" },
	{ "t", NULL, "t/" },
	{ "", NULL, "t/1" },
	{ "T/1", NULL, "t/1" },
	{ "u/1", NULL, "/1" }, /* another tier's */
	{ "t/1 ", NULL, "t/1" },
	{ "t/0", NULL, "t/" },
	{ "t/01", NULL, "t/1" },
	{ "fast/1", NULL, "/" },
};

Test(plan, narrowed_to_one_id)
{
	struct config c;

	config_from_case(only_verify, &c);
	for (size_t i = 0; i < COUNT(onlys); i++) {
		const struct only_case *k = &onlys[i];
		struct error err = ERROR_INIT;
		struct plan p = PLAN_INIT;
		int rc = build(&c, "t", k->only, &p, &err);

		cr_expect_eq(rc, k->shape != NULL ? 0 : -1, "%s: %s", k->only, err.text);
		if (rc == 0) {
			char *shape = shape_text(&p);

			cr_expect_str_eq(shape, k->shape != NULL ? k->shape : "refused",
					 "%s: %s", k->only, shape);
			free(shape);
			plan_release(&p);
		} else {
			cr_expect_eq(err.kind, ERROR_USAGE, "%s", k->only);
			cr_expect_not_null(strstr(err.text, k->near), "%s: %s", k->only,
					   err.text);
			cr_expect_eq(strncmp(err.text, "--only: ", 8), 0, "%s", err.text);
			cr_expect_eq(p.njobs, 0, "written on failure");
		}
	}
	config_release(&c);
}

struct size_case {
	unsigned shards[2];
	bool is_ok;
};

static const struct size_case sizes[] = {
	{ { 99999, 1 }, true },	  { { 50000, 50000 }, true },  { { 100000, 1 }, false },
	{ { 1, 100000 }, false }, { { 60000, 60000 }, false },
};

Test(plan, at_most_a_hundred_thousand_jobs, .timeout = 30)
{
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const struct size_case *k = &sizes[i];
		struct error err = ERROR_INIT;
		struct plan p = PLAN_INIT;
		struct buf b = BUF_INIT;
		struct config c;
		int rc;

		buf_printf(&b,
			   "{\"verify\":{\"t\":["
			   "{\"command\":\"a\",\"per\":\"shard\",\"shards\":%u},\n"
			   "{\"command\":\"b\",\"per\":\"shard\",\"shards\":%u}]}}",
			   k->shards[0], k->shards[1]);
		parse(b.data, b.len, &c);
		rc = build(&c, "t", NULL, &p, &err);
		cr_expect_eq(rc, k->is_ok ? 0 : -1, "%u + %u: %s", k->shards[0],
			     k->shards[1], err.text);
		if (rc == 0) {
			cr_expect_eq(p.njobs, k->shards[0] + k->shards[1]);
			plan_release(&p);
		} else {
			cr_expect_eq(err.kind, ERROR_CONFIG);
			cr_expect_not_null(strstr(err.text, "verify.t[1]"), "%s",
					   err.text);
			cr_expect_not_null(strstr(err.text, "geonosis.json:2:"), "%s",
					   err.text);
			cr_expect(strstr(err.text, "100000") != NULL ||
				      strstr(err.text, "100,000") != NULL,
				  "%s", err.text);
		}
		config_release(&c);
		buf_release(&b);
	}
}

/* Each tier is a step and the next one: `depth` names within names. */
static void
config_chain(unsigned depth, struct config *ret_config)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "{\"verify\":{");
	for (unsigned i = 0; i < depth; i++)
		buf_printf(&b, "\"t%u\":[\"x\",\"t%u\"],\n", i, i + 1);
	buf_printf(&b, "\"t%u\":[\"x\"]}}", depth);
	parse(b.data, b.len, ret_config);
	buf_release(&b);
}

Test(plan, thousand_tiers_deep, .timeout = 30)
{
	struct error err = ERROR_INIT;
	struct plan p = PLAN_INIT;
	struct config c;

	config_chain(1000, &c);
	cr_assert_eq(build(&c, "t0", NULL, &p, &err), 0, "%s", err.text);
	cr_expect_eq(p.njobs, 1001);
	cr_expect_str_eq(p.jobs[1000].id, "t1000/1");
	plan_release(&p);
	config_release(&c);
}

/* Deeper than any stack: planned or refused, and the process lives. */
Test(plan, very_deep, .timeout = 60)
{
	struct error err = ERROR_INIT;
	struct plan p = PLAN_INIT;
	struct config c;

	config_chain(30000, &c);
	if (build(&c, "t0", NULL, &p, &err) == 0)
		cr_expect_eq(p.njobs, 30001);
	else
		cr_expect(err.kind == ERROR_CONFIG &&
			      strstr(err.text, "verify.t") != NULL,
			  "%s", err.text);
	plan_release(&p);
	config_release(&c);
}

/* A diamond on a diamond, and so on: 2^40 paths, and each step once. */
Test(plan, diamonds_are_planned_once, .timeout = 30)
{
	struct error err = ERROR_INIT;
	struct plan p = PLAN_INIT;
	struct buf b = BUF_INIT;
	struct config c;

	buf_puts(&b, "{\"verify\":{");
	for (int i = 0; i < 40; i++)
		buf_printf(&b,
			   "\"t%d\":[{\"parallel\":[\"l%d\",\"r%d\"]}],"
			   "\"l%d\":[\"t%d\",\"x\"],\"r%d\":[\"t%d\",\"y\"],",
			   i, i, i, i, i + 1, i, i + 1);
	buf_puts(&b, "\"t40\":[\"z\"]}}");
	parse(b.data, b.len, &c);
	cr_assert_eq(build(&c, "t0", NULL, &p, &err), 0, "%s", err.text);
	cr_expect_eq(p.njobs, 81);
	cr_expect_eq(p.nrepeats, 40);
	plan_release(&p);
	config_release(&c);
	buf_release(&b);
}

/* The kernel takes so many bytes as one argument, the final NUL counted. */
Test(plan, command_that_is_too_long)
{
	size_t most = (size_t)sysconf(_SC_PAGESIZE) * 32;

	for (size_t n = most - 2; n <= most + 1; n++) {
		struct error err = ERROR_INIT;
		struct plan p = PLAN_INIT;
		struct buf b = BUF_INIT;
		struct config c;
		int rc;

		buf_puts(&b, "{\"verify\":{\"t\":[\"true\",\n  \"");
		for (size_t i = 0; i < n; i++)
			buf_putc(&b, 'x');
		buf_puts(&b, "\"]}}");
		parse(b.data, b.len, &c);
		rc = build(&c, "t", NULL, &p, &err);
		cr_expect_eq(rc, n < most ? 0 : -1, "%zu: %s", n, err.text);
		if (rc < 0) {
			cr_expect_eq(err.kind, ERROR_CONFIG);
			cr_expect_not_null(strstr(err.text, "verify.t[1]"), "%s",
					   err.text);
			cr_expect_not_null(strstr(err.text, "geonosis.json:2:3"), "%s",
					   err.text);
			cr_expect_lt(strlen(err.text), 1000, "it quotes all of it");
		}
		plan_release(&p);
		config_release(&c);
		buf_release(&b);
	}
}

/* It becomes too long only when its placeholders are filled in. */
Test(plan, command_that_grows_too_long)
{
	size_t most = (size_t)sysconf(_SC_PAGESIZE) * 32;
	struct error err = ERROR_INIT;
	struct plan p = PLAN_INIT;
	struct buf b = BUF_INIT;
	struct config c;

	buf_puts(&b,
		 "{\"verify\":{\"t\":[{\"per\":\"shard\",\"shards\":10,\"command\":\"");
	for (size_t i = 0; i < most - 1 - 7; i++)
		buf_putc(&b, 'x');
	/* Seven bytes that become one, or two for the tenth. */
	buf_puts(&b, "yyyyyy{shard}\"}]}}");
	parse(b.data, b.len, &c);
	cr_expect_eq(build(&c, "t", NULL, &p, &err), -1);
	cr_expect_not_null(strstr(err.text, "verify.t[0]"), "%s", err.text);
	plan_release(&p);
	config_release(&c);
	buf_release(&b);
}

/* --- random tiers against a naive expansion --- */

enum {
	TIERS = 8
};

static void naive_items(const struct config *c, const struct item *items, size_t n,
			bool *seen, struct buf *b);

/* Appends the text of a node unless there is nothing in it. */
static void
naive_node(struct buf *b, struct buf *inner, const char *brackets)
{
	if (inner->len > 0)
		buf_printf(b, "%s%c%s%c", b->len > 0 ? " " : "", brackets[0],
			   buf_text(inner), brackets[1]);
	buf_release(inner);
}

static void
naive_item(const struct config *c, const struct item *it, bool *seen, struct buf *b)
{
	struct buf inner = BUF_INIT;

	switch (it->kind) {
	case ITEM_STEP:
		buf_printf(b, "%s%s", b->len > 0 ? " " : "", it->step->id);
		break;
	case ITEM_TIER:
		if (seen[it->tier]) {
			buf_printf(b, "%s<%s", b->len > 0 ? " " : "",
				   c->tiers[it->tier].name);
			return;
		}
		seen[it->tier] = true;
		naive_items(c, c->tiers[it->tier].items, c->tiers[it->tier].nitems, seen,
			    &inner);
		naive_node(b, &inner, "()");
		break;
	case ITEM_GROUP:
		naive_items(c, it->members, it->nmembers, seen, &inner);
		naive_node(b, &inner, "[]");
		break;
	}
}

static void
naive_items(const struct config *c, const struct item *items, size_t n, bool *seen,
	    struct buf *b)
{
	for (size_t i = 0; i < n; i++)
		naive_item(c, &items[i], seen, b);
}

/* Tier i names only tiers after it, so there is no cycle. */
static void
random_items(struct buf *b, int tier, unsigned *seed, int depth)
{
	int n = 1 + rand_r(seed) % 4;

	for (int i = 0; i < n; i++) {
		int what = rand_r(seed) % 6;

		buf_puts(b, i > 0 ? "," : "");
		if (what < 2 && tier + 1 < TIERS) {
			buf_printf(b, "\"t%d\"",
				   tier + 1 + rand_r(seed) % (TIERS - tier - 1));
		} else if (what == 2 && depth > 0) {
			buf_puts(b, "{\"parallel\":[");
			random_items(b, tier, seed, depth - 1);
			buf_puts(b, "]}");
		} else {
			buf_puts(b, "\"x\"");
		}
	}
}

Test(plan, random_tiers, .timeout = 60)
{
	unsigned seed = 1791972723;

	for (int round = 0; round < 2000; round++) {
		struct error err = ERROR_INIT;
		struct plan p = PLAN_INIT;
		struct buf b = BUF_INIT, want = BUF_INIT;
		bool seen[TIERS] = { true };
		struct config c;
		char *shape;

		buf_puts(&b, "{\"verify\":{");
		for (int i = 0; i < TIERS; i++) {
			buf_printf(&b, "%s\"t%d\":[", i > 0 ? "," : "", i);
			random_items(&b, i, &seed, 3);
			buf_puts(&b, "]");
		}
		buf_puts(&b, "}}");
		parse(b.data, b.len, &c);
		cr_assert_eq(build(&c, "t0", NULL, &p, &err), 0, "%s", err.text);
		naive_items(&c, c.tiers[0].items, c.tiers[0].nitems, seen, &want);
		shape = shape_text(&p);
		cr_expect_str_eq(shape, buf_text(&want), "%s: %s", b.data, shape);
		for (size_t i = 0; i < p.njobs; i++)
			for (size_t k = i + 1; k < p.njobs; k++)
				cr_assert_str_neq(p.jobs[i].id, p.jobs[k].id, "%s twice",
						  p.jobs[i].id);
		free(shape);
		plan_release(&p);
		config_release(&c);
		buf_release(&want);
		buf_release(&b);
	}
}
