/* SPDX-License-Identifier: MIT */
#include "git/variables.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"

enum {
	VARIABLES_MAX = 10000 /* of GIT_CONFIG_COUNT */
};

static void
counted_read(variable_fn *take, void *context)
{
	const char *text = getenv("GIT_CONFIG_COUNT");
	long n = text != NULL ? strtol(text, NULL, 10) : 0, i;

	for (i = 0; i < n && i < VARIABLES_MAX; i++) {
		char *name = xasprintf("GIT_CONFIG_KEY_%ld", i);
		const char *key = getenv(name), *value;

		free(name);
		name = xasprintf("GIT_CONFIG_VALUE_%ld", i);
		value = getenv(name);
		free(name);
		if (key != NULL && value != NULL)
			take(context, key, value);
	}
}

/* Past a word in single quotes, and what it says; NULL where there is none. */
static const char *
quoted_next(const char *p, struct buf *ret_word)
{
	buf_clear(ret_word);
	buf_append(ret_word, "", 0);
	if (*p != '\'')
		return NULL;
	for (p++; *p != '\0'; p++) {
		if (*p != '\'') {
			buf_putc(ret_word, *p);
			continue;
		}
		/* Outside of the quotes a quote, or a `!`, stands behind a backslash. */
		if (p[1] != '\\' || p[2] == '\0' || p[3] != '\'')
			return p + 1;
		buf_putc(ret_word, p[2]);
		p += 3;
	}
	return NULL;
}

/* `'key'='value'`, or `'key=value'` of older gits, parted by blanks. */
static void
parameters_read(variable_fn *take, void *context)
{
	const char *p = getenv("GIT_CONFIG_PARAMETERS");
	struct buf key = BUF_INIT, value = BUF_INIT;

	while (p != NULL && *(p += strspn(p, " \t\n")) != '\0') {
		char *equals;

		p = quoted_next(p, &key);
		if (p == NULL)
			break;
		if (*p == '=' && p[1] == '\'') {
			p = quoted_next(p + 1, &value);
			if (p != NULL)
				take(context, key.data, buf_text(&value));
			continue;
		}
		p += *p == '=';
		equals = strchr(key.data, '=');
		if (equals != NULL)
			*equals++ = '\0';
		take(context, key.data, equals);
	}
	buf_release(&key);
	buf_release(&value);
}

void
variables_read(variable_fn *take, void *context)
{
	counted_read(take, context);
	parameters_read(take, context);
}
