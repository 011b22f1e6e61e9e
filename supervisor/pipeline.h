/* SPDX-License-Identifier: MIT */
/*
 * Pipeline: what `geonosis verify <tier>` does, in order.
 *
 *   load -> resolve -> plan -> place of the report -> turn -> exclusive lock -> run ->
 * report
 *
 * Nothing is written before every refusal has been decided.
 */
#ifndef SUPERVISOR_PIPELINE_H
#define SUPERVISOR_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/error.h"
#include "supervisor/base/result.h"
#include "supervisor/green/key.h"
#include "supervisor/green/record.h"
#include "supervisor/plan/plan.h"
#include "supervisor/report/report.h"
#include "supervisor/run/jobs.h"
#include "supervisor/run/run.h"

/* What is asked; everything is borrowed. */
struct pipeline_request {
	const char *tier;  /* NULL: none was named, which is refused */
	const char *only;  /* an id, or NULL: the whole tier */
	bool affected;	   /* leave out workspaces that no change reaches */
	const char *since; /* a ref to hold the tree against, or NULL; implies affected */
	bool require_work; /* fail where code changed and no test runner ran a test */
	const char *report_path; /* NULL: REPORT_PATH */
	unsigned jobs;		 /* --jobs, 0: not given */
	unsigned retries;
	bool keep_going;
	bool fresh;		   /* run it whatever is recorded */
	const char *version;	   /* the program's, part of the key */
	bool exclusive;		   /* take the whole machine */
	int64_t exclusive_wait_ms; /* for so long at most */
	bool plan_only;		   /* a dry run: ends after the plan was told */
};

/* A run as its observer sees it; everything is borrowed and lives until end has returned.
 */
struct pipeline_view {
	const struct plan *plan;
	const struct scope *scope;
	const struct key *key;
	const struct jobs *jobs;
	const struct report *report;
	const struct result *results;
	const char *report_path; /* absolute where it can be */
	int64_t ms;		 /* of the whole run, at its end */
};

/* Told as it goes; members may be NULL. */
struct pipeline_observer {
	void *ctx;
	void (*warn)(void *ctx, const char *text);
	/* The run, or one job of it (SIZE_MAX: the run), waits; `reason` says for what
	 * and whom. */
	void (*wait)(void *ctx, const struct pipeline_view *v, size_t job,
		     const char *reason);
	/* The tier is green on this tree already: its report was written, nothing
	 * follows. */
	void (*green)(void *ctx, const struct pipeline_view *v, const struct record *r);
	/* Of a dry run; nothing follows. */
	void (*plan)(void *ctx, const struct pipeline_view *v);
	void (*start)(void *ctx, const struct pipeline_view *v);
	void (*job_start)(void *ctx, const struct pipeline_view *v, size_t job,
			  unsigned attempt);
	void (*job_retry)(void *ctx, const struct pipeline_view *v, size_t job,
			  const struct result *r, unsigned retry, unsigned limit);
	void (*job_end)(void *ctx, const struct pipeline_view *v, size_t job,
			const struct result *r);
	/* Every tick_ms, where it is not 0: what is under way. */
	int tick_ms;
	void (*tick)(void *ctx, const struct pipeline_view *v,
		     const struct run_activity *activities, size_t n);
	/* The report has been written. */
	void (*end)(void *ctx, const struct pipeline_view *v);
};

struct pipeline_verdict {
	bool ok;
	int interrupted; /* the signal that ended the run, 0: none */
};

/*
 * Verify a tier of the working directory's geonosis.json.  Fails where it refuses, and
 * where the report could not be written, whatever the steps did.
 */
int pipeline_verify(const struct pipeline_request *rq, const struct pipeline_observer *o,
		    struct pipeline_verdict *ret_verdict, struct error *err);

#endif
