/* SPDX-License-Identifier: MIT */
#include "supervisor/project/version_cut.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/project/manifest.h"

struct version_files {
	struct glob **globs;
	size_t nglobs;
};

/* A text that is being read. */
struct cursor {
	const char *from; /* the beginning of all of it */
	const char *at;
	const char *end;
};

int
version_files_compile(const char *const *globs, size_t nglobs,
		      struct version_files **ret_files, struct error *err)
{
	struct version_files *f = xcalloc(1, sizeof(*f));
	struct error inner = ERROR_INIT;

	f->globs = xcalloc(nglobs + 1, sizeof(*f->globs));
	for (; f->nglobs < nglobs; f->nglobs++)
		if (glob_compile(globs[f->nglobs], &f->globs[f->nglobs], &inner) < 0) {
			(void)error_set(err, ERROR_CONFIG, "versionFiles[%zu]: %s",
					f->nglobs, inner.text);
			version_files_free(f);
			return -1;
		}
	*ret_files = f;
	return 0;
}

void
version_files_free(struct version_files *f)
{
	size_t i;

	if (f == NULL)
		return;
	for (i = 0; i < f->nglobs; i++)
		glob_free(f->globs[i]);
	free(f->globs);
	free(f);
}

enum cut_kind
cut_kind_of(const char *path, const struct version_files *files)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	bool is_manifest = strcmp(name, MANIFEST_FILE) == 0;
	size_t i;

	if (strcmp(name, "CHANGELOG.md") == 0 || strcmp(name, "GROUP-CHANGELOG.md") == 0)
		return CUT_CHANGELOG;
	for (i = 0; files != NULL && i < files->nglobs; i++)
		if (glob_matches(files->globs[i], path, strlen(path)))
			return is_manifest ? CUT_EITHER : CUT_VERSIONS;
	return is_manifest ? CUT_MANIFEST : CUT_NONE;
}

bool
cut_explains(enum cut_kind kind, const char *before, size_t nbefore, const char *after,
	     size_t nafter)
{
	switch (kind) {
	case CUT_CHANGELOG:
		return true;
	case CUT_MANIFEST:
		return manifest_differs_in_version_only(before, nbefore, after, nafter);
	case CUT_VERSIONS:
		return text_differs_in_versions_only(before, nbefore, after, nafter);
	case CUT_EITHER:
		return manifest_differs_in_version_only(before, nbefore, after, nafter) ||
		       text_differs_in_versions_only(before, nbefore, after, nafter);
	case CUT_NONE:
		break;
	}
	return false;
}

static bool
manifest_is_sound(const char *text, size_t n)
{
	struct error ignored = ERROR_INIT;
	struct json_object *value;

	if (manifest_parse(MANIFEST_FILE, text, n, &value, &ignored) < 0)
		return false;
	json_object_put(value);
	return true;
}

/* Past a string of sound JSON, from its first quote. */
static const char *
string_end(const char *s, const char *end)
{
	for (s++; s < end && *s != '"'; s++)
		if (*s == '\\')
			s++;
	return s < end ? s + 1 : end;
}

static const char *
blanks_end(const char *s, const char *end)
{
	while (s < end && strchr(" \t\r\n", *s) != NULL)
		s++;
	return s;
}

/*
 * The string that is the value of the top-level "version" of sound JSON; false where
 * there is none, or more than one.
 */
static bool
version_find(const char *s, size_t n, const char **ret_from, const char **ret_to)
{
	const char *end = s + n;
	unsigned depth = 0, found = 0;

	while (s < end) {
		const char *from = s;

		depth += *s == '{' || *s == '[';
		depth -= *s == '}' || *s == ']';
		if (*s++ != '"')
			continue;
		s = string_end(from, end);
		if (depth != 1 || s - from != 9 || strncmp(from, "\"version\"", 9) != 0)
			continue;
		s = blanks_end(s, end);
		if (s == end || *s != ':')
			continue; /* it is a value itself */
		s = blanks_end(s + 1, end);
		if (s == end || *s != '"')
			return false;
		found++;
		*ret_from = s;
		s = *ret_to = string_end(s, end);
	}
	return found == 1;
}

bool
manifest_differs_in_version_only(const char *before, size_t nbefore, const char *after,
				 size_t nafter)
{
	const char *from[2], *to[2];
	size_t head, tail;

	if (!manifest_is_sound(before, nbefore) || !manifest_is_sound(after, nafter) ||
	    !version_find(before, nbefore, &from[0], &to[0]) ||
	    !version_find(after, nafter, &from[1], &to[1]))
		return false;
	head = (size_t)(from[0] - before);
	tail = (size_t)(before + nbefore - to[0]);
	return head == (size_t)(from[1] - after) &&
	       tail == (size_t)(after + nafter - to[1]) &&
	       memcmp(before, after, head) == 0 && memcmp(to[0], to[1], tail) == 0;
}

static bool
is_digit(const char *s, const char *end)
{
	return s < end && *s >= '0' && *s <= '9';
}

static bool
is_word(const char *s, const char *end)
{
	return is_digit(s, end) || (s < end && ((*s >= 'a' && *s <= 'z') ||
						(*s >= 'A' && *s <= 'Z') || *s == '_'));
}

static const char *
digits_end(const char *s, const char *end)
{
	while (is_digit(s, end))
		s++;
	return s;
}

/* Past `-rc.1` and the like; s itself where there is nothing of that kind. */
static const char *
prerelease_end(const char *s, const char *end)
{
	static const char *const words[] = { "alpha",  "beta", "rc",	  "next",
					     "canary", "dev",  "preview", "snapshot",
					     "pre",    "" };
	size_t i;

	if (s == end || *s != '-')
		return s;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);
		const char *c = s + 1, *last;

		if ((size_t)(end - c) < n || strncmp(c, words[i], n) != 0)
			continue;
		c += n;
		if (n > 0 && c < end && (*c == '.' || *c == '-'))
			c++;
		last = digits_end(c, end);
		return last > c && !is_word(last, end) ? last : s;
	}
	return s;
}

/* Past the version number that begins at the cursor, or NULL. */
static const char *
version_end(const struct cursor *c)
{
	const char *s = c->at;
	int i;

	/* Not within a number, and not the rest of a.b.c.d. */
	if (s > c->from && (is_digit(s - 1, c->end) ||
			    (s[-1] == '.' && s - 1 > c->from && is_digit(s - 2, c->end))))
		return NULL;
	for (i = 0; i < 3; i++) {
		const char *last = digits_end(s, c->end);

		if (last == s || (i < 2 && (last == c->end || *last != '.')))
			return NULL;
		s = last + (i < 2);
	}
	if (is_word(s, c->end) || (s < c->end && *s == '.' && is_digit(s + 1, c->end)))
		return NULL;
	return prerelease_end(s, c->end);
}

bool
text_differs_in_versions_only(const char *before, size_t nbefore, const char *after,
			      size_t nafter)
{
	struct cursor a = { before, before, before + nbefore };
	struct cursor b = { after, after, after + nafter };

	while (a.at < a.end && b.at < b.end) {
		const char *past_a = version_end(&a), *past_b = version_end(&b);

		if (past_a != NULL && past_b != NULL) {
			a.at = past_a;
			b.at = past_b;
		} else if (*a.at++ != *b.at++) {
			return false;
		}
	}
	return a.at == a.end && b.at == b.end;
}
