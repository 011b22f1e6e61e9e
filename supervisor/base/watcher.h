/* SPDX-License-Identifier: MIT */
/*
 * Watcher: reads a step's output line by line as it passes, and keeps what a
 * report needs of it, in bounded memory whatever is printed: the last lines, the
 * lines from the first failure on, network failures, test runners' timeouts,
 * and (for prove) whether a text occurred.
 *
 * It is a worker's `struct watch`: feed and end run in the worker, a fork.  Its
 * findings lie in a mapping that the supervisor makes before the fork and reads
 * after the worker has ended; a worker that was killed leaves there what it had.
 */
#ifndef SUPERVISOR_BASE_WATCHER_H
#define SUPERVISOR_BASE_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/error.h"
#include "worker/watch.h"

enum {
	WATCHER_TAIL_LINES = 40,
	WATCHER_LINE_BYTES = 4096,   /* of a line that is shown */
	WATCHER_MATCH_BYTES = 65536, /* of a line that patterns look at */
};

struct watcher; /* one job's; process memory and shared findings */
struct pattern; /* supervisor/base/pattern.h */

/*
 * A watcher for one job.  `mark` (NULL: none) is the step's failureMark,
 * borrowed; `expect` (NULL: none) a plain text to look for, borrowed: in the bytes
 * as they were printed, and in the lines as they are shown, joined with \n, so that
 * colours in the middle do not hide it.  Makes the shared mapping; fails only when
 * the kernel refuses it.
 *
 * A mark that costs too much is given up: after 64 lines that met its match limit, or
 * when reading has taken more than 2 s of processor time and 50 ns for each byte.
 */
int watcher_new(const struct pattern *mark, const char *expect,
		struct watcher **ret_watcher, struct error *err);
/* Ready for another job or attempt, findings forgotten. Call before the fork. */
void watcher_reset(struct watcher *w, const struct pattern *mark, const char *expect);
/* The worker's view; valid as long as the watcher. */
struct watch watcher_watch(struct watcher *w);
void watcher_free(struct watcher *w);

/* What was seen; read in the supervisor.  Strings are the caller's to free. */
struct findings {
	uint64_t lines; /* printed; an unfinished last one counts if it shows anything */
	char *tail;	/* lines joined with \n, no final one; "" for no output */
	uint64_t tail_from;  /* number, from 1, of the tail's first line; 0: no line */
	uint64_t tail_lines; /* how many lines the tail has */
	char *environment;   /* first line that tells a network failure, or NULL */
	bool timed_out;	     /* a test runner's own timeout message occurred */
	bool expected;	     /* `expect` occurred */
};

/*
 * `red` chooses the tail's window: the last 40 lines; for a red the 40 from the
 * first match of the mark; else the 40 from the first line that looks like an
 * error if that stands earlier than the last 40.
 */
void watcher_findings(const struct watcher *w, bool red, struct findings *ret_findings);
/*
 * The last line that is not blank seen so far, sanitised, for a live display: at most
 * size - 1 bytes, "" when there is none.  May be called while the worker runs.
 */
void watcher_last_line(const struct watcher *w, char *text, size_t size);
void findings_release(struct findings *f);

#endif
