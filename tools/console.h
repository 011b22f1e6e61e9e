/* SPDX-License-Identifier: MIT */
/*
 * Console: a run told on stdout, as lines for people or as JSON events.
 */
#ifndef TOOLS_CONSOLE_H
#define TOOLS_CONSOLE_H

#include <stdbool.h>

#include "ipc/buf.h"
#include "supervisor/pipeline.h"

struct console {
	bool is_json;
	bool is_gone; /* the reader left: the run goes on in silence */
	struct buf line;
};

#define CONSOLE_INIT                   \
	{                              \
		false, false, BUF_INIT \
	}

/* Borrows the console. */
struct pipeline_observer console_observer(struct console *c);
/* Write a text to stdout, unless its reader has left. */
void console_write(struct console *c, const char *text, size_t n);
void console_release(struct console *c);

#endif
