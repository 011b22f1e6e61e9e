/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tools/opt.h"

enum {
	HELP_COLUMN = 28,
	HELP_WIDTH = 80
};

/* Words wrapped at HELP_WIDTH; the cursor stands at `column`. */
static void
add_wrapped(struct buf *out, size_t column, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, " ");
		bool first = column == HELP_COLUMN;

		if (!first && column + 1 + n > HELP_WIDTH) {
			buf_printf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (!first) {
			buf_putc(out, ' ');
			column++;
		}
		buf_append(out, text, n);
		column += n;
		text += n + strspn(text + n, " ");
	}
	buf_putc(out, '\n');
}

static void
add_opt(struct buf *out, const struct opt *o)
{
	size_t start = out->len, width;

	if (o->letter != '\0')
		buf_printf(out, "  -%c, --%s", o->letter, o->name);
	else
		buf_printf(out, "      --%s", o->name);
	if (o->arg != NULL)
		buf_printf(out, " %s", o->arg);
	width = out->len - start;
	if (width + 2 > HELP_COLUMN) {
		buf_putc(out, '\n');
		width = 0;
	}
	buf_printf(out, "%*s", (int)(HELP_COLUMN - width), "");
	if (o->planned) {
		buf_puts(out, "(not available in this version)\n");
		buf_printf(out, "%*s", HELP_COLUMN, "");
	}
	add_wrapped(out, HELP_COLUMN, o->help);
}

void
opt_usage(const struct command *c, struct buf *out)
{
	static const struct opt help = { .name = "help",
					 .letter = 'h',
					 .help = "show this text" };
	size_t i;

	buf_printf(out, "usage: geonosis %s [options]%s%s\n\n%s", c->name,
		   *c->operands != '\0' ? " " : "", c->operands, c->about);
	if (c->planned)
		buf_puts(out, "\nNot available in this version.\n");
	buf_puts(out, "\nOptions:\n");
	for (i = 0; i < c->nopts; i++)
		add_opt(out, &c->opts[i]);
	add_opt(out, &help);
}
