/* SPDX-License-Identifier: MIT */
#include "supervisor/project/places.h"

#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/project/lexer.h"

static bool
is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name_char(char c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

static bool
is_inside(const struct lexer *l, enum inside what)
{
	unsigned i;

	for (i = 0; i <= l->depth; i++)
		if (l->stack[i] == what)
			return true;
	return false;
}

static void
push(struct lexer *l, enum inside what)
{
	if (l->depth + 1 == DEPTH_MAX)
		l->is_uncertain = true;
	else
		l->stack[++l->depth] = what;
}

static void
pop(struct lexer *l)
{
	/* A here-document that was begun in there has no body there. */
	if (l->nheres > 0 && l->heres[l->nheres - 1].depth == l->depth &&
	    l->stack[l->depth] != IN_COMMENT)
		l->is_uncertain = true;
	if (l->depth > 0)
		l->depth--;
}

static enum place_kind
place_now(const struct lexer *l)
{
	if (l->is_uncertain)
		return PLACE_UNCERTAIN;
	if (is_inside(l, IN_BACKTICK))
		return PLACE_BACKTICK;
	if (is_inside(l, IN_DOLLAR_SINGLE))
		return PLACE_DOLLAR_SINGLE;
	if (is_inside(l, IN_PARAMETER))
		return PLACE_PARAMETER;
	if (is_inside(l, IN_ARITHMETIC))
		return PLACE_ARITHMETIC;
	switch (l->stack[l->depth]) {
	case IN_DOUBLE:
		return PLACE_DOUBLE;
	case IN_SINGLE:
		return PLACE_SINGLE;
	case IN_COMMENT:
		return PLACE_COMMENT;
	default:
		return PLACE_BARE;
	}
}

void
lexer_take(struct lexer *l, size_t n)
{
	for (; n > 0 && l->s[l->pos] != '\0'; n--) {
		struct place_of *p = &l->places[l->pos++];

		*p = (struct place_of){ .kind = (unsigned char)place_now(l),
					.begins_word = l->begins_word,
					.follows_name = l->follows_name };
		l->begins_word = false;
		l->follows_name = false;
	}
}

void
lexer_take_as(struct lexer *l, size_t n, enum place_kind kind)
{
	size_t from = l->pos;

	lexer_take(l, n);
	for (; from < l->pos; from++)
		if (!l->is_uncertain)
			l->places[from].kind = (unsigned char)kind;
}

/*
 * A backslash and a newline are nothing at all, so that what stands before and after them
 * is read as one: safe after a blank, and in "…" after what begins nothing.
 */
static void
take_continuation(struct lexer *l)
{
	char before = l->pos > 0 ? l->s[l->pos - 1] : '\n';
	bool begins_word = l->begins_word;
	bool is_safe = l->stack[l->depth] == IN_DOUBLE ? before != '$' && !l->follows_name
						       : strchr(" \t\n", before) != NULL;

	l->is_uncertain = l->is_uncertain || !is_safe;
	lexer_take(l, 2);
	l->begins_word = begins_word;
}

static void
take_escape(struct lexer *l)
{
	if (l->s[l->pos + 1] == '\n') {
		take_continuation(l);
		return;
	}
	lexer_take(l, 1);
	lexer_take_as(l, 1, PLACE_ESCAPED);
}

/* After a `$`: what it begins, in code, in "…" and in ${…} alike. */
static void
take_dollar(struct lexer *l)
{
	const char *next = l->s + l->pos + 1;
	bool is_quoted = l->stack[l->depth] == IN_DOUBLE;

	if (strncmp(next, "((", 2) == 0) {
		lexer_take(l, 1);
		push(l, IN_ARITHMETIC);
		lexer_take(l, 2);
	} else if (*next == '(') {
		lexer_take(l, 2);
		push(l, IN_SUBST);
		l->begins_word = true;
	} else if (*next == '{') {
		lexer_take(l, 1);
		push(l, IN_PARAMETER);
		lexer_take(l, 1);
	} else if (*next == '\'' && !is_quoted) {
		lexer_take(l, 1);
		push(l, IN_DOLLAR_SINGLE);
		lexer_take(l, 1);
	} else if (is_name_start(*next)) {
		size_t n = 2;

		while (is_name_char(next[n - 1]))
			n++;
		lexer_take(l, n);
		l->follows_name = true;
	} else if (*next != '\0' && strchr("$#?!*@-", *next) != NULL) {
		lexer_take(l, 2);
	} else {
		/* $[…] is arithmetic to some. */
		l->is_uncertain = l->is_uncertain || *next == '[';
		lexer_take(l, 1);
	}
}

/* What code, "…" and ${…} have in common. */
static void
take_in_word(struct lexer *l)
{
	switch (l->s[l->pos]) {
	case '\\':
		take_escape(l);
		break;
	case '$':
		take_dollar(l);
		break;
	case '`':
		push(l, IN_BACKTICK);
		lexer_take(l, 1);
		break;
	default:
		lexer_take(l, 1);
	}
}

static void
take_in_double(struct lexer *l)
{
	if (l->s[l->pos] == '"')
		pop(l);
	take_in_word(l);
}

/* Past quotes inside "${…}" shells go different ways. */
static void
take_in_parameter(struct lexer *l)
{
	char c = l->s[l->pos];

	switch (c) {
	case '\'':
	case '"':
		l->is_uncertain = l->is_uncertain || is_inside(l, IN_DOUBLE);
		lexer_take(l, 1);
		push(l, c == '"' ? IN_DOUBLE : IN_SINGLE);
		break;
	case '}':
		lexer_take(l, 1);
		pop(l);
		break;
	default:
		take_in_word(l);
	}
}

static void
take_in_arithmetic(struct lexer *l)
{
	char c = l->s[l->pos];

	switch (c) {
	case '(':
		push(l, IN_ARITHMETIC_PAREN);
		lexer_take(l, 1);
		break;
	case ')':
		if (l->stack[l->depth] == IN_ARITHMETIC_PAREN) {
			lexer_take(l, 1);
			pop(l);
		} else {
			/* With one ) it was a subshell within $(…). */
			l->is_uncertain = l->is_uncertain || l->s[l->pos + 1] != ')';
			lexer_take(l, 2);
			pop(l);
		}
		break;
	case '$':
		take_dollar(l);
		break;
	case '\\':
		take_escape(l);
		break;
	default:
		l->is_uncertain = l->is_uncertain || c == '\'' || c == '"' || c == '`';
		lexer_take(l, 1);
	}
}

/* Up to an end that a backslash hides: `…` and $'…'. */
static void
take_opaque(struct lexer *l, char end)
{
	if (l->s[l->pos] == '\\') {
		lexer_take(l, 2);
	} else if (l->s[l->pos] == end) {
		lexer_take(l, 1);
		pop(l);
		/* A shell that does not know $'…' may have ended it before. */
		if (end == '\'')
			l->is_uncertain = true;
	} else {
		lexer_take(l, 1);
	}
}

static void
take_open_paren(struct lexer *l)
{
	/* ((…)) is arithmetic to some and two subshells to others. */
	l->is_uncertain = l->is_uncertain || l->s[l->pos + 1] == '(';
	push(l, IN_PAREN);
	lexer_take(l, 1);
	l->begins_word = true;
}

static void
take_close_paren(struct lexer *l)
{
	/* At the top it ends a pattern of `case`. */
	lexer_take(l, 1);
	if (l->depth > 0)
		pop(l);
	l->begins_word = l->stack[l->depth] != IN_DOUBLE;
}

/* A word of the shell that lets a lone ) stand within $(…) or (…). */
static bool
begins_case(const struct lexer *l)
{
	return l->begins_word && l->depth > 0 && strncmp(l->s + l->pos, "case", 4) == 0 &&
	       strchr(" \t\n\\", l->s[l->pos + 4]) != NULL;
}

static void
take_quote(struct lexer *l, enum inside what)
{
	lexer_take(l, 1);
	push(l, what);
}

static void
take_in_code(struct lexer *l)
{
	char c = l->s[l->pos];

	switch (c) {
	case '\'':
		take_quote(l, IN_SINGLE);
		break;
	case '"':
		take_quote(l, IN_DOUBLE);
		break;
	case '(':
		take_open_paren(l);
		break;
	case ')':
		take_close_paren(l);
		break;
	case '\n':
		lexer_take_newline(l);
		break;
	case '<':
		if (strncmp(l->s + l->pos, "<<<", 3) == 0)
			lexer_take(l, 3);
		else if (l->s[l->pos + 1] == '<')
			lexer_take_here_operator(l);
		else
			lexer_take(l, 1);
		l->begins_word = true;
		break;
	case ' ':
	case '\t':
	case ';':
	case '&':
	case '|':
	case '>':
		lexer_take(l, 1);
		l->begins_word = true;
		break;
	case '#':
		if (l->begins_word)
			push(l, IN_COMMENT);
		lexer_take(l, 1);
		break;
	default:
		l->is_uncertain = l->is_uncertain || begins_case(l);
		take_in_word(l);
	}
}

static void
take_next(struct lexer *l)
{
	switch (l->stack[l->depth]) {
	case IN_DOUBLE:
		take_in_double(l);
		break;
	case IN_SINGLE:
		if (l->s[l->pos] == '\'')
			pop(l);
		lexer_take(l, 1);
		break;
	case IN_DOLLAR_SINGLE:
		take_opaque(l, '\'');
		break;
	case IN_BACKTICK:
		take_opaque(l, '`');
		break;
	case IN_PARAMETER:
		take_in_parameter(l);
		break;
	case IN_ARITHMETIC:
	case IN_ARITHMETIC_PAREN:
		take_in_arithmetic(l);
		break;
	case IN_COMMENT:
		if (l->s[l->pos] == '\n')
			pop(l);
		else
			lexer_take(l, 1);
		break;
	default:
		take_in_code(l);
	}
}

struct place_of *
places_find(const char *command)
{
	size_t n = strlen(command), i;
	struct lexer l = { .s = command, .begins_word = true };

	l.places = xcalloc(n + 1, sizeof(*l.places));
	l.stack[0] = IN_CODE;
	while (command[l.pos] != '\0')
		take_next(&l);
	l.places[n] = (struct place_of){ .kind = (unsigned char)place_now(&l),
					 .begins_word = l.begins_word };
	for (i = 0; i < l.nheres; i++)
		buf_release(&l.heres[i].word);
	return l.places;
}

const char *
place_name(enum place_kind kind)
{
	switch (kind) {
	case PLACE_BARE:
		return "outside of quotes";
	case PLACE_SINGLE:
		return "inside '…'";
	case PLACE_DOUBLE:
		return "inside \"…\"";
	case PLACE_COMMENT:
		return "inside a comment";
	case PLACE_ESCAPED:
		return "after a backslash";
	case PLACE_BACKTICK:
		return "inside `…`";
	case PLACE_DOLLAR_SINGLE:
		return "inside $'…'";
	case PLACE_PARAMETER:
		return "inside ${…}";
	case PLACE_ARITHMETIC:
		return "inside $((…))";
	case PLACE_HERE_DOCUMENT:
		return "inside a here-document";
	case PLACE_HERE_WORD:
		return "in the word that ends a here-document";
	case PLACE_UNCERTAIN:
		break;
	}
	return "after syntax that shells read in different ways";
}
