/* SPDX-License-Identifier: MIT */
/*
 * A backtracking matcher. What keeps it from exponential time: a `*` that has run out of
 * text (or, where it may not cross a '/', out of its component) tells every `*` before
 * it that trying later starts is of no use, and they give up at once.
 *
 * Letters are ASCII's only, whatever the locale.
 */
#include "git/wildmatch.h"

#include <string.h>

enum outcome {
	WILD_NO,
	WILD_YES,
	WILD_NEVER,   /* nor from any later start */
	WILD_STARSTAR /* nor from any later start within this component */
};

static enum outcome match_here(const char *pattern, const char *text, unsigned flags);

static bool
is_upper(unsigned char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool
is_lower(unsigned char c)
{
	return c >= 'a' && c <= 'z';
}

static bool
is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static unsigned char
fold(unsigned char c, unsigned flags)
{
	return (flags & WILD_FOLD_CASE) && is_upper(c) ? (unsigned char)(c + 32) : c;
}

static bool
is_printing(unsigned char c)
{
	return c > 32 && c < 127;
}

/* 1 in the class, 0 not in it, -1: no such class. */
static int
class_has(const char *name, size_t n, unsigned char c, bool fold_case)
{
	bool letter = is_upper(c) || is_lower(c);
	const struct {
		const char *name;
		bool has;
	} classes[] = {
		{ "alnum", letter || is_digit(c) },
		{ "alpha", letter },
		{ "blank", c == ' ' || c == '\t' },
		{ "cntrl", c < 32 || c == 127 },
		{ "digit", is_digit(c) },
		{ "graph", is_printing(c) },
		{ "lower", is_lower(c) },
		{ "print", is_printing(c) || c == ' ' },
		{ "punct", is_printing(c) && !letter && !is_digit(c) },
		{ "space", c == ' ' || (c >= 9 && c <= 13) },
		{ "upper", is_upper(c) || (fold_case && is_lower(c)) },
		{ "xdigit", is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f') },
	};
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i].name) == n && memcmp(classes[i].name, name, n) == 0)
			return classes[i].has;
	return -1;
}

static bool
range_has(unsigned char from, unsigned char to, unsigned char c, unsigned flags)
{
	if (c >= from && c <= to)
		return true;
	return (flags & WILD_FOLD_CASE) && is_lower(c) && c - 32 >= from && c - 32 <= to;
}

/*
 * A `[:class:]` at p ("[:…"): how far it reaches, 0 where it is none after all and the
 * bracket is a plain member, or -1 where the whole pattern is malformed.
 */
static long
class_at(const char *p, unsigned char c, unsigned flags, bool *has)
{
	const char *name = p + 2;
	const char *end = strchr(name, ']');
	int in;

	if (end == NULL)
		return -1;
	if (end == name || end[-1] != ':')
		return 0;
	in = class_has(name, (size_t)(end - 1 - name), c, flags & WILD_FOLD_CASE);
	if (in < 0)
		return -1;
	*has |= in > 0;
	return end - p;
}

/*
 * One member of a set at *p, which moves to its last byte; `before` is the member it
 * follows, for ranges (0 where no range may begin). False: malformed.
 */
static bool
set_member(const char **p, unsigned char *before, unsigned char c, unsigned flags,
	   bool *has)
{
	const char *s = *p;
	unsigned char m = (unsigned char)*s;
	long n = 0;

	if (m == '-' && *before != 0 && s[1] != '\0' && s[1] != ']') {
		m = (unsigned char)*++s;
		if (m == '\\' && (m = (unsigned char)*++s) == 0)
			return false;
		*has |= range_has(*before, m, c, flags);
		m = 0;
	} else if (m == '[' && s[1] == ':' && (n = class_at(s, c, flags, has)) != 0) {
		if (n < 0)
			return false;
		s += n;
		m = 0;
	} else {
		if (m == '\\' && (m = (unsigned char)*++s) == 0)
			return false;
		*has |= m == c;
	}
	*before = m;
	*p = s;
	return true;
}

/* A set whose '[' is at *p, which moves to its ']'. */
static enum outcome
match_set(const char **p, unsigned char c, unsigned flags)
{
	const char *s = *p + 1;
	unsigned char before = 0;
	bool has = false, negated;

	negated = *s == '!' || *s == '^';
	if (negated)
		s++;
	do {
		if (*s == '\0' || !set_member(&s, &before, c, flags, &has))
			return WILD_NEVER;
	} while (*++s != ']');
	*p = s;
	return has == negated || ((flags & WILD_PATHNAME) && c == '/') ? WILD_NO
								       : WILD_YES;
}

/* Stars at *p, which moves past them: may they match a '/'? */
static bool
stars_cross(const char *begin, const char **p, unsigned flags)
{
	const char *first = *p, *s = first;
	bool alone_before = first == begin || first[-1] == '/';

	while (*s == '*')
		s++;
	*p = s;
	if (!(flags & WILD_PATHNAME))
		return true;
	return s - first > 1 && alone_before &&
	       (*s == '\0' || *s == '/' || (s[0] == '\\' && s[1] == '/'));
}

/* What follows the stars, at every start that they allow. */
static enum outcome
match_after_stars(const char *p, const char *text, bool cross, unsigned flags)
{
	bool literal = strchr("*?[\\", *p) == NULL;
	unsigned char want = fold((unsigned char)*p, flags);

	for (;; text++) {
		enum outcome o;

		if (literal)
			while (*text != '\0' && (cross || *text != '/') &&
			       fold((unsigned char)*text, flags) != want)
				text++;
		if (*text == '\0')
			return WILD_NEVER;
		if (literal && fold((unsigned char)*text, flags) != want)
			return WILD_NO;
		o = match_here(p, text, flags);
		if (o != WILD_NO && (!cross || o != WILD_STARSTAR))
			return o;
		if (!cross && *text == '/')
			return WILD_STARSTAR;
	}
}

/*
 * Stars at p. WILD_NO with *ret_text moved to a '/': one component was taken whole, go
 * on after *ret_p's '/'.
 */
static enum outcome
match_stars(const char *begin, const char **ret_p, const char **ret_text, unsigned flags,
	    bool *go_on)
{
	const char *p = *ret_p, *text = *ret_text, *slash;
	bool cross = stars_cross(begin, &p, flags);

	*go_on = false;
	if (cross && (flags & WILD_PATHNAME) && *p == '/') {
		/* The two stars and the '/' may stand for nothing. */
		enum outcome o = match_here(p + 1, text, flags);

		if (o == WILD_YES || o == WILD_NEVER)
			return o;
	}
	slash = cross ? NULL : strchr(text, '/');
	if (*p == '\0')
		return slash != NULL ? WILD_NO : WILD_YES;
	if (!cross && *p == '/') {
		if (slash == NULL)
			return WILD_NO;
		*ret_p = p;
		*ret_text = slash;
		*go_on = true;
		return WILD_YES;
	}
	return match_after_stars(p, text, cross, flags);
}

static enum outcome
match_here(const char *pattern, const char *text, unsigned flags)
{
	const char *p;

	for (p = pattern; *p != '\0'; p++, text++) {
		unsigned char c = fold((unsigned char)*text, flags);
		enum outcome o = WILD_YES;
		bool go_on = true;

		if (c == '\0' && *p != '*')
			return WILD_NEVER;
		if (*p == '*') {
			o = match_stars(pattern, &p, &text, flags, &go_on);
			if (!go_on)
				return o;
		} else if (*p == '[') {
			o = match_set(&p, c, flags);
		} else if (*p == '?') {
			o = (flags & WILD_PATHNAME) && c == '/' ? WILD_NO : WILD_YES;
		} else if (*p == '\\') {
			p++;
			o = (unsigned char)*p == c ? WILD_YES : WILD_NO;
		} else {
			o = fold((unsigned char)*p, flags) == c ? WILD_YES : WILD_NO;
		}
		if (o != WILD_YES)
			return o;
	}
	return *text == '\0' ? WILD_YES : WILD_NO;
}

bool
wildmatch(const char *pattern, const char *text, unsigned flags)
{
	return match_here(pattern, text, flags) == WILD_YES;
}
