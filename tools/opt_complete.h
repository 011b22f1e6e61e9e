/* SPDX-License-Identifier: MIT */
/*
 * What the shells' completions share: opt_complete() and one writer a shell.
 */
#ifndef TOOLS_OPT_COMPLETE_H
#define TOOLS_OPT_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/opt.h"

/* Every command that runs, each followed by its subcommands. */
struct completion {
	const struct command **items;
	size_t nitems;
};

void complete_bash(struct buf *out, const struct completion *c);
void complete_zsh(struct buf *out, const struct completion *c);
void complete_fish(struct buf *out, const struct completion *c);

/* The last word of its name. */
const char *complete_word(const struct command *c);
/* Is it a direct subcommand of that one; NULL: of none? */
bool complete_is_of(const struct command *c, const struct command *parent);
/* The words of the top commands, or of the subcommands of one, parted by spaces. */
void complete_names(struct buf *out, const struct completion *c,
		    const struct command *parent);
/* The words of OPERAND_WORD operands, parted by spaces. */
void complete_operand_words(struct buf *out, const struct command *c);
/* Does it take a value, and is that a path? */
bool complete_has_value(const struct opt *o);
bool complete_has_path(const struct opt *o);
/* For the inside of '...'; characters of `special` get a backslash in front. */
void complete_escape(struct buf *out, const char *text, const char *special);
/* The text in quotes. */
void complete_quote(struct buf *out, const char *text, const char *special);

#endif
