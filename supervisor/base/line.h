/* SPDX-License-Identifier: MIT */
/*
 * Line: one line of a step's output as a terminal would show it.
 *
 * Bytes go in as they come, split anywhere; out comes valid UTF-8 without a control
 * character but TAB:
 *
 * - Taken out: CSI (ESC [ and U+009B), OSC (ended by BEL or ST), DCS, APC, PM and SOS
 *   (ended by ST), every other escape with its intermediate bytes.  ST is ESC \ or
 *   U+009C.  A sequence that never ends is over at the end of its line, at CAN, SUB,
 *   or the next ESC: what a tool forgot to close hides no more than the rest of
 *   that line.
 * - Applied: CR and backspace move the cursor and what follows overwrites; CSI K (and
 *   J, as far as this line) erases; CSI C, D, G and ` move within the line, to the right
 *   as if the terminal were LINE_SCREEN columns wide.  A TAB that is overwritten is
 *   one character, and so is a wide or a combining one: all columns count as equal.
 * - A shorter text over a longer one leaves the longer one's end standing, as the
 *   terminal does.  Tools that redraw erase or pad; those that do not (`[....] name`,
 *   then CR and `[ ok ]`) mean the rest to stay, and in a log of evidence a text too
 *   many is better than one too few.
 * - U+FFFD: every other control character (C0, DEL, C1), and once for each maximal run
 *   of bytes that could have become one character (as Unicode recommends).
 * - Blanks that were printed stay; columns that were erased or jumped over are blanks
 *   inside the line and nothing at its end.
 *
 * Memory is bounded: text past LINE_CELLS characters is only counted.
 */
#ifndef SUPERVISOR_BASE_LINE_H
#define SUPERVISOR_BASE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LINE_CELLS = 65536,
	LINE_SCREEN = 256,
};

enum line_state {
	LINE_TEXT,
	LINE_ESCAPE,  /* after ESC, and after its intermediate bytes */
	LINE_CONTROL, /* in a CSI */
	LINE_COMMAND, /* in an OSC: BEL ends it too */
	LINE_STRING,  /* in a DCS, APC, PM or SOS */
};

struct line {
	uint32_t *cells; /* code points, 0: erased; NULL until there is text */
	size_t width;	 /* columns in use; those past LINE_CELLS have no cell */
	size_t column;	 /* of the cursor */
	uint64_t beyond; /* bytes of the text past the cells */
	enum line_state state;
	bool intermediate; /* in an escape or a CSI: a byte of 0x20 to 0x2f was seen */
	bool private;	   /* in a CSI: not one of the standard */
	bool first;	   /* in a CSI: still in the first parameter */
	unsigned parameter;
	unsigned char last; /* byte before, in a string */
	/* A UTF-8 character that is not whole yet. */
	uint32_t point;
	unsigned wants; /* bytes missing, 0: none is open */
	unsigned char least;
	unsigned char most;
};

#define LINE_INIT             \
	{                     \
		.cells = NULL \
	}

/*
 * Take bytes up to the end of the line, \n, or all n.  Returns how many; *ret_ended
 * says whether the last of them ended the line.  Go on with line_clear.
 */
size_t line_feed(struct line *l, const char *bytes, size_t n, bool *ret_ended);
/* There is no \n: what is not whole is over. */
void line_finish(struct line *l);
/* Does it show nothing? */
bool line_is_empty(const struct line *l);
/* The whole text's length in bytes, what is past the cells included. */
uint64_t line_bytes(const struct line *l);
/* The first characters, as many as have room in `size` bytes, no NUL.  Returns how
 * many bytes. */
size_t line_copy(const struct line *l, char *text, size_t size);
/* Ready for the next line. */
void line_clear(struct line *l);
void line_release(struct line *l);

/* How many of the bytes, from the first on, are printable ASCII or TAB. */
size_t line_plain_run(const char *bytes, size_t n);
/* Would these bytes, a line without its \n, be shown as they stand? */
bool line_is_sound(const char *bytes, size_t n);

#endif
