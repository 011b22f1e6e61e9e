/* SPDX-License-Identifier: MIT */
#include "supervisor/base/glob.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob_program.h"

struct glob_parser {
	struct glob *g;
	const char *text;
	size_t n;
	size_t at;
	size_t skipped; /* bytes before text, so that offsets are the writer's */
	bool starts;	/* a segment starts here */
	unsigned depth; /* of braces */
};

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
