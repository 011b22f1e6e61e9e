/* SPDX-License-Identifier: MIT */
/*
 * Shell completions from the option tables.  Names and values are plain words of
 * ours; only summaries and help texts need quoting.
 */
#include "tools/opt_complete.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"

bool
complete_is_of(const struct command *c, const struct command *parent)
{
	size_t n = parent != NULL ? strlen(parent->name) : 0;

	if (parent == NULL)
		return strchr(c->name, ' ') == NULL;
	return strncmp(c->name, parent->name, n) == 0 && c->name[n] == ' ' &&
	       strchr(c->name + n + 1, ' ') == NULL;
}

const char *
complete_word(const struct command *c)
{
	const char *space = strrchr(c->name, ' ');

	return space != NULL ? space + 1 : c->name;
}

void
complete_names(struct buf *out, const struct completion *c, const struct command *parent)
{
	const char *glue = "";

	for (size_t i = 0; i < c->nitems; i++) {
		const struct command *at = c->items[i];

		if (!complete_is_of(at, parent))
			continue;
		buf_printf(out, "%s%s", glue, complete_word(at));
		glue = " ";
	}
}

void
complete_operand_words(struct buf *out, const struct command *c)
{
	const char *s = c->operands;

	while (*s != '\0') {
		size_t n = strcspn(s, " |");

		buf_append(out, s, n);
		s += n;
		s += strspn(s, " |");
		if (*s != '\0')
			buf_putc(out, ' ');
	}
}

bool
complete_has_value(const struct opt *o)
{
	return o->kind != OPT_FLAG;
}

bool
complete_has_path(const struct opt *o)
{
	return o->arg != NULL && strcmp(o->arg, "<path>") == 0;
}

void
complete_escape(struct buf *out, const char *text, const char *special)
{
	const char *s;

	for (s = text; *s != '\0'; s++) {
		if (strchr(special, *s) != NULL)
			buf_putc(out, '\\');
		if (*s == '\'')
			buf_puts(out, "'\\'");
		buf_putc(out, *s);
	}
}

void
complete_quote(struct buf *out, const char *text, const char *special)
{
	buf_putc(out, '\'');
	complete_escape(out, text, special);
	buf_putc(out, '\'');
}

static void
completion_add(struct completion *c, size_t *room, const struct command *command)
{
	if (command->planned)
		return;
	c->items = xgrow(c->items, c->nitems + 1, room, sizeof(*c->items));
	c->items[c->nitems++] = command;
	for (size_t i = 0; i < command->nsubcommands; i++)
		completion_add(c, room, &command->subcommands[i]);
}

static const struct {
	const char *name;
	void (*write)(struct buf *out, const struct completion *c);
} shells[] = {
	{ "bash", complete_bash },
	{ "zsh", complete_zsh },
	{ "fish", complete_fish },
};

int
opt_complete(const char *shell, const struct command *const *commands, size_t ncommands,
	     struct buf *out, struct error *err)
{
	struct completion c = { NULL, 0 };
	const char *names[sizeof(shells) / sizeof(shells[0])];
	const char *near;
	char *clean;
	size_t i, k, room = 0;

	for (i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		names[i] = shells[i].name;
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		for (k = 0; k < ncommands; k++)
			completion_add(&c, &room, commands[k]);
		shells[i].write(out, &c);
		free(c.items);
		return 0;
	}
	near = text_nearest(shell, names, i);
	clean = text_clean(shell, strlen(shell));
	(void)error_set(err, ERROR_USAGE,
			"completion: unknown shell \"%s\": %s%s%sit is bash, zsh or fish",
			clean, near != NULL ? "did you mean \"" : "",
			near != NULL ? near : "", near != NULL ? "\"? " : "");
	free(clean);
	return -1;
}
