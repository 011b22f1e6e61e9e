/* SPDX-License-Identifier: MIT */
#include "supervisor/project/placeholder.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/project/places.h"

/* A placeholder as it stands in the command. */
struct spot {
	const struct placeholder *p;
	size_t at;  /* of its { */
	size_t end; /* past its } */
	struct place_of place;
	char next; /* what follows it */
};

static const char plain_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_./@%+=:,-";

static bool
is_plain(const char *value)
{
	return *value != '\0' && *value != '-' &&
	       value[strspn(value, plain_chars)] == '\0';
}

/* The placeholder of the table that begins at the text, or NULL. */
static const struct placeholder *
placeholder_at(const char *s, const struct placeholder *table, size_t n)
{
	size_t i;

	if (*s != '{')
		return NULL;
	for (i = 0; i < n; i++) {
		size_t len = strlen(table[i].name);

		if (strncmp(s + 1, table[i].name, len) == 0 && s[1 + len] == '}')
			return &table[i];
	}
	return NULL;
}

static int
refuse(const struct spot *s, const char *value, const char *why, struct error *err)
{
	char *shown = text_clean(value, strlen(value));

	(void)error_set(
	    err, ERROR_CONFIG,
	    "{%s} at byte %zu of the command cannot be filled in with \"%s\": "
	    "it stands %s",
	    s->p->name, s->at + 1, shown, why);
	free(shown);
	return -1;
}

/* The value as a word, or a part of one, outside of quotes. */
static void
put_bare(struct buf *out, const char *value)
{
	buf_putc(out, '\'');
	for (; *value != '\0'; value++) {
		if (*value == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *value);
	}
	buf_putc(out, '\'');
}

static void
put_in_single(struct buf *out, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *value);
	}
}

static void
put_in_double(struct buf *out, const char *value)
{
	for (; *value != '\0'; value++) {
		if (strchr("$`\"\\", *value) != NULL)
			buf_putc(out, '\\');
		buf_putc(out, *value);
	}
}

/*
 * A plain value must still not become a part of what stands beside it: of a variable's
 * name, or the number of a descriptor.
 */
static int
put_plain(struct buf *out, const struct spot *s, const char *value, struct error *err)
{
	bool is_joined = s->place.follows_name && strspn(value, "./@%+=:,-") == 0;
	bool is_number = (s->next == '<' || s->next == '>') &&
			 value[strspn(value, "0123456789")] == '\0';

	switch (s->place.kind) {
	case PLACE_BARE:
		if (is_joined || is_number)
			put_bare(out, value);
		else
			buf_puts(out, value);
		return 0;
	case PLACE_DOUBLE:
		buf_puts(out, is_joined ? "\"\"" : "");
		break;
	case PLACE_HERE_WORD:
	case PLACE_HERE_DOCUMENT:
		/* It may make, or be, the line that ends the document. */
		if (s->place.begins_word || s->place.follows_name)
			return refuse(s, value, place_name(s->place.kind), err);
		break;
	default:
		if (is_joined)
			return refuse(s, value, place_name(s->place.kind), err);
	}
	buf_puts(out, value);
	return 0;
}

static int
put_value(struct buf *out, const struct spot *s, const char *value, struct error *err)
{
	if (is_plain(value))
		return put_plain(out, s, value, err);
	switch (s->place.kind) {
	case PLACE_BARE:
		put_bare(out, value);
		return 0;
	case PLACE_SINGLE:
		put_in_single(out, value);
		return 0;
	case PLACE_DOUBLE:
		put_in_double(out, value);
		return 0;
	case PLACE_COMMENT:
		if (strchr(value, '\n') != NULL)
			break;
		buf_puts(out, value);
		return 0;
	default:
		break;
	}
	return refuse(s, value, place_name((enum place_kind)s->place.kind), err);
}

static int
put_list(struct buf *out, const struct spot *s, struct error *err)
{
	bool is_word = s->place.begins_word &&
		       (s->next == '\0' || strchr(" \t\n;&|<>)", s->next) != NULL);
	size_t i;

	for (i = 0; i < s->p->nvalues; i++) {
		const char *value = s->p->values[i];

		if (s->place.kind == PLACE_BARE && !is_word)
			return refuse(s, value, "beside other text, not as a word", err);
		if (s->place.kind != PLACE_BARE && !is_plain(value))
			return refuse(s, value,
				      place_name((enum place_kind)s->place.kind), err);
		if (i > 0)
			buf_putc(out, ' ');
		if (put_value(out, s, value, err) < 0)
			return -1;
	}
	return 0;
}

static int
put_spot(struct buf *out, const char *command, const struct place_of *places,
	 const struct spot *s, struct error *err)
{
	if (s->at > 0 && command[s->at - 1] == '$' &&
	    places[s->at - 1].kind != PLACE_ESCAPED)
		return error_set(err, ERROR_CONFIG,
				 "${%s} at byte %zu of the command is a variable of the "
				 "shell; write {%s}",
				 s->p->name, s->at, s->p->name);
	if (s->p->is_list)
		return put_list(out, s, err);
	return put_value(out, s, s->p->values[0], err);
}

int
placeholder_fill(const char *command, const struct placeholder *table, size_t n,
		 char **ret_command, struct error *err)
{
	struct place_of *places = places_find(command);
	struct buf out = BUF_INIT;
	size_t i = 0;
	int rc = -1;

	while (command[i] != '\0') {
		struct spot s = { .p = placeholder_at(command + i, table, n), .at = i };

		if (s.p == NULL) {
			buf_putc(&out, command[i++]);
			continue;
		}
		s.end = i + strlen(s.p->name) + 2;
		s.place = places[i];
		s.next = command[s.end];
		if (put_spot(&out, command, places, &s, err) < 0)
			goto out;
		i = s.end;
	}
	*ret_command = buf_steal(&out);
	rc = 0;
out:
	buf_release(&out);
	free(places);
	return rc;
}

bool
placeholder_is_in(const char *command, const char *name)
{
	const struct placeholder p = { .name = name };

	for (; *command != '\0'; command++)
		if (placeholder_at(command, &p, 1) != NULL)
			return true;
	return false;
}
