/* SPDX-License-Identifier: MIT */
#include "supervisor/project/lexer.h"

#include <string.h>

void
lexer_take_here_operator(struct lexer *l)
{
	struct here *h = &l->heres[l->nheres];
	char quote = '\0';

	if (l->nheres == HERES_MAX) {
		l->is_uncertain = true;
		lexer_take(l, 2);
		return;
	}
	*h = (struct here){ .word = BUF_INIT, .depth = l->depth };
	lexer_take(l, 2);
	h->strips_tabs = l->s[l->pos] == '-';
	if (h->strips_tabs)
		lexer_take_as(l, 1, PLACE_HERE_WORD);
	while (l->s[l->pos] == ' ' || l->s[l->pos] == '\t')
		lexer_take_as(l, 1, PLACE_HERE_WORD);
	for (; l->s[l->pos] != '\0'; lexer_take_as(l, 1, PLACE_HERE_WORD)) {
		char c = l->s[l->pos];

		if (quote == '\0' && strchr(" \t\n;&|<>()", c) != NULL)
			break;
		if (c == quote) {
			quote = '\0';
		} else if (quote == '\0' && (c == '\'' || c == '"')) {
			h->is_quoted = true;
			quote = c;
		} else if (quote != '\'' && (c == '\\' || c == '$' || c == '`')) {
			/* Which characters an odd word consists of is not ours to say. */
			h->is_quoted = true;
			l->is_uncertain = l->is_uncertain || c != '\\' || quote == '"';
			if (c == '\\' && quote == '\0' && l->s[l->pos + 1] != '\0') {
				lexer_take_as(l, 1, PLACE_HERE_WORD);
				buf_putc(&h->word, l->s[l->pos]);
			}
		} else {
			buf_putc(&h->word, c);
		}
	}
	l->nheres++;
}

/* One line of a here-document, from the start of it; was it the last? */
static bool
take_here_line(struct lexer *l, const struct here *h, bool *is_joined)
{
	const char *line = l->s + l->pos;
	size_t n = strcspn(line, "\n"), tabs = 0, backslashes = 0;
	bool is_last;

	if (h->strips_tabs)
		tabs = strspn(line, "\t");
	is_last = !*is_joined && n - tabs == h->word.len &&
		  memcmp(line + tabs, buf_text(&h->word), n - tabs) == 0;
	while (backslashes < n && line[n - 1 - backslashes] == '\\')
		backslashes++;
	*is_joined = !h->is_quoted && backslashes % 2 == 1;
	if (!h->is_quoted && !is_last) {
		size_t i;

		/* A substitution may hold a line that looks like the last. */
		for (i = 0; i < n; i++)
			if (line[i] == '`' || (line[i] == '$' && line[i + 1] == '('))
				l->is_uncertain = true;
	}
	lexer_take_as(l, n + 1, PLACE_HERE_DOCUMENT);
	return is_last;
}

void
lexer_take_newline(struct lexer *l)
{
	size_t i;

	lexer_take(l, 1);
	for (i = 0; i < l->nheres; i++) {
		bool is_joined = false;

		l->is_uncertain = l->is_uncertain || l->heres[i].depth != l->depth;
		while (l->s[l->pos] != '\0' &&
		       !take_here_line(l, &l->heres[i], &is_joined))
			continue;
		buf_release(&l->heres[i].word);
	}
	l->nheres = 0;
	l->begins_word = true;
}
