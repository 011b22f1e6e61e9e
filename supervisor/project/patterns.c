/* SPDX-License-Identifier: MIT */
#include "supervisor/project/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/project/brace.h"
#include "supervisor/project/segment.h"

enum {
	SEGMENTS_MAX = 128,
	PATTERNS_MAX = 10000
};

char *
pattern_plain_name(const char *segment)
{
	struct buf b = BUF_INIT;

	for (; *segment != '\0'; segment++) {
		if (*segment == '\\' && segment[1] != '\0')
			segment++;
		buf_putc(&b, *segment);
	}
	return buf_steal(&b);
}

static void
path_release(struct pattern_path *p)
{
	size_t i;

	for (i = 0; i < p->nsegments; i++)
		free(p->segments[i]);
	free(p->segments);
}

static void
path_count_static(struct pattern_path *p)
{
	while (p->nstatic < p->nsegments && !segment_is_wild(p->segments[p->nstatic]))
		p->nstatic++;
}

/* `a/..` is nothing where `a` is a name. */
static bool
path_step_back(struct pattern_path *p, const char *text, size_t n)
{
	const char *last = p->nsegments > 0 ? p->segments[p->nsegments - 1] : "..";

	if (n != 2 || strncmp(text, "..", 2) != 0 || strcmp(last, "..") == 0 ||
	    segment_is_wild(last))
		return false;
	free(p->segments[--p->nsegments]);
	return true;
}

/* Cut at the slashes; empty parts and `.` are none, of `**` in a row one is enough. */
static int
path_cut(const char *text, struct pattern_path *ret)
{
	struct pattern_path p = { NULL, 0, 0 };

	while (*text != '\0') {
		size_t n = strcspn(text, "/");

		if (n > 0 && !(n == 1 && *text == '.') &&
		    !(n == 2 && p.nsegments > 0 && strncmp(text, "**", 2) == 0 &&
		      strcmp(p.segments[p.nsegments - 1], "**") == 0) &&
		    !path_step_back(&p, text, n)) {
			if (p.nsegments == SEGMENTS_MAX) {
				path_release(&p);
				return -1;
			}
			p.segments = xreallocarray(p.segments, p.nsegments + 1,
						   sizeof(*p.segments));
			p.segments[p.nsegments++] = xstrndup(text, n);
		}
		text += n;
		text += *text == '/';
	}
	path_count_static(&p);
	*ret = p;
	return 0;
}

static int
refuse(const char *pattern, const char *why, struct error *err)
{
	char *shown = text_clean(pattern, strlen(pattern));

	(void)error_set(err, ERROR_DATA, "the pattern \"%s\": %s", shown, why);
	free(shown);
	return -1;
}

static int
pattern_add(const char *text, struct pattern_path **paths, size_t *npaths, size_t *room,
	    struct error *err)
{
	struct brace_list braces = BRACE_LIST_INIT;
	struct error inner = ERROR_INIT;
	size_t i;
	int rc = 0;

	if (brace_expand(text, &braces, &inner) < 0)
		rc = refuse(text, inner.text, err);
	for (i = 0; rc == 0 && i < braces.nitems; i++) {
		struct pattern_path p;

		if (*npaths >= PATTERNS_MAX || path_cut(braces.items[i], &p) < 0) {
			rc = refuse(text, "it is too large", err);
			break;
		}
		*paths = xgrow(*paths, *npaths + 1, room, sizeof(**paths));
		(*paths)[(*npaths)++] = p;
	}
	brace_list_release(&braces);
	return rc;
}

/* segments against names, both cut; `**` at the end may stand for none. */
static int
path_matches(const struct pattern_path *p, size_t i, const struct pattern_path *name,
	     size_t j, bool dots, long *steps)
{
	int one;

	if (++*steps > 100000)
		return -1;
	if (i == p->nsegments)
		return j == name->nsegments;
	if (strcmp(p->segments[i], "**") == 0) {
		one = path_matches(p, i + 1, name, j, dots, steps);
		if (one != 0 || j == name->nsegments ||
		    (*name->segments[j] == '.' && !dots))
			return one;
		return path_matches(p, i, name, j + 1, dots, steps);
	}
	if (j == name->nsegments)
		return 0;
	one = segment_matches(p->segments[i], name->segments[j], dots);
	return one <= 0 ? one : path_matches(p, i + 1, name, j + 1, dots, steps);
}

/*
 * npm drops an exclusion that a later pattern, read as a path, is matched by.  It forgets
 * to look at the exclusion after the one dropped, and so do we.
 */
static int
exclusions_drop(char **excluded, size_t *nexcluded, const char *pattern,
		struct error *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < *nexcluded; i++) {
		struct pattern_set one = PATTERN_SET_INIT;
		struct pattern_path name;
		long steps = 0;
		size_t k;
		int matches = 0;

		if (path_cut(pattern, &name) < 0)
			return refuse(pattern, "it is too large", err);
		rc = pattern_add(excluded[i], &one.excluded, &one.nexcluded,
				 &one.excluded_room, err);
		for (k = 0; rc == 0 && k < one.nexcluded && matches == 0; k++) {
			const struct pattern_path *x = &one.excluded[k];

			/* Here `a/` and two stars is no name of `a` itself. */
			if (x->nsegments > name.nsegments &&
			    strcmp(x->segments[x->nsegments - 1], "**") == 0)
				continue;
			matches = path_matches(x, 0, &name, 0, false, &steps);
		}
		if (matches > 0) {
			free(excluded[i]);
			memmove(excluded + i, excluded + i + 1,
				(*nexcluded - i - 1) * sizeof(*excluded));
			--*nexcluded;
		}
		pattern_set_release(&one);
		path_release(&name);
	}
	return rc;
}

/* `\` is `/` to npm. */
static char *
npm_text(const char *pattern, bool *is_negated)
{
	char *text, *c;

	*is_negated = false;
	for (; *pattern == '!' && pattern[1] != '('; pattern++)
		*is_negated = !*is_negated;
	if (strncmp(pattern, "./", 2) == 0)
		pattern++;
	while (*pattern == '/')
		pattern++;
	text = xstrdup(pattern);
	for (c = text; *c != '\0'; c++)
		if (*c == '\\')
			*c = '/';
	return text;
}

static int
npm_build(const char *const *patterns, size_t n, struct pattern_set *set,
	  struct error *err)
{
	char **excluded = xcalloc(n + 1, sizeof(*excluded));
	size_t i, nexcluded = 0;
	int rc = 0;

	for (i = 0; rc == 0 && i < n; i++) {
		bool is_negated;
		char *text = npm_text(patterns[i], &is_negated);

		if (is_negated) {
			excluded[nexcluded++] = text;
			continue;
		}
		rc = exclusions_drop(excluded, &nexcluded, text, err);
		if (rc == 0)
			rc = pattern_add(text, &set->wanted, &set->nwanted,
					 &set->wanted_room, err);
		free(text);
	}
	for (i = 0; i < nexcluded; i++) {
		if (rc == 0)
			rc = pattern_add(excluded[i], &set->excluded, &set->nexcluded,
					 &set->excluded_room, err);
		free(excluded[i]);
	}
	free(excluded);
	return rc;
}

/* The managers to whom the order of patterns is nothing. */
static int
plain_build(enum manager manager, const char *const *patterns, size_t n,
	    struct pattern_set *set, struct error *err)
{
	bool has_negation = manager == MANAGER_PNPM || manager == MANAGER_YARN;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < n; i++) {
		const char *text = patterns[i];

		if (*text == '!' && text[1] != '(' && has_negation)
			rc = pattern_add(text + 1, &set->excluded, &set->nexcluded,
					 &set->excluded_room, err);
		else if (*text != '/' && !(*text == '!' && text[1] != '('))
			rc = pattern_add(text, &set->wanted, &set->nwanted,
					 &set->wanted_room, err);
	}
	return rc;
}

int
pattern_set_build(enum manager manager, const char *const *patterns, size_t npatterns,
		  struct pattern_set *ret_set, struct error *err)
{
	struct pattern_set set = PATTERN_SET_INIT;
	int rc;

	set.excludes_dots = manager != MANAGER_PNPM;
	if (manager == MANAGER_NPM)
		rc = npm_build(patterns, npatterns, &set, err);
	else
		rc = plain_build(manager, patterns, npatterns, &set, err);
	if (rc == 0)
		*ret_set = set;
	else
		pattern_set_release(&set);
	return rc;
}

int
pattern_set_excludes(const struct pattern_set *set, const char *path, bool with_above,
		     bool *ret_excludes, struct error *err)
{
	struct pattern_path name;
	size_t i, all;
	long steps = 0;
	int matches = 0;

	if (set->nexcluded == 0 || path_cut(path, &name) < 0) {
		*ret_excludes = false;
		return 0;
	}
	all = name.nsegments;
	for (; name.nsegments > 0 && matches == 0; name.nsegments--) {
		for (i = 0; i < set->nexcluded && matches == 0; i++)
			matches = path_matches(&set->excluded[i], 0, &name, 0,
					       set->excludes_dots, &steps);
		if (!with_above)
			break;
	}
	name.nsegments = all;
	path_release(&name);
	if (matches < 0)
		return refuse(path, "a pattern takes too long to match it", err);
	*ret_excludes = matches > 0;
	return 0;
}

void
pattern_set_release(struct pattern_set *set)
{
	size_t i;

	for (i = 0; i < set->nwanted; i++)
		path_release(&set->wanted[i]);
	for (i = 0; i < set->nexcluded; i++)
		path_release(&set->excluded[i]);
	free(set->wanted);
	free(set->excluded);
	*set = (struct pattern_set)PATTERN_SET_INIT;
}
