/* SPDX-License-Identifier: MIT */
/*
 * Tool: a tool's own green, kept for it in `.geonosis/tool-green-<name>.json`:
 *
 *   { "name", "tree", "asked"?, "recordedAt" }
 *
 * It says that the tool found this tree good for the question it was asked.  Nothing here
 * reads it as the green of a tier.
 */
#ifndef SUPERVISOR_GREEN_TOOL_H
#define SUPERVISOR_GREEN_TOOL_H

#include "ipc/buf.h"
#include "ipc/error.h"

/* Record that the tool was green on the tree as it is now; `asked` NULL: no question. */
int tool_record(const char *name, const char *asked, struct error *err);
/*
 * Does a record of this tree and question stand: 1, its text appended to *out; 0; -1
 * refused, or the tree cannot be read.
 */
int tool_check(const char *name, const char *asked, struct buf *out, struct error *err);

#endif
