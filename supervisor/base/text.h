/* SPDX-License-Identifier: MIT */
/*
 * Text: UTF-8, quoting, and nearness of words.
 */
#ifndef SUPERVISOR_BASE_TEXT_H
#define SUPERVISOR_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Length of the valid UTF-8 sequence at s (at most n bytes), or 0 where there is
 * none: overlong forms, surrogates, past U+10FFFF and cut sequences are invalid.
 */
size_t utf8_sequence(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);
/*
 * A copy fit for one line of a report or a terminal.  U+FFFD stands for every control
 * character (tab and newline too), for line separators, for those that change the
 * direction of text, and once for each maximal run of bytes that could have become
 * one character (as Unicode recommends).
 */
char *text_clean(const char *s, size_t n);
/* True for "" and for text of nothing but white space (space, \t, \n, \v, \f, \r). */
bool text_is_blank(const char *s);
/*
 * The word that `word` was most likely meant to be, or NULL where none is near:
 * edit distance (optimal string alignment, letters' case ignored) at most a third
 * of the longer length, at least 1; a candidate that begins with the word, or the
 * reverse, for three letters or more, is near too.
 */
const char *text_nearest(const char *word, const char *const *words, size_t nwords);
/* A word quoted for /bin/sh: as it is where that is plain, else in '…'.  Freed by the
 * caller. */
char *text_shell_quote(const char *s);

#endif
