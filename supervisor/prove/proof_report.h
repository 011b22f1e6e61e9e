/* SPDX-License-Identifier: MIT */
/*
 * Proof report: a run of prove as the JSON that tools read, whole and event by event.
 *
 *   {"event":"start","tier":…,"startedAt":…,"jobs":2,"steps":[{"id":…,"command":…},…]}
 *   {"event":"wait","id":…,"reason":…}
 *   {"event":"step-start","id":…,"command":…}
 *   {"event":"step-end", <the step as in the report>}     unproven steps too
 *   {"event":"end", <the whole report>,"report":<its path>}
 */
#ifndef SUPERVISOR_PROVE_PROOF_REPORT_H
#define SUPERVISOR_PROVE_PROOF_REPORT_H

#include "ipc/buf.h"
#include "supervisor/prove/prove.h"

/* Each appends one JSON text and a newline. */
void proof_report_format(const struct prove_view *v, struct buf *out);
void proof_event_start(const struct prove_view *v, struct buf *out);
void proof_event_wait(const struct prove_view *v, size_t step, const char *reason,
		      struct buf *out);
void proof_event_step_start(const struct prove_view *v, size_t step, struct buf *out);
void proof_event_step_end(const struct prove_view *v, size_t step, struct buf *out);
void proof_event_end(const struct prove_view *v, struct buf *out);

#endif
