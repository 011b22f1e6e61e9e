/* SPDX-License-Identifier: MIT */
/* `geonosis verify prove`: each step of a tier watched failing. */
#include <unistd.h>

#include "ipc/buf.h"
#include "supervisor/prove/proof_lines.h"
#include "supervisor/prove/proof_report.h"
#include "supervisor/prove/prove.h"
#include "supervisor/report/lines.h"
#include "tools/cmd.h"
#include "tools/help.h"
#include "tools/opt.h"
#include "tools/outlet.h"

/* Where it is told; a reader that leaves ends no run. */
struct teller {
	bool is_json;
	bool is_gone;
	struct buf line;
};

static void
teller_flush(struct teller *t)
{
	if (!t->is_gone &&
	    outlet_write(STDOUT_FILENO, buf_text(&t->line), t->line.len) < 0)
		t->is_gone = true;
	buf_clear(&t->line);
}

static void
tell_warn(void *ctx, const char *text)
{
	struct teller *t = ctx;

	lines_warn(&t->line, text);
	(void)outlet_write(STDERR_FILENO, buf_text(&t->line), t->line.len);
	buf_clear(&t->line);
}

static void
tell_start(void *ctx, const struct prove_view *v)
{
	struct teller *t = ctx;

	if (t->is_json)
		proof_event_start(v, &t->line);
	else
		lines_budget(&t->line, v->jobs->count, v->jobs->bound);
	teller_flush(t);
}

static void
tell_wait(void *ctx, const struct prove_view *v, size_t step, const char *reason)
{
	struct teller *t = ctx;

	if (t->is_json)
		proof_event_wait(v, step, reason, &t->line);
	else
		lines_wait(&t->line,
			   step != SIZE_MAX ? &v->plan->jobs[v->steps[step].first] : NULL,
			   reason);
	teller_flush(t);
}

static void
tell_step_start(void *ctx, const struct prove_view *v, size_t step)
{
	struct teller *t = ctx;

	if (!t->is_json)
		return;
	proof_event_step_start(v, step, &t->line);
	teller_flush(t);
}

static void
tell_proof(void *ctx, const struct prove_view *v, size_t step)
{
	struct teller *t = ctx;

	if (t->is_json)
		proof_event_step_end(v, step, &t->line);
	else
		proof_lines_step(v, step, &t->line);
	teller_flush(t);
}

static void
tell_end(void *ctx, const struct prove_view *v)
{
	struct teller *t = ctx;

	if (t->is_json) {
		proof_event_end(v, &t->line);
	} else {
		if (v->interrupted != 0)
			lines_interrupted(&t->line, v->interrupted);
		proof_lines_summary(v, &t->line);
	}
	teller_flush(t);
}

static int
prove_tier(const struct opt_args *a, struct error *err)
{
	const struct opt_value *v = a->values;
	struct teller teller = { v[PROVE_JSON].set, false, BUF_INIT };
	const struct prove_observer observer = {
		.ctx = &teller,
		.warn = tell_warn,
		.start = tell_start,
		.wait = tell_wait,
		.step_start = tell_step_start,
		.proof = tell_proof,
		.end = tell_end,
	};
	struct prove_verdict verdict = { false, 0 };
	struct prove_request rq = {
		.only = v[PROVE_ONLY].text,
		.report_path = v[PROVE_REPORT].text,
		.jobs = (unsigned)v[PROVE_JOBS].number,
		.want_baseline = v[PROVE_BASELINE].set,
	};
	int rc;

	if (opt_tier("verify prove", a, &rq.tier, err) < 0)
		return EXIT_REFUSED;
	rc = prove_execute(&rq, &observer, &verdict, err);
	buf_release(&teller.line);
	if (rc < 0)
		return EXIT_REFUSED;
	if (verdict.interrupted != 0)
		return 128 + verdict.interrupted;
	return verdict.ok ? EXIT_GREEN : EXIT_RED;
}

int
cmd_prove(int argc, char *argv[])
{
	const struct command *c = prove_command();
	struct error err = ERROR_INIT;
	struct opt_args args = OPT_ARGS_INIT;
	int code;

	if (opt_parse(c, argc, argv, &args, &err) < 0)
		return cmd_refuse(&err);
	code = args.help ? cmd_usage(c) : prove_tier(&args, &err);
	if (code == EXIT_REFUSED && err.kind != ERROR_NONE)
		code = cmd_refuse(&err);
	opt_args_release(&args);
	return code;
}
