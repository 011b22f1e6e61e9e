/* SPDX-License-Identifier: MIT */
/*
 * Lines: what a run says on stdout, for people and for grep.  Each function appends
 * whole lines, plain text, without colour.
 *
 * A run prints: lines_budget; lines_step as each step ends (lines_retry and
 * lines_wait between); lines_step for each skipped step; lines_interrupted and
 * lines_over_budget where they apply; lines_legend; lines_verdict.
 */
#ifndef SUPERVISOR_REPORT_LINES_H
#define SUPERVISOR_REPORT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "supervisor/base/result.h"
#include "supervisor/plan/plan.h"

enum {
	LINES_COMMAND_MAX = 400 /* characters of a command that are shown */
};

/*
 * A command on one line: surrounding blanks dropped, newlines as `\n`, tabs as a
 * space, other controls as U+FFFD, cut with an ellipsis past LINES_COMMAND_MAX.
 */
void lines_command(struct buf *out, const char *command);

/* A job's id, likewise: it holds a workspace's path. */
void lines_id(struct buf *out, const struct job *job);

/*
 * `budget: 2 jobs (<bound>)`: what bound the number, as "--jobs", "GEONOSIS_JOBS",
 * "caps.heavy", "GEONOSIS_HEAVY_SLOTS" or "the machine's 2 CPUs".
 */
void lines_budget(struct buf *out, unsigned jobs, const char *bound);
/*
 * The line of a job that ended or was skipped; under a FAIL its tail, where the
 * whole output is, and the notes.  A log that could not be written is a WARN line,
 * whatever the verdict.
 */
void lines_step(struct buf *out, const struct job *job, const struct result *r);
/* That WARN line alone; nothing where the log was written. */
void lines_log_error(struct buf *out, const struct job *job, const struct result *r);
/* A tail as it stands under a FAIL, and how many lines stand above and below. */
struct tail {
	const char *text;   /* NULL is "" */
	uint64_t from;	    /* number, from 1, of its first line; 0: no tail */
	uint64_t lines;	    /* in it */
	uint64_t all_lines; /* of the output */
};
void lines_tail(struct buf *out, const struct tail *t);
/* Before attempt `retry` of at most `limit` re-runs; `line` told the network failure. */
void lines_retry(struct buf *out, const struct job *job, unsigned retry, unsigned limit,
		 const char *line);
/* `job` (NULL: the run itself) waits; `reason` says for what and whom. */
void lines_wait(struct buf *out, const struct job *job, const char *reason);
/* `interrupted by SIGINT` */
void lines_interrupted(struct buf *out, int signal);
/* One WARN line when `ms` is over a budget that is not -1; else nothing. */
void lines_over_budget(struct buf *out, const char *tier, int64_t budget_ms, int64_t ms);
/*
 * When a step that ran is unproven: one line that lists the place of each missing
 * `proves` in the plan; else nothing.
 */
void lines_legend(struct buf *out, const struct plan *p, const struct result *results);
/*
 * `verify PASS — fast — <path>`, and ` (<note>)` where the note is not NULL.
 */
void lines_verdict(struct buf *out, const char *tier, bool ok, const char *report_path,
		   const char *note);
/*
 * `green fast already green on this tree 3f2a91c0d4e7 since <time> (<flags>) — nothing
 * re-run; --fresh runs it again`; no parenthesis for flags of "".
 */
void lines_green(struct buf *out, const char *tier, const char *inputs, const char *since,
		 const char *flags);
/* Why a run without a red step is red: nothing was tested although code changed. */
void lines_work_missing(struct buf *out, const char *path);
/* Of a dry run: `git was asked about this tree: <why>`. */
void lines_asked(struct buf *out, const char *why);
/* `geonosis: <text>`, on one line: it may name what a repository holds. */
void lines_error(struct buf *out, const char *text);
/* `WARN: <text>`, on one line. */
void lines_warn(struct buf *out, const char *text);
/*
 * Of a run that was to be narrowed: how many workspaces, against what, and why each or
 * all or none.
 */
void lines_scope(struct buf *out, const struct scope *s);
/* The plan of a dry run. */
void lines_plan(struct buf *out, const struct plan *p);

#endif
