/* SPDX-License-Identifier: MIT */
#include "supervisor/project/segment.h"

#include <ctype.h>
#include <string.h>

#include "supervisor/base/text.h"

enum {
	STEPS_MAX = 200000,
	NESTED_MAX = 100
};

/* A piece of text, its end excluded. */
struct span {
	const char *from;
	const char *to;
};

struct matcher {
	long steps;
	unsigned nested;
};

static bool match(struct matcher *m, struct span p, struct span s);

/* Length of the character at the beginning. */
static size_t
char_length(struct span s)
{
	size_t n = utf8_sequence(s.from, (size_t)(s.to - s.from));

	return n == 0 ? 1 : n;
}

static unsigned
char_value(struct span s, size_t n)
{
	unsigned char c = (unsigned char)*s.from;
	unsigned v;
	size_t i;

	if (n == 1)
		return c;
	v = c & (0x7fu >> n);
	for (i = 1; i < n; i++)
		v = v << 6 | ((unsigned char)s.from[i] & 0x3fu);
	return v;
}

static bool
class_holds(struct span name, unsigned c)
{
	static const struct {
		const char *name;
		int (*is)(int c);
	} classes[] = { { "alpha", isalpha },	{ "digit", isdigit },
			{ "alnum", isalnum },	{ "lower", islower },
			{ "upper", isupper },	{ "punct", ispunct },
			{ "xdigit", isxdigit }, { "space", isspace } };
	size_t i, n = (size_t)(name.to - name.from);

	for (i = 0; c < 128 && i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i].name) == n &&
		    strncmp(classes[i].name, name.from, n) == 0)
			return classes[i].is((int)c) != 0;
	return false;
}

/* The ] that ends the set which begins at p.from, or NULL: then [ is a plain character.
 */
static const char *
set_end(struct span p)
{
	const char *c = p.from + 1;

	if (c < p.to && (*c == '!' || *c == '^'))
		c++;
	if (c < p.to && *c == ']')
		c++;
	for (; c < p.to; c++) {
		if (*c == '\\' && c + 1 < p.to)
			c++;
		else if (c[0] == '[' && c + 1 < p.to && c[1] == ':') {
			const char *end = c + 2;

			while (end + 1 < p.to && !(end[0] == ':' && end[1] == ']'))
				end++;
			if (end + 1 < p.to)
				c = end + 1;
		} else if (*c == ']') {
			return c;
		}
	}
	return NULL;
}

/* One character of a set, past it; a backslash before it is none. */
static unsigned
set_take(struct span *set)
{
	size_t n;
	unsigned v;

	if (*set->from == '\\' && set->from + 1 < set->to)
		set->from++;
	n = char_length(*set);
	v = char_value(*set, n);
	set->from += n;
	return v;
}

static bool
set_holds(struct span set, unsigned c)
{
	bool is_negated = set.from < set.to && (*set.from == '!' || *set.from == '^');
	bool holds = false;

	set.from += is_negated;
	while (set.from < set.to) {
		unsigned low, high;

		if (set.to - set.from > 4 && strncmp(set.from, "[:", 2) == 0) {
			struct span name = { set.from + 2, set.from + 2 };

			while (name.to + 1 < set.to && *name.to != ':')
				name.to++;
			if (name.to + 1 < set.to && name.to[1] == ']') {
				holds = holds || class_holds(name, c);
				set.from = name.to + 2;
				continue;
			}
		}
		low = high = set_take(&set);
		if (set.to - set.from > 1 && *set.from == '-') {
			set.from++;
			high = set_take(&set);
		}
		holds = holds || (c >= low && c <= high);
	}
	return holds != is_negated;
}

/* The ) of a group whose ( is at `open`, or NULL. */
static const char *
group_end(const char *open, const char *to)
{
	unsigned depth = 0;

	for (; open < to; open++) {
		if (*open == '\\' && open + 1 < to)
			open++;
		else if (*open == '(')
			depth++;
		else if (*open == ')' && --depth == 0)
			return open;
	}
	return NULL;
}

/* Does one of the alternatives match all of s? */
static bool
group_matches(struct matcher *m, struct span group, struct span s)
{
	const char *c, *from = group.from;
	unsigned depth = 0;

	for (c = group.from; c <= group.to; c++) {
		if (c < group.to && *c == '\\') {
			c++;
		} else if (c < group.to && *c == '(') {
			depth++;
		} else if (c < group.to && *c == ')') {
			depth--;
		} else if (c == group.to || (*c == '|' && depth == 0)) {
			if (match(m, (struct span){ from, c }, s))
				return true;
			from = c + 1;
		}
	}
	return false;
}

/* p begins with a group of that kind, which ends at `end`. */
static bool
match_group(struct matcher *m, char kind, struct span p, const char *end, struct span s)
{
	struct span group = { p.from + 2, end }, rest = { end + 1, p.to };
	const char *cut;

	if ((kind == '?' || kind == '*') && match(m, rest, s))
		return true;
	for (cut = s.from; cut <= s.to; cut++) {
		struct span left = { s.from, cut }, right = { cut, s.to };

		if (++m->steps > STEPS_MAX)
			return false;
		if (group_matches(m, group, left) == (kind == '!'))
			continue;
		if (match(m, rest, right))
			return true;
		if ((kind == '*' || kind == '+') && cut > s.from &&
		    match_group(m, '*', p, end, right))
			return true;
	}
	return false;
}

static bool
match_star(struct matcher *m, struct span rest, struct span s)
{
	while (rest.from < rest.to && *rest.from == '*' &&
	       !(rest.from + 1 < rest.to && rest.from[1] == '('))
		rest.from++;
	if (rest.from == rest.to)
		return true;
	for (; s.from <= s.to; s.from++)
		if (match(m, rest, s))
			return true;
	return false;
}

/* One step that takes one character of each; false where they differ. */
static bool
match_char(struct span *p, struct span *s)
{
	size_t n = char_length(*s);
	const char *end;

	if (*p->from == '?') {
		p->from++;
		s->from += n;
		return true;
	}
	if (*p->from == '[' && (end = set_end(*p)) != NULL) {
		struct span set = { p->from + 1, end };

		if (!set_holds(set, char_value(*s, n)))
			return false;
		p->from = end + 1;
		s->from += n;
		return true;
	}
	if (*p->from == '\\' && p->from + 1 < p->to)
		p->from++;
	return *p->from++ == *s->from++;
}

static bool
match_from(struct matcher *m, struct span p, struct span s)
{
	while (p.from < p.to) {
		const char *end;

		if (++m->steps > STEPS_MAX)
			return false;
		if (p.from + 1 < p.to && p.from[1] == '(' &&
		    strchr("?*+@!", *p.from) != NULL &&
		    (end = group_end(p.from + 1, p.to)) != NULL)
			return match_group(m, *p.from, p, end, s);
		if (*p.from == '*')
			return match_star(m, (struct span){ p.from + 1, p.to }, s);
		if (s.from == s.to || !match_char(&p, &s))
			return false;
	}
	return s.from == s.to;
}

static bool
match(struct matcher *m, struct span p, struct span s)
{
	bool matches;

	if (m->steps > STEPS_MAX || ++m->nested > NESTED_MAX) {
		m->steps = STEPS_MAX + 1;
		return false;
	}
	matches = match_from(m, p, s);
	m->nested--;
	return matches;
}

int
segment_matches(const char *pattern, const char *name, bool dot_is_plain)
{
	struct matcher m = { 0 };
	bool matches;

	if (*name == '.' && !dot_is_plain && *pattern != '.' &&
	    strncmp(pattern, "\\.", 2) != 0)
		return 0;
	matches = match(&m, (struct span){ pattern, pattern + strlen(pattern) },
			(struct span){ name, name + strlen(name) });
	if (m.steps > STEPS_MAX)
		return -1;
	return matches ? 1 : 0;
}

bool
segment_is_wild(const char *pattern)
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '\\' && pattern[1] != '\0')
			pattern++;
		else if (strchr("*?[", *pattern) != NULL ||
			 (strchr("+@!", *pattern) != NULL && pattern[1] == '('))
			return true;
	}
	return false;
}
