/* SPDX-License-Identifier: MIT */
/*
 * Clocks.  Durations and deadlines are monotonic milliseconds, so that a clock
 * that jumps changes none of them; wall time is only for people.
 */
#ifndef IPC_CLOCK_H
#define IPC_CLOCK_H

#include <stdint.h>

enum {
	CLOCK_TEXT_SIZE = 32
};

/* Milliseconds of CLOCK_MONOTONIC (standing still while suspended). */
int64_t clock_now_ms(void);
/* Milliseconds since the epoch. */
int64_t clock_wall_ms(void);
/* UTC as `2026-10-14T10:12:03.000Z`; returns `text`. */
const char *clock_to_text(int64_t wall_ms, char text[CLOCK_TEXT_SIZE]);
/*
 * Poll timeout until a deadline of clock_now_ms(): 0 when it is past, -1 (for
 * ever) for a negative deadline.
 */
int clock_timeout_ms(int64_t deadline_ms);

#endif
