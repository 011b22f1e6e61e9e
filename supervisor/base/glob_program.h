/* SPDX-License-Identifier: MIT */
/*
 * A compiled glob: a program for a machine that follows all alternatives at once
 * (no backtracking).  Private to glob.c, which writes it, and glob_match.c, which
 * runs it.
 */
#ifndef SUPERVISOR_BASE_GLOB_PROGRAM_H
#define SUPERVISOR_BASE_GLOB_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

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

/* One character and how many bytes it takes; a stray byte is one past Unicode. */
uint32_t glob_character(const char *s, size_t n, size_t *ret_len);

#endif
