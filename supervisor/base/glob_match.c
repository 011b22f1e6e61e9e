/* SPDX-License-Identifier: MIT */
/*
 * The set of places in the program where the machine can be is advanced character
 * by character: as many steps as the path has characters, each at most as long as
 * the program.
 */
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/base/glob_program.h"
#include "supervisor/base/text.h"

uint32_t
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
