/* SPDX-License-Identifier: MIT */
#include "supervisor/config/field.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/glob.h"
#include "supervisor/base/pattern.h"
#include "supervisor/base/text.h"

enum {
	QUOTE_BYTES = 64, /* of a name that is shown */
};

const char *
field_kind(const struct document *d, size_t value)
{
	static const char *const kinds[] = {
		[SCAN_OBJECT] = "an object", [SCAN_ARRAY] = "a list",
		[SCAN_STRING] = "a string",  [SCAN_NUMBER] = "a number",
		[SCAN_TRUE] = "true",	     [SCAN_FALSE] = "false",
		[SCAN_NULL] = "null",
	};

	return kinds[document_kind(d, value)];
}

char *
field_quote(const char *text)
{
	size_t n = strlen(text), shown = n;
	char *clean, *quoted;

	if (n > QUOTE_BYTES)
		for (shown = QUOTE_BYTES; (text[shown] & 0xc0) == 0x80; shown--)
			;
	clean = text_clean(text, shown);
	quoted = xasprintf("\"%s%s\"", clean, shown < n ? "…" : "");
	free(clean);
	return quoted;
}

/* A string without a NUL, or a refusal. */
static const char *
field_string(const struct document *d, size_t value, const char *wanted,
	     struct error *err)
{
	const char *text = document_text(d, value);

	if (document_kind(d, value) != SCAN_STRING)
		(void)document_refuse(d, value, err, "%s where %s is due",
				      field_kind(d, value), wanted);
	else if (text == NULL)
		(void)document_refuse(d, value, err, "\\u0000 in %s: nothing can hold it",
				      wanted);
	return text;
}

int
field_text(const struct document *d, size_t value, const char *wanted, char **ret_text,
	   struct error *err)
{
	const char *text = field_string(d, value, wanted, err);

	if (text == NULL)
		return -1;
	if (text_is_blank(text))
		return document_refuse(d, value, err, "blank where %s is due", wanted);
	*ret_text = xstrdup(text);
	return 0;
}

/* Is there nothing but comments in it? The shell would call that green. */
static bool
command_is_comment(const char *text)
{
	static const char blanks[] = " \t\r\n";

	for (text += strspn(text, blanks); *text == '#'; text += strspn(text, blanks))
		text += strcspn(text, "\n");
	return *text == '\0';
}

int
field_command(const struct document *d, size_t value, const char *wanted,
	      char **ret_command, struct error *err)
{
	char *text;

	if (field_text(d, value, wanted, &text, err) != 0)
		return -1;
	if (command_is_comment(text)) {
		free(text);
		return document_refuse(d, value, err,
				       "a comment of the shell where %s is due: it "
				       "measures nothing",
				       wanted);
	}
	*ret_command = text;
	return 0;
}

int
field_flag(const struct document *d, size_t value, bool *ret_flag, struct error *err)
{
	enum scan_kind kind = document_kind(d, value);

	if (kind != SCAN_TRUE && kind != SCAN_FALSE)
		return document_refuse(d, value, err, "%s where true or false is due",
				       field_kind(d, value));
	*ret_flag = kind == SCAN_TRUE;
	return 0;
}

int
field_number(const struct document *d, size_t value, int64_t min, int64_t max,
	     int64_t *ret_number, struct error *err)
{
	if (document_kind(d, value) != SCAN_NUMBER)
		return document_refuse(
		    d, value, err, "%s where a whole number from %lld to %lld is due",
		    field_kind(d, value), (long long)min, (long long)max);
	if (!document_whole(d, value, min, max, ret_number))
		return document_refuse(d, value, err,
				       "not a whole number from %lld to %lld",
				       (long long)min, (long long)max);
	return 0;
}

int
field_regex(const struct document *d, size_t value, char **ret_regex, struct error *err)
{
	const char *text = field_string(d, value, "a regex", err);
	struct error why = ERROR_INIT;
	struct pattern *p;

	if (text == NULL)
		return -1;
	if (*text == '\0')
		return document_refuse(d, value, err,
				       "empty where a regex is due: it matches any line");
	if (pattern_compile(text, &p, &why) != 0)
		return document_refuse(d, value, err, "%s", why.text);
	pattern_free(p);
	*ret_regex = xstrdup(text);
	return 0;
}

static int
field_check_glob(const struct document *d, size_t value, const char *text, bool is_files,
		 struct error *err)
{
	struct error why = ERROR_INIT;
	struct glob *g;
	char *name = field_quote(text);
	int rc = -1;

	if (glob_compile(text, &g, &why) != 0) {
		(void)document_refuse(d, value, err, "no glob: %s: %s", name, why.text);
		goto out;
	}
	glob_free(g);
	if (is_files && text[strlen(text) - 1] == '/') {
		(void)document_refuse(d, value, err,
				      "%s is a directory: write \"**\" after it for all "
				      "files below",
				      name);
		goto out;
	}
	rc = 0;
out:
	free(name);
	return rc;
}

static int
field_check_item(const struct document *d, size_t value, enum field_list what,
		 const char *text, struct error *err)
{
	char *name;

	switch (what) {
	case FIELD_GLOBS:
		return field_check_glob(d, value, text, true, err);
	case FIELD_PATHS:
		return field_check_glob(d, value, text, false, err);
	case FIELD_NAMES:
		if (text[strcspn(text, "= \t\n")] == '\0')
			return 0;
		name = field_quote(text);
		(void)document_refuse(d, value, err,
				      "%s is no name of an environment variable", name);
		free(name);
		return -1;
	case FIELD_FILES:
		break;
	}
	return 0;
}

int
field_list(const struct document *d, size_t value, enum field_list what,
	   struct string_list *ret_list, struct error *err)
{
	static const char *const wanted[][2] = {
		[FIELD_GLOBS] = { "a list of globs", "a glob" },
		[FIELD_PATHS] = { "a list of paths or globs", "a path or glob" },
		[FIELD_NAMES] = { "a list of environment variables' names",
				  "the name of an environment variable" },
		[FIELD_FILES] = { "a list of paths", "a path" },
	};
	struct string_list list = { NULL, 0 };
	char *text = NULL;

	if (document_kind(d, value) != SCAN_ARRAY)
		return document_refuse(d, value, err, "%s where %s is due",
				       field_kind(d, value), wanted[what][0]);
	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at)) {
		if (field_text(d, at, wanted[what][1], &text, err) != 0)
			goto fail;
		string_list_add(&list, text);
		if (field_check_item(d, at, what, text, err) != 0)
			goto fail;
	}
	*ret_list = list;
	return 0;
fail:
	string_list_release(&list);
	return -1;
}

void
string_list_add(struct string_list *l, char *item)
{
	/* Grows at powers of two, so that the list needs no field for its room. */
	if ((l->nitems & (l->nitems + 1)) == 0)
		l->items = xreallocarray(l->items, l->nitems * 2 + 1, sizeof(*l->items));
	l->items[l->nitems++] = item;
}

void
string_list_release(struct string_list *l)
{
	for (size_t i = 0; i < l->nitems; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct string_list){ NULL, 0 };
}
