/* SPDX-License-Identifier: MIT */
#include "supervisor/report/lines.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/supervisor/sample.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DASH "\xe2\x80\x94"
#define DOTS "\xe2\x80\xa6"
#define R "\xef\xbf\xbd"

/* The text so far is as wanted; the buffer is empty afterwards. */
static void
expect_text(struct buf *out, const char *want, size_t i)
{
	cr_expect_str_eq(buf_text(out), want, "case %zu:\n%s\nwanted:\n%s", i,
			 buf_text(out), want);
	buf_clear(out);
}

struct step_case {
	enum sample_job job;
	struct result result;
	const char *lines;
};

#define TEXT(s) ((char[]){ s })

static const struct step_case steps[] = {
	{ SAMPLE_TYPECHECK,
	  { .state = RESULT_DONE, .ok = true, .ms = 2140 },
	  "ok fast/1 pnpm typecheck (2140 ms) (unproven)\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE,
	    .ok = true,
	    .ms = 3,
	    .tail = TEXT("hidden"),
	    .lines = 1,
	    .tail_from = 1,
	    .tail_lines = 1 },
	  "ok fast/2 pnpm lint (3 ms)\n" },
	{ SAMPLE_BUILD, RESULT_INIT, "skip full/2 pnpm build (0 ms)\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE, .exit_code = 7, .ms = 1830 },
	  "FAIL fast/2 pnpm lint (1830 ms)\n"
	  "  no output; exit code 7\n" },
	{ SAMPLE_E2E_1,
	  { .state = RESULT_DONE,
	    .exit_code = 1,
	    .tail = TEXT("red\n\n\tlast"),
	    .lines = 3,
	    .tail_from = 1,
	    .tail_lines = 3,
	    .log = TEXT(".geonosis/logs/full/full-1@1%2F2.log") },
	  "FAIL full/1@1/2 pnpm e2e --shard=1/2 (0 ms) (unproven)\n"
	  "  red\n"
	  "  \n"
	  "  \tlast\n"
	  "  full output: .geonosis/logs/full/full-1@1%2F2.log\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE,
	    .exit_code = 1,
	    .tail = TEXT("MARK\n1"),
	    .lines = 650,
	    .tail_from = 234,
	    .tail_lines = 2 },
	  "FAIL fast/2 pnpm lint (0 ms)\n"
	  "  " DOTS " 233 lines above\n"
	  "  MARK\n"
	  "  1\n"
	  "  " DOTS " 415 lines below\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE,
	    .exit_code = 1,
	    .tail = TEXT("b"),
	    .lines = 3,
	    .tail_from = 2,
	    .tail_lines = 1 },
	  "FAIL fast/2 pnpm lint (0 ms)\n"
	  "  " DOTS " 1 line above\n"
	  "  b\n"
	  "  " DOTS " 1 line below\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE,
	    .exit_code = 137,
	    .signal = SIGKILL,
	    .interrupted = true,
	    .environment = TEXT("read ECONNRESET"),
	    .timed_out = true,
	    .load_average = 3.256,
	    .cores = 2,
	    .leaked = 2,
	    .error = TEXT("the worker was killed") },
	  "FAIL fast/2 pnpm lint (0 ms)\n"
	  "  environment failure, not a code fault: read ECONNRESET\n"
	  "  timed out at load average 3.26 on 2 cores\n"
	  "  killed by SIGKILL\n"
	  "  interrupted before it ended\n"
	  "  error: the worker was killed\n"
	  "  2 processes outlived the step's shell and were ended\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE,
	    .ok = true,
	    .leaked = 1,
	    .log_error = TEXT(".geonosis/logs: not a directory") },
	  "ok fast/2 pnpm lint (0 ms)\n"
	  "  1 process outlived the step's shell and was ended\n"
	  "WARN: log of fast/2: .geonosis/logs: not a directory\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE, .ok = true, .leaked = 3, .stayed = 1 },
	  "ok fast/2 pnpm lint (0 ms)\n"
	  "  3 processes outlived the step's shell and were ended\n"
	  "  1 of them could not be ended (somebody else's, or stuck in the kernel)\n" },
	{ SAMPLE_LINT,
	  { .state = RESULT_DONE,
	    .ok = true,
	    .ran_nothing = TEXT("no workspace is affected") },
	  "ok fast/2 pnpm lint (0 ms) " DASH " ran nothing: no workspace is affected\n" },
};

Test(lines, steps)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(steps); i++) {
		lines_step(&out, &sample_plan()->jobs[steps[i].job], &steps[i].result);
		expect_text(&out, steps[i].lines, i);
	}
	buf_release(&out);
}

struct command_case {
	const char *command, *line;
};

static const struct command_case commands[] = {
	{ "pnpm lint", "pnpm lint" },
	{ "  a\n", "a" },
	{ "a\n\tb", "a\\n b" },
	{ "echo ok\nverify PASS", "echo ok\\nverify PASS" },
	{ "a\x1b[31mb\x7f", "a" R "[31mb" R },
	{ "a\xff"
	  "b",
	  "a" R "b" },
	{ "\xe2\x9c\x93", "\xe2\x9c\x93" },
	{ "", "" },
	{ "\n \t", "" },
};

Test(lines, commands_stay_on_one_line)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < COUNT(commands); i++) {
		lines_command(&out, commands[i].command);
		expect_text(&out, commands[i].line, i);
	}
	buf_release(&out);
}

Test(lines, long_commands_are_cut_between_characters)
{
	enum {
		N = LINES_COMMAND_MAX
	};
	char text[2 * N + 3];
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < N + 1; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 3);
	lines_command(&out, text);
	cr_expect_eq(out.len, 2 * N + strlen(DOTS));
	cr_expect_str_eq(out.data + 2 * N, DOTS);
	buf_clear(&out);
	lines_command(&out, text + 2);
	cr_expect_str_eq(buf_text(&out), text + 2, "one that fits is whole");
	buf_release(&out);
}

Test(lines, a_step_cannot_print_a_line_of_ours)
{
	struct buf out = BUF_INIT;
	struct result r = { .state = RESULT_DONE,
			    .tail = TEXT("verify PASS"),
			    .lines = 1,
			    .tail_from = 1,
			    .tail_lines = 1,
			    .environment = TEXT("ECONNRESET\nverify PASS"),
			    .error = TEXT("x\nok fast/1") };

	lines_step(&out, &sample_plan()->jobs[SAMPLE_LINT], &r);
	cr_expect_null(strstr(buf_text(&out), "\nverify"));
	cr_expect_null(strstr(buf_text(&out), "\nok"));
	buf_release(&out);
}

Test(lines, of_the_run)
{
	struct buf out = BUF_INIT;
	const struct job *job = &sample_plan()->jobs[SAMPLE_LINT];

	lines_budget(&out, 2, "the machine's 2 CPUs");
	lines_budget(&out, 1, "--jobs");
	expect_text(&out,
		    "budget: 2 jobs (the machine's 2 CPUs)\nbudget: 1 job (--jobs)\n", 0);
	lines_retry(&out, job, 1, 2, "read ECONNRESET");
	expect_text(&out,
		    "retry fast/2 (1 of 2): environment failure, not a code fault: read "
		    "ECONNRESET\n",
		    1);
	lines_wait(&out, job, "a slot, held by pid 12");
	lines_wait(&out, NULL, "pid 13");
	expect_text(&out, "wait fast/2: a slot, held by pid 12\nwait: pid 13\n", 2);
	lines_interrupted(&out, SIGINT);
	expect_text(&out, "interrupted by SIGINT\n", 3);
	lines_warn(&out, "geonosis.json:3:2: \"budgts\"\nis no key");
	expect_text(&out, "WARN: geonosis.json:3:2: \"budgts\"\\nis no key\n", 4);
	lines_verdict(&out, "fast", true, ".geonosis/gate-report.json", NULL);
	expect_text(&out,
		    "verify PASS " DASH " fast " DASH " .geonosis/gate-report.json\n", 5);
	lines_verdict(&out, "fast", false, "my report.json", "2 test files known green");
	expect_text(&out,
		    "verify FAIL " DASH " fast " DASH
		    " my report.json (2 test files known green)\n",
		    6);
	buf_release(&out);
}

Test(lines, over_budget)
{
	struct buf out = BUF_INIT;

	lines_over_budget(&out, "fast", -1, 5);
	lines_over_budget(&out, "fast", 5, 5);
	expect_text(&out, "", 0);
	lines_over_budget(&out, "fast", 5, 6);
	expect_text(&out,
		    "WARN: fast took 6 ms, over its budget of 5 ms (D-042); the verdict "
		    "stands\n",
		    1);
	buf_release(&out);
}

Test(lines, legend_names_each_step_once)
{
	struct result results[SAMPLE_JOBS];
	struct buf out = BUF_INIT;

	sample_results(results);
	lines_legend(&out, sample_plan(), results);
	expect_text(&out, "", 0);
	results[SAMPLE_LINT].state = RESULT_DONE;
	lines_legend(&out, sample_plan(), results);
	expect_text(&out, "", 1);
	results[SAMPLE_E2E_2].state = RESULT_DONE;
	lines_legend(&out, sample_plan(), results);
	expect_text(&out,
		    "(unproven): nobody has watched these steps fail; declare proves: "
		    "{ plant, expect } at verify.fast[0].proves, "
		    "verify.full[0].parallel[1].proves, verify.full[1].proves\n",
		    2);
	buf_release(&out);
}

Test(lines, dry_run)
{
	struct buf out = BUF_INIT;

	lines_plan(&out, sample_plan());
	expect_text(&out,
		    "plan of full: 5 jobs, none is run\n"
		    "  at once:\n"
		    "    in order:\n"
		    "      fast/1 pnpm typecheck\n"
		    "      fast/2 pnpm lint\n"
		    "    at once:\n"
		    "      full/1@1/2 pnpm e2e --shard=1/2\n"
		    "      full/1@2/2 pnpm e2e --shard=2/2\n"
		    "  full/2 pnpm build\n"
		    "fast: already planned above, runs once (named again in full)\n",
		    0);
	buf_release(&out);
}
