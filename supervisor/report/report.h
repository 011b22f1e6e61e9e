/* SPDX-License-Identifier: MIT */
/*
 * Report: plan and results as the JSON that hooks and CI read.
 */
#ifndef SUPERVISOR_REPORT_REPORT_H
#define SUPERVISOR_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "supervisor/base/result.h"
#include "supervisor/plan/plan.h"

#define REPORT_PATH ".geonosis/gate-report.json"

struct json_object;

/* What is said of the run as a whole; strings are borrowed. */
struct report {
	const char *tier;
	int64_t started_ms;  /* wall clock */
	int64_t finished_ms; /* wall clock; not read when unfinished */
	bool ok;
	int64_t budget_ms;  /* -1: none */
	const char *inputs; /* the key of the tree, or NULL */
	const struct scope
	    *scope; /* of a run that was narrowed, or asked to be; or NULL */
	const char
	    *work_missing; /* code that changed while every test runner ran nothing */
	int interrupted;   /* the signal that ended the run, 0: none */
	bool unfinished;   /* written at the start: not ok, every step skipped */
	bool replayed;	   /* answered from a record */
};

#define REPORT_INIT             \
	{                       \
		.budget_ms = -1 \
	}

/* The signal's name as reports have it: "SIGKILL", "SIGRTMIN+3". */
const char *signal_to_text(int signal, char text[static 16]);

/*
 * Append the report of a run.  `results` has one item a job, in plan order; NULL
 * stands for "none ran".
 */
void report_format(const struct report *r, const struct plan *p,
		   const struct result *results, struct buf *out);
/* The same as a value that the caller puts. */
struct json_object *report_to_json(const struct report *r, const struct plan *p,
				   const struct result *results);
/* Which workspaces a narrowed run covers, and why: its `affected`. */
struct json_object *report_scope_to_json(const struct scope *s);
/* One step of it. */
struct json_object *report_step_to_json(const struct job *job, const struct result *r);

#endif
