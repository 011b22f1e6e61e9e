/* SPDX-License-Identifier: MIT */
/*
 * A glob is compiled to a small program for a machine that follows all
 * alternatives at once (no backtracking): the set of places in the program where
 * it can be is advanced character by character.
 */
#include "supervisor/base/glob.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"

enum op_kind {
	OP_CHARACTER, /* the one in `a` */
	OP_SEGMENT,   /* any but a slash */
	OP_ANY,	      /* any */
	OP_SET,	      /* of `b` ranges from `a` */
	OP_NOT_SET,   /* of none of them, and no slash */
	OP_SPLIT,     /* go on at `a` and at `b` */
	OP_JUMP,      /* go on at `a` */
	OP_MATCH,
};

struct op {
	enum op_kind kind;
	uint32_t a, b;
};

struct range {
	uint32_t from, to;
};

struct glob {
	char *text;
	size_t n;
	size_t literal; /* how many bytes from the start stand for themselves */
	struct op *ops;
	size_t nops, ops_room;
	struct range *ranges;
	size_t nranges, ranges_room;
};

struct glob_parser {
	struct glob *g;
	const char *text;
	size_t n;
	size_t at;
	size_t skipped; /* bytes before text, so that offsets are the writer's */
	bool starts;	/* a segment starts here */
	unsigned depth; /* of braces */
};

/* One character and how many bytes it takes; a stray byte is one past Unicode. */
static uint32_t
glob_character(const char *s, size_t n, size_t *ret_len)
{
	size_t len = utf8_sequence(s, n);
	uint32_t c = (unsigned char)s[0];

	*ret_len = len > 0 ? len : 1;
	if (len == 1)
		return c;
	if (len == 0)
		return UINT32_C(0x110000) + c;
	c &= UINT32_C(0xff) >> (len + 1);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

static uint32_t
glob_emit(struct glob *g, enum op_kind kind, uint32_t a, uint32_t b)
{
	g->ops = xgrow(g->ops, g->nops + 1, &g->ops_room, sizeof(*g->ops));
	g->ops[g->nops] = (struct op){ kind, a, b };
	return (uint32_t)g->nops++;
}

static int
glob_refuse(const struct glob_parser *p, size_t at, const char *why, struct error *err)
{
	return error_set(err, ERROR_CONFIG, "offset %zu: %s", p->skipped + at, why);
}

/* Where the set that opens at `at` closes, or n. */
static size_t
glob_set_end(const char *s, size_t n, size_t at)
{
	at++;
	if (at < n && (s[at] == '!' || s[at] == '^'))
		at++;
	if (at < n && s[at] == ']')
		at++;
	while (at < n && s[at] != ']')
		at++;
	return at;
}

/* Where the brace that opens at `at` closes, or n. */
static size_t
glob_brace_end(const char *s, size_t n, size_t at)
{
	unsigned depth = 0;

	for (; at < n; at++) {
		if (s[at] == '[')
			at = glob_set_end(s, n, at);
		else if (s[at] == '{')
			depth++;
		else if (s[at] == '}' && --depth == 0)
			return at;
	}
	return n;
}

/* One `a` or `a-z` of a set; p->at is moved behind it. */
static int
glob_range(struct glob_parser *p, size_t end, struct error *err)
{
	struct glob *g = p->g;
	struct range r;
	size_t len, start = p->at;

	r.from = r.to = glob_character(p->text + p->at, end - p->at, &len);
	p->at += len;
	if (p->at + 1 < end && p->text[p->at] == '-') {
		p->at++;
		r.to = glob_character(p->text + p->at, end - p->at, &len);
		p->at += len;
	}
	if (r.from > r.to)
		return glob_refuse(p, start, "a range that runs backwards", err);
	if (r.from <= '/' && r.to >= '/' && (r.from == '/' || r.to == '/'))
		return glob_refuse(p, start, "a set cannot hold \"/\"", err);
	g->ranges = xgrow(g->ranges, g->nranges + 1, &g->ranges_room, sizeof(*g->ranges));
	g->ranges[g->nranges++] = r;
	return 0;
}

static int
glob_set(struct glob_parser *p, struct error *err)
{
	size_t start = p->at, end = glob_set_end(p->text, p->n, p->at);
	uint32_t first = (uint32_t)p->g->nranges;
	enum op_kind kind = OP_SET;

	if (end == p->n)
		return glob_refuse(p, start, "\"[\" is not closed", err);
	p->at++;
	if (p->text[p->at] == '!' || p->text[p->at] == '^') {
		kind = OP_NOT_SET;
		p->at++;
	}
	while (p->at < end) {
		if (p->text[p->at] == '[' && strchr(":.=", p->text[p->at + 1]) != NULL)
			return glob_refuse(p, p->at, "no named sets: write [a-z]", err);
		if (glob_range(p, end, err) != 0)
			return -1;
	}
	p->at = end + 1;
	glob_emit(p->g, kind, first, (uint32_t)p->g->nranges - first);
	return 0;
}

static void
glob_star(struct glob *g)
{
	uint32_t split = glob_emit(g, OP_SPLIT, (uint32_t)g->nops + 1, 0);

	glob_emit(g, OP_SEGMENT, 0, 0);
	glob_emit(g, OP_JUMP, split, 0);
	g->ops[split].b = (uint32_t)g->nops;
}

/* Any number of segments, each with its slash. */
static void
glob_segments(struct glob *g)
{
	uint32_t split = glob_emit(g, OP_SPLIT, (uint32_t)g->nops + 1, 0);
	uint32_t name = glob_emit(g, OP_SEGMENT, 0, 0);

	glob_emit(g, OP_SPLIT, name, (uint32_t)g->nops + 1);
	glob_emit(g, OP_CHARACTER, '/', 0);
	glob_emit(g, OP_JUMP, split, 0);
	g->ops[split].b = (uint32_t)g->nops;
}

/* All the rest, at least one character. */
static void
glob_rest(struct glob *g)
{
	uint32_t any = glob_emit(g, OP_ANY, 0, 0);

	glob_emit(g, OP_SPLIT, any, (uint32_t)g->nops + 1);
}

/* `**`; `last` says that nothing follows the sequence in which it stands. */
static int
glob_double_star(struct glob_parser *p, bool last, struct error *err)
{
	static const char whole[] = "\"**\" stands for whole segments: write \"*\", or "
				    "\"**\" with a slash on either side";
	size_t start = p->at;

	p->at += 2;
	if (!p->starts)
		return glob_refuse(p, start, whole, err);
	if (p->at < p->n && p->text[p->at] == '/') {
		p->at++;
		glob_segments(p->g);
		return 0;
	}
	if (p->at == p->n || (last && strchr(",}", p->text[p->at]) != NULL)) {
		glob_rest(p->g);
		p->starts = false;
		return 0;
	}
	return glob_refuse(p, start, whole, err);
}

static int glob_braces(struct glob_parser *p, bool last, struct error *err);

static int
glob_plain(struct glob_parser *p, struct error *err)
{
	size_t len;
	uint32_t c = glob_character(p->text + p->at, p->n - p->at, &len);

	if (c == '\\')
		return glob_refuse(
		    p, p->at, "no escapes: write \"/\" between segments, [*] for a star",
		    err);
	if (c == '/' && p->starts)
		return glob_refuse(p, p->at,
				   p->at == 0 ? "a path is relative" : "an empty segment",
				   err);
	p->starts = c == '/';
	p->at += len;
	glob_emit(p->g, OP_CHARACTER, c, 0);
	return 0;
}

/* One thing: a character, a wildcard, a set, braces. */
static int
glob_element(struct glob_parser *p, bool last, struct error *err)
{
	switch (p->text[p->at]) {
	case '{':
		return glob_braces(p, last, err);
	case '}':
		return glob_refuse(p, p->at, "\"}\" without \"{\"", err);
	case '[':
		p->starts = false;
		return glob_set(p, err);
	case '?':
		p->starts = false;
		p->at++;
		glob_emit(p->g, OP_SEGMENT, 0, 0);
		return 0;
	case '*':
		if (p->text[p->at + 1] == '*')
			return glob_double_star(p, last, err);
		p->starts = false;
		p->at++;
		glob_star(p->g);
		return 0;
	default:
		return glob_plain(p, err);
	}
}

static int
glob_sequence(struct glob_parser *p, bool last, struct error *err)
{
	while (p->at < p->n) {
		char c = p->text[p->at];

		if (p->depth > 0 && (c == ',' || c == '}'))
			break;
		if (glob_element(p, last, err) != 0)
			return -1;
	}
	return 0;
}

/* The alternatives up to the closing brace, each jumping behind the last one. */
static int
glob_alternatives(struct glob_parser *p, size_t end, bool last, struct error *err)
{
	bool before = p->starts, after = true;
	uint32_t split, exits = UINT32_MAX;

	for (;;) {
		split = glob_emit(p->g, OP_SPLIT, (uint32_t)p->g->nops + 1, 0);
		p->starts = before;
		if (glob_sequence(p, last, err) != 0)
			return -1;
		after = after && p->starts;
		/* The jumps to the end form a list through `a` until the end is known. */
		exits = glob_emit(p->g, OP_JUMP, exits, 0);
		p->g->ops[split].b = (uint32_t)p->g->nops;
		if (p->at == end)
			break;
		p->at++;
	}
	/* The last alternative has no other beside it. */
	p->g->ops[split].b = split + 1;
	while (exits != UINT32_MAX) {
		uint32_t next = p->g->ops[exits].a;

		p->g->ops[exits].a = (uint32_t)p->g->nops;
		exits = next;
	}
	p->starts = after;
	p->at = end + 1;
	return 0;
}

static int
glob_braces(struct glob_parser *p, bool last, struct error *err)
{
	size_t start = p->at, end = glob_brace_end(p->text, p->n, p->at);
	int rc;

	if (end == p->n)
		return glob_refuse(p, start, "\"{\" is not closed", err);
	if (end == start + 1)
		return glob_refuse(p, start, "\"{}\" holds nothing", err);
	if (p->depth == GLOB_BRACES_MAX)
		return glob_refuse(p, start, "braces nested too deep", err);
	last = last && (end + 1 == p->n || strchr(",}", p->text[end + 1]) != NULL);
	p->at++;
	p->depth++;
	rc = glob_alternatives(p, end, last, err);
	p->depth--;
	return rc;
}

static int
glob_parse(struct glob_parser *p, struct error *err)
{
	if (p->n == 0)
		return glob_refuse(p, 0, "empty", err);
	if (p->n > GLOB_BYTES_MAX)
		return glob_refuse(p, GLOB_BYTES_MAX, "too long", err);
	if (p->text[0] == '!')
		return glob_refuse(p, 0, "no negation: name what is meant", err);
	if (glob_sequence(p, true, err) != 0)
		return -1;
	if (p->starts)
		return glob_refuse(p, p->n - 1, "an empty segment", err);
	glob_emit(p->g, OP_MATCH, 0, 0);
	return 0;
}

int
glob_compile(const char *text, struct glob **ret_glob, struct error *err)
{
	struct glob_parser p = { .starts = true };
	size_t n = strlen(text);

	if (n > 2 && text[0] == '.' && text[1] == '/')
		p.skipped = 2;
	n -= p.skipped;
	if (n > 1 && text[p.skipped + n - 1] == '/')
		n--;
	p.g = xcalloc(1, sizeof(*p.g));
	p.g->text = xstrndup(text + p.skipped, n);
	p.g->n = n;
	p.text = p.g->text;
	p.n = n;
	if (glob_parse(&p, err) != 0) {
		glob_free(p.g);
		return -1;
	}
	p.g->literal = strcspn(p.text, "*?[{");
	*ret_glob = p.g;
	return 0;
}

/* The machine: where it is now, and where it will be after the next character. */
struct glob_places {
	uint32_t *items;
	size_t nitems;
};

struct glob_machine {
	const struct glob *g;
	struct glob_places now, next;
	uint32_t *todo;
	uint32_t *seen; /* the round in which a place was last added */
	uint32_t round;
};

static void
glob_machine_enter(struct glob_machine *m, struct glob_places *places, uint32_t at)
{
	size_t ntodo = 0;

	m->todo[ntodo++] = at;
	while (ntodo > 0) {
		const struct op *op = m->g->ops + (at = m->todo[--ntodo]);

		if (m->seen[at] == m->round)
			continue;
		m->seen[at] = m->round;
		if (op->kind == OP_SPLIT)
			m->todo[ntodo++] = op->b;
		if (op->kind == OP_SPLIT || op->kind == OP_JUMP)
			m->todo[ntodo++] = op->a;
		else
			places->items[places->nitems++] = at;
	}
}

static bool
glob_set_holds(const struct glob *g, const struct op *op, uint32_t c)
{
	for (uint32_t i = 0; i < op->b; i++) {
		const struct range *r = g->ranges + op->a + i;

		if (c >= r->from && c <= r->to)
			return true;
	}
	return false;
}

static bool
glob_op_takes(const struct glob *g, const struct op *op, uint32_t c)
{
	switch (op->kind) {
	case OP_CHARACTER:
		return c == op->a;
	case OP_SEGMENT:
		return c != '/';
	case OP_ANY:
		return true;
	case OP_SET:
		return c != '/' && glob_set_holds(g, op, c);
	case OP_NOT_SET:
		return c != '/' && !glob_set_holds(g, op, c);
	case OP_SPLIT:
	case OP_JUMP:
	case OP_MATCH:
		break;
	}
	return false;
}

static bool
glob_machine_run(struct glob_machine *m, const char *path, size_t n)
{
	const struct op *ops = m->g->ops;
	size_t len;

	m->round = 1;
	glob_machine_enter(m, &m->now, 0);
	for (size_t at = 0; at < n && m->now.nitems > 0; at += len) {
		uint32_t c = glob_character(path + at, n - at, &len);
		struct glob_places spare = m->now;

		m->round++;
		m->next.nitems = 0;
		for (size_t i = 0; i < m->now.nitems; i++)
			if (glob_op_takes(m->g, ops + m->now.items[i], c))
				glob_machine_enter(m, &m->next, m->now.items[i] + 1);
		m->now = m->next;
		m->next = spare;
	}
	for (size_t i = 0; i < m->now.nitems; i++)
		if (ops[m->now.items[i]].kind == OP_MATCH)
			return true;
	return false;
}

bool
glob_matches(const struct glob *g, const char *path, size_t n)
{
	struct glob_machine m = { .g = g };
	uint32_t *room;
	bool matches;

	if (n > UINT32_MAX - 2 || n < g->literal ||
	    memcmp(path, g->text, g->literal) != 0)
		return false;
	if (g->literal == g->n)
		return n == g->n;
	/* A place waits in `todo` at most twice, so twice the room is enough. */
	room = xcalloc(g->nops * 5 + 1, sizeof(*room));
	m.seen = room;
	m.now.items = room + g->nops;
	m.next.items = room + g->nops * 2;
	m.todo = room + g->nops * 3;
	matches = glob_machine_run(&m, path, n);
	free(room);
	return matches;
}

void
glob_free(struct glob *g)
{
	if (g == NULL)
		return;
	free(g->text);
	free(g->ops);
	free(g->ranges);
	free(g);
}
