/* SPDX-License-Identifier: MIT */
/*
 * Proof lines: what prove says on stdout, for people and for grep.  Each function appends
 * whole lines, plain text.
 */
#ifndef SUPERVISOR_PROVE_PROOF_LINES_H
#define SUPERVISOR_PROVE_PROOF_LINES_H

#include "ipc/buf.h"
#include "supervisor/prove/prove.h"

/* As they are shown: of the step's one job; of the step, where it has several. */
const char *proof_step_id(const struct prove_view *v, size_t step);
const char *proof_step_command(const struct prove_view *v, size_t step);

/*
 * The line of a step; under NOT PROVEN the tail of the command that decided.  One that
 * was not run is a `skip` line.
 */
void proof_lines_step(const struct prove_view *v, size_t step, struct buf *out);
/* `prove fast: 1 proven, 1 unproven, 0 not proven` */
void proof_lines_summary(const struct prove_view *v, struct buf *out);
/* `1.2 MB` */
void proof_lines_size(uint64_t bytes, struct buf *out);

#endif
