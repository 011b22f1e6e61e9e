/* SPDX-License-Identifier: MIT */
#include "supervisor/report/report.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/fd.h"
#include "tests/supervisor/sample.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* 2026-10-14T10:12:03.000Z */
static const int64_t started = INT64_C(1791972723000);

/* The golden file, byte for byte. */
static void
expect_golden(const char *name, const struct buf *got)
{
	struct buf want = BUF_INIT;
	struct error err = ERROR_INIT;
	char path[256];

	(void)snprintf(path, sizeof(path), "../data/%s", name);
	cr_assert_eq(file_read(path, 1 << 20, &want, &err), 0, "%s", err.text);
	cr_expect_str_eq(buf_text(got), buf_text(&want), "%s differs:\n%s", name,
			 buf_text(got));
	buf_release(&want);
}

static void
set_text(char **at, const char *s)
{
	*at = strdup(s);
}

/* Every optional field stands somewhere. */
static void
results_full(struct result r[static SAMPLE_JOBS])
{
	sample_results(r);
	r[SAMPLE_TYPECHECK] = (struct result){ .state = RESULT_DONE,
					       .ok = true,
					       .ms = 2140,
					       .lines = 95,
					       .tail_from = 94,
					       .tail_lines = 2,
					       .retried = 1,
					       .leaked = 2,
					       .slot_wait_ms = 12 };
	set_text(&r[SAMPLE_TYPECHECK].tail, "src/a.ts \xe2\x9c\x93\n\tdone/\"x\"");
	r[SAMPLE_LINT] = (struct result){ .state = RESULT_DONE,
					  .exit_code = 1,
					  .ms = 1830,
					  .lines = 1,
					  .tail_from = 1,
					  .tail_lines = 1,
					  .timed_out = true,
					  .load_average = 4.1,
					  .cores = 2,
					  .slot_wait_ms = -1 };
	set_text(&r[SAMPLE_LINT].tail, "read ECONNRESET");
	set_text(&r[SAMPLE_LINT].log, ".geonosis/logs/full/fast-2.log");
	set_text(&r[SAMPLE_LINT].environment, "read ECONNRESET");
	r[SAMPLE_E2E_1] = (struct result){ .state = RESULT_DONE,
					   .exit_code = 137,
					   .ms = 5,
					   .signal = SIGKILL,
					   .interrupted = true,
					   .slot_wait_ms = -1 };
	r[SAMPLE_E2E_2] =
	    (struct result){ .state = RESULT_DONE, .ok = true, .slot_wait_ms = -1 };
	set_text(&r[SAMPLE_E2E_2].ran_nothing, "no workspace is affected");
	r[SAMPLE_BUILD] =
	    (struct result){ .state = RESULT_DONE, .exit_code = -1, .slot_wait_ms = -1 };
	set_text(&r[SAMPLE_BUILD].error, "the worker was killed");
}

static void
results_release(struct result r[static SAMPLE_JOBS])
{
	for (size_t i = 0; i < SAMPLE_JOBS; i++)
		result_release(&r[i]);
}

Test(report, every_field)
{
	struct report rep = { .tier = "full",
			      .started_ms = started,
			      .finished_ms = started + 4500,
			      .budget_ms = 150000,
			      .inputs = "3f2a91c0d4e7",
			      .interrupted = SIGINT,
			      .replayed = true };
	struct result results[SAMPLE_JOBS];
	struct buf out = BUF_INIT;

	results_full(results);
	report_format(&rep, sample_plan(), results, &out);
	expect_golden("report-every-field.json", &out);
	buf_release(&out);
	results_release(results);
}

Test(report, stopped_at_the_first_red)
{
	struct report rep = REPORT_INIT;
	struct result results[SAMPLE_JOBS];
	struct buf out = BUF_INIT;

	rep.tier = "full";
	rep.started_ms = started;
	rep.finished_ms = started + 1;
	sample_results(results);
	results[0] = (struct result){
		.state = RESULT_DONE, .exit_code = 1, .ms = 1, .slot_wait_ms = -1
	};
	report_format(&rep, sample_plan(), results, &out);
	expect_golden("report-first-red.json", &out);
	buf_release(&out);
}

Test(report, unfinished_is_never_green)
{
	struct report rep = REPORT_INIT;
	struct result results[SAMPLE_JOBS];
	struct buf with = BUF_INIT, without = BUF_INIT;

	rep.tier = "full";
	rep.started_ms = started;
	rep.ok = true;
	rep.unfinished = true;
	results_full(results);
	report_format(&rep, sample_plan(), results, &with);
	report_format(&rep, sample_plan(), NULL, &without);
	expect_golden("report-unfinished.json", &with);
	expect_golden("report-unfinished.json", &without);
	buf_release(&with);
	buf_release(&without);
	results_release(results);
}

struct signal_case {
	int signal; /* negative: from SIGRTMIN */
	const char *name;
};

static const struct signal_case signals[] = {
	{ SIGKILL, "SIGKILL" }, { SIGSEGV, "SIGSEGV" },		{ SIGTERM, "SIGTERM" },
	{ -1, "SIGRTMIN" },	{ -4, "SIGRTMIN+3" },		{ 0, "SIG0" },
	{ 1000, "SIG1000" },	{ INT32_MAX, "SIG2147483647" },
};

Test(report, signal_names)
{
	char text[16];

	for (size_t i = 0; i < COUNT(signals); i++) {
		int n = signals[i].signal < 0 ? SIGRTMIN - signals[i].signal - 1
					      : signals[i].signal;

		cr_expect_str_eq(signal_to_text(n, text), signals[i].name);
	}
}
