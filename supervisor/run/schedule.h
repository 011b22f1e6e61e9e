/* SPDX-License-Identifier: MIT */
/*
 * Schedule: which job of a plan may start next.  Pure: it knows no process and no
 * time.
 *
 * In a sequence only the first child with work left may run; in a group every
 * child may.  Among those that may, plan order decides.
 */
#ifndef SUPERVISOR_RUN_SCHEDULE_H
#define SUPERVISOR_RUN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/plan/plan.h"

struct schedule;

/* Borrows the plan. */
struct schedule *schedule_new(const struct plan *p);
/* The next job that may start; it counts as started.  False: none now. */
bool schedule_next(struct schedule *s, size_t *ret_job);
/* A started job has ended: what waits for it in a sequence may start. */
void schedule_done(struct schedule *s, size_t job);
/* Jobs that were never started. */
size_t schedule_left(const struct schedule *s);
void schedule_free(struct schedule *s);

#endif
