/* SPDX-License-Identifier: MIT */
/*
 * Console: a run told on stdout, as lines for people or as JSON events.
 */
#ifndef TOOLS_CONSOLE_H
#define TOOLS_CONSOLE_H

#include <stdbool.h>

#include "ipc/buf.h"
#include "supervisor/pipeline.h"
#include "tools/live.h"

struct console {
	bool is_json;
	bool is_gone; /* the reader left, or stands still: the run goes on in silence */
	int lost;     /* errno of a write that was no reader's leaving, 0: none */
	struct live live;
	struct buf line; /* what is to be printed next */
};

/* `is_json` turns lines into events. */
void console_open(struct console *c, bool is_json);
/* Borrows the console. */
struct pipeline_observer console_observer(struct console *c);
void console_release(struct console *c);

#endif
