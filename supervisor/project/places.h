/* SPDX-License-Identifier: MIT */
/*
 * Places: how the shell reads each byte of a command, as far as it decides whether and
 * how a value can be put there.  It follows POSIX; where shells differ, or the syntax
 * needs more than a lexer, the rest of the command is PLACE_UNCERTAIN.
 */
#ifndef SUPERVISOR_PROJECT_PLACES_H
#define SUPERVISOR_PROJECT_PLACES_H

#include <stdbool.h>
#include <stddef.h>

enum place_kind {
	PLACE_BARE,
	PLACE_SINGLE, /* '…' */
	PLACE_DOUBLE, /* "…" */
	PLACE_COMMENT,
	PLACE_ESCAPED, /* right after a backslash that is one */
	PLACE_BACKTICK,
	PLACE_DOLLAR_SINGLE, /* $'…' */
	PLACE_PARAMETER,     /* ${…} */
	PLACE_ARITHMETIC,    /* $((…)) */
	PLACE_HERE_DOCUMENT,
	PLACE_HERE_WORD, /* the word that ends a here-document */
	PLACE_UNCERTAIN,
};

struct place_of {
	unsigned char kind; /* enum place_kind */
	bool begins_word;   /* PLACE_BARE: what stands before it ends a word */
	bool follows_name;  /* right after `$name`, which more letters would prolong */
};

/* One for each byte of the command and one for its end; freed by the caller. */
struct place_of *places_find(const char *command);
/* `inside a here-document`: for messages. */
const char *place_name(enum place_kind kind);

#endif
