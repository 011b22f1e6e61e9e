/* SPDX-License-Identifier: MIT */
/*
 * Signals that end a run (INT, TERM, HUP), as events of a descriptor.  There is no
 * handler anywhere: they are blocked from the start and read.  One that was
 * ignored when the program started (nohup) stays ignored.
 */
#ifndef IPC_SIGNALS_H
#define IPC_SIGNALS_H

#include "ipc/error.h"

struct signals {
	int fd; /* readable when one has come */
};

/*
 * Block and listen.  Also: SIGPIPE is ignored (a reader that leaves is an error of
 * write), and SIGCHLD is at its default, without which no exit could be waited for.
 */
int signals_open(struct signals *s, struct error *err);
/* The next signal, or 0 when there is none. */
int signals_read(struct signals *s);
void signals_close(struct signals *s);

#endif
