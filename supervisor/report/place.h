/* SPDX-License-Identifier: MIT */
/*
 * Place: where a report goes, and how it gets there whole or not at all.
 *
 * A new or regular file is replaced by rename; a link is followed and stays.  A
 * character device or a fifo is written in place; a directory, socket or block
 * device is refused.  Links are followed anew at each write, so that what a step
 * did to the place meanwhile is seen.  Error texts begin with `report <path as
 * given>`.
 *
 * The process must ignore SIGPIPE: a fifo's reader may leave.
 */
#ifndef SUPERVISOR_REPORT_PLACE_H
#define SUPERVISOR_REPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/error.h"

struct report_place;

/*
 * Make the missing directories and probe that a report can be written there,
 * without altering one that is there, leaving a temporary file or waking a
 * fifo's reader.  On failure the directories made are taken away again.
 */
int report_place_open(const char *path, struct report_place **ret_place,
		      struct error *err);
/*
 * At the start of a run: replace an older report by this one (the unfinished one).
 * Nothing is written to a device or a fifo, which get one report a run.
 */
int report_place_begin(struct report_place *place, const char *bytes, size_t n,
		       struct error *err);
/*
 * Write the report.  A directory that has gone meanwhile is not made again.  Waits at
 * most a second for a fifo's reader to come, and five for one that does not read
 * on.
 */
int report_place_save(struct report_place *place, const char *bytes, size_t n,
		      struct error *err);
/* Where nothing was written, the directories made and still empty go. NULL is fine. */
void report_place_free(struct report_place *place);

#endif
