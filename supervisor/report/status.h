/* SPDX-License-Identifier: MIT */
/*
 * Status: who holds the machine's slots and who waits, as text and as JSON.
 */
#ifndef SUPERVISOR_REPORT_STATUS_H
#define SUPERVISOR_REPORT_STATUS_H

#include "ipc/buf.h"
#include "ipc/slot_list.h"

/* `budget` stands for the list's where there is no segment, or nobody uses it. */
void status_lines(struct buf *out, const struct slot_list *list, unsigned budget);
/*
 * {"budget":2,"free":1,"held":[{"pid":…,"directory":…,"label":…,"slots":1,"exclusive"?,
 *  "nested"?,"stopped"?,"otherNamespace"?,"since":…}],"waiting":[…]}
 */
void status_json(struct buf *out, const struct slot_list *list, unsigned budget,
		 bool is_line);

#endif
