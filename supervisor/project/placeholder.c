/* SPDX-License-Identifier: MIT */
#include "supervisor/project/placeholder.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/project/places.h"

/* A placeholder as it stands in the command. */
struct spot {
	const struct placeholder *p;
	size_t at;	   /* of its { */
	size_t end;	   /* past its } */
	size_t filled_end; /* past its value, in the command filled in */
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

/* Would the value become a part of the variable's name that stands before it? */
static bool
prolongs_name(const struct spot *s, const char *value)
{
	return s->place.follows_name &&
	       (isalnum((unsigned char)*value) != 0 || *value == '_');
}

/*
 * A plain value must still not become a part of what stands beside it: of a variable's
 * name, or the number of a descriptor.
 */
static int
put_plain(struct buf *out, const struct spot *s, const char *value, struct error *err)
{
	bool is_joined = prolongs_name(s, value);
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
		buf_puts(out, prolongs_name(s, value) ? "\"\"" : "");
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

/* Right after `$name`, in text that is not read closely where it stands. */
static bool
follows_name(const char *command, size_t at)
{
	size_t from = at;

	while (from > 0 && (isalnum((unsigned char)command[from - 1]) != 0 ||
			    command[from - 1] == '_'))
		from--;
	return from < at && from > 0 && command[from - 1] == '$' &&
	       isdigit((unsigned char)command[from]) == 0;
}

static int
put_spot(struct buf *out, const char *command, const struct place_of *places,
	 struct spot *s, struct error *err)
{
	if (s->at > 0 && command[s->at - 1] == '$' &&
	    places[s->at - 1].kind != PLACE_ESCAPED)
		return error_set(err, ERROR_CONFIG,
				 "${%s} at byte %zu of the command is a variable of the "
				 "shell; write {%s}",
				 s->p->name, s->at, s->p->name);
	if (s->place.kind == PLACE_BACKTICK || s->place.kind == PLACE_HERE_DOCUMENT)
		s->place.follows_name = follows_name(command, s->at);
	if (s->p->is_list)
		return put_list(out, s, err);
	return put_value(out, s, s->p->values[0], err);
}

/*
 * Does the shell read everything beside the values as it stood in the command?  It is the
 * proof of the quoting, and it finds the value that is a word of the shell, or the line
 * that ends a here-document.
 */
static bool
filled_is_sound(const char *command, const struct place_of *places, const char *filled,
		const struct spot *spots, size_t nspots)
{
	struct place_of *now = places_find(filled);
	size_t i = 0, o = 0, k;
	bool is_sound = true;

	for (k = 0; k <= nspots; k++) {
		size_t until = k < nspots ? spots[k].at : strlen(command) + 1;

		for (; i < until; i++, o++)
			is_sound = is_sound && places[i].kind == now[o].kind;
		if (k < nspots) {
			i = spots[k].end;
			o = spots[k].filled_end;
		}
	}
	free(now);
	return is_sound;
}

/* The command's spots, in order, their places aside; freed by the caller. */
static struct spot *
spots_find(const char *command, const struct placeholder *table, size_t n,
	   size_t *ret_nspots)
{
	struct spot *spots = NULL;
	size_t i = 0, nspots = 0, room = 0;

	while (command[i] != '\0') {
		const struct placeholder *p = placeholder_at(command + i, table, n);

		if (p == NULL) {
			i++;
			continue;
		}
		spots = xgrow(spots, nspots + 1, &room, sizeof(*spots));
		spots[nspots] = (struct spot){ .p = p, .at = i };
		i += strlen(p->name) + 2;
		spots[nspots].end = i;
		spots[nspots++].next = command[i];
	}
	*ret_nspots = nspots;
	return spots;
}

/* How the command reads with text that means nothing for each placeholder. */
static struct place_of *
spots_place(const char *command, struct spot *spots, size_t nspots)
{
	char *masked = xstrdup(command);
	struct place_of *places;
	size_t i;

	for (i = 0; i < nspots; i++)
		memset(masked + spots[i].at, '.', spots[i].end - spots[i].at);
	places = places_find(masked);
	for (i = 0; i < nspots; i++)
		spots[i].place = places[spots[i].at];
	free(masked);
	return places;
}

int
placeholder_fill(const char *command, const struct placeholder *table, size_t n,
		 char **ret_command, struct error *err)
{
	struct buf out = BUF_INIT;
	size_t i, nspots, from = 0;
	struct spot *spots = spots_find(command, table, n, &nspots);
	struct place_of *places = spots_place(command, spots, nspots);
	int rc = -1;

	for (i = 0; i < nspots; i++) {
		buf_append(&out, command + from, spots[i].at - from);
		if (put_spot(&out, command, places, &spots[i], err) < 0)
			goto out;
		spots[i].filled_end = out.len;
		from = spots[i].end;
	}
	buf_puts(&out, command + from);
	if (nspots > 0 &&
	    !filled_is_sound(command, places, buf_text(&out), spots, nspots)) {
		(void)refuse(&spots[0],
			     spots[0].p->nvalues > 0 ? spots[0].p->values[0] : "",
			     "where it changes how the shell reads the rest", err);
		goto out;
	}
	*ret_command = buf_steal(&out);
	rc = 0;
out:
	buf_release(&out);
	free(places);
	free(spots);
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
