/* SPDX-License-Identifier: MIT */
/*
 * Board: what a watcher found, in a mapping that worker and supervisor share.
 *
 * One process writes.  The other reads the last text at any time, and the rest when
 * the writer has ended, whatever instant it was killed at: each record is stamped
 * after it is whole, and the reader checks every length and text.
 */
#ifndef SUPERVISOR_BASE_BOARD_H
#define SUPERVISOR_BASE_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "ipc/error.h"

enum {
	BOARD_LINES = 40,
	BOARD_LINE_BYTES = 4096, /* of a line; what is more is cut, with a note */
	BOARD_LAST_SIZE = 256,	 /* of the last text, its NUL included */
};

/* Windows that open at a line. */
enum board_window {
	BOARD_MARK,  /* at the first match of the mark */
	BOARD_ERROR, /* at the first line that looks like an error */
	BOARD_WINDOWS,
};

enum board_flag {
	BOARD_TIMED_OUT = 1,
	BOARD_EXPECTED = 2,
};

/* A sanitised line: of `bytes` bytes the first n are at hand. */
struct board_line {
	const char *text;
	size_t n;
	uint64_t bytes;
};

struct board;

int board_new(struct board **ret_board, struct error *err);
void board_free(struct board *b);
/* Forget all; only while no one else uses it. */
void board_reset(struct board *b);

/* Keep the line of this number, from 1, as one of the last.  Numbers may leap. */
void board_push(struct board *b, uint64_t number, const struct board_line *line);
/* So many lines were printed. */
void board_count(struct board *b, uint64_t lines);
/* Append to a window; the first line opens it.  At most BOARD_LINES are taken. */
void board_append(struct board *b, enum board_window which, uint64_t number,
		  const struct board_line *line);
bool board_is_full(const struct board *b, enum board_window which);
void board_set_environment(struct board *b, const struct board_line *line);
void board_set_flag(struct board *b, enum board_flag flag);
/* Text for a live display, cut to what has room; a blank one changes nothing. */
void board_set_last(struct board *b, const char *text, size_t n);
/* The same with the text of a line that was pushed and is still kept. */
void board_show(struct board *b, uint64_t number);

/* A part of the output: lines joined with \n. */
struct board_part {
	char *text; /* the caller's; "" for no line */
	uint64_t from;
	uint64_t lines;
};

uint64_t board_lines(const struct board *b);
struct board_part board_tail(const struct board *b);
/* No lines where it was never opened. */
struct board_part board_window(const struct board *b, enum board_window which);
/* The caller's, or NULL. */
char *board_environment(const struct board *b);
bool board_flag(const struct board *b, enum board_flag flag);
/* At most size - 1 bytes, valid UTF-8, "" for none.  May be called at any time. */
void board_last(const struct board *b, char *text, size_t size);

#endif
