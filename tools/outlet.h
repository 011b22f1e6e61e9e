/* SPDX-License-Identifier: MIT */
/*
 * Outlet: what a run says, to a reader that may stand still.  A full pipe holds the run
 * up, as it would any program; but the signals that end a run are blocked and read by
 * its loop, which does not go on meanwhile.
 */
#ifndef TOOLS_OUTLET_H
#define TOOLS_OUTLET_H

#include <stddef.h>

/*
 * Write all of it.  0; -1 with errno where it cannot be written, EINTR where SIGINT,
 * SIGTERM or SIGHUP came (and is left to be read) while nobody took it.
 */
int outlet_write(int fd, const char *bytes, size_t n);

#endif
