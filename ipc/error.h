/* SPDX-License-Identifier: MIT */
/*
 * Errors: why geonosis could not do its work.
 *
 * A function that can fail returns 0, or -1 with *err filled; `struct error
 * *err` is its last parameter and never NULL.  The error is set once, where the
 * failure is known; callers may put context in front of it.  Success leaves it
 * untouched.  A failing step is no error: it is a result.
 *
 * The text reads `<what>: <why>`; whoever prints it puts `geonosis: ` in front.
 */
#ifndef IPC_ERROR_H
#define IPC_ERROR_H

enum error_kind {
	ERROR_NONE,
	ERROR_SYSTEM, /* the machine refused: errno says why */
	ERROR_CONFIG, /* geonosis.json is wrong */
	ERROR_USAGE,  /* the command line or the environment is wrong */
	ERROR_REPO,   /* git, or what it keeps, cannot answer */
	ERROR_DATA,   /* something read from disk, a socket or a segment is not sound */
};

struct error {
	enum error_kind kind;
	int errnum;	 /* errno of an ERROR_SYSTEM, else 0 */
	char text[2048]; /* UTF-8; cut with an ellipsis where it would not fit */
};

#define ERROR_INIT                \
	{                         \
		ERROR_NONE, 0, "" \
	}

/* Fill *err.  Always returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fill *err as ERROR_SYSTEM with `<formatted>: <text of errno>`.  Returns -1. */
int error_system(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Put `<formatted>: ` in front of the text.  Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
