/* SPDX-License-Identifier: MIT */
/*
 * Lexer: the state in which a command is read, byte by byte (places.h has the answer).
 */
#ifndef SUPERVISOR_PROJECT_LEXER_H
#define SUPERVISOR_PROJECT_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/buf.h"
#include "supervisor/project/places.h"

enum {
	DEPTH_MAX = 100,
	HERES_MAX = 16
};

/* What a byte is inside of. */
enum inside {
	IN_CODE,  /* the command itself */
	IN_PAREN, /* (…) */
	IN_SUBST, /* $(…) */
	IN_DOUBLE,
	IN_SINGLE,
	IN_DOLLAR_SINGLE,
	IN_PARAMETER,
	IN_ARITHMETIC,
	IN_ARITHMETIC_PAREN,
	IN_BACKTICK,
	IN_COMMENT,
};

/* A here-document whose body begins at the next newline. */
struct here {
	struct buf word;
	bool is_quoted;
	bool strips_tabs;
	unsigned depth; /* of the stack, where its operator stands */
};

struct lexer {
	const char *s;
	size_t pos;
	struct place_of *places;
	enum inside stack[DEPTH_MAX];
	unsigned depth; /* index of the innermost */
	bool begins_word;
	bool follows_name;
	bool is_uncertain;
	struct here heres[HERES_MAX];
	size_t nheres;
};

/* Take n bytes, which all are what the state says. */
void lexer_take(struct lexer *l, size_t n);
/* Take n bytes of a kind that the state does not say. */
void lexer_take_as(struct lexer *l, size_t n, enum place_kind kind);
/* Take << or <<- and the word after it: which line ends the here-document. */
void lexer_take_here_operator(struct lexer *l);
/* Take a newline of code, and the here-documents that were announced before it. */
void lexer_take_newline(struct lexer *l);

#endif
