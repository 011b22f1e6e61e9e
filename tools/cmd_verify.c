/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/pipeline.h"
#include "supervisor/prove/self.h"
#include "tools/cmd.h"
#include "tools/console.h"
#include "tools/help.h"
#include "tools/opt.h"

/* How long --exclusive waits where --exclusive-timeout says nothing. */
enum {
	EXCLUSIVE_WAIT_S = 1800
};

/* It proves the program, not a tier: who names one means another command. */
static int
self_check(const struct command *c, const struct opt_args *a, struct error *err)
{
	size_t i;

	if (a->noperands > 0)
		return error_set(err, ERROR_USAGE,
				 "verify: --prove takes no tier; `geonosis verify prove "
				 "%.100s` watches the steps of one fail",
				 a->operands[0]);
	for (i = 0; i < c->nopts; i++)
		if (a->values[i].set && i != VERIFY_PROVE)
			return error_set(err, ERROR_USAGE,
					 "verify: --prove stands alone: --%s means "
					 "nothing to it",
					 c->opts[i].name);
	return 0;
}

static int
verify_self(const struct command *c, const struct opt_args *a, struct error *err)
{
	struct buf why = BUF_INIT;
	bool is_proven = false;
	int code = EXIT_REFUSED;

	if (self_check(c, a, err) < 0)
		goto out;
	if (self_prove(&is_proven, &why, err) < 0)
		goto out;
	if (is_proven) {
		(void)puts("PROVEN \xe2\x80\x94 a planted \"exit 3\" step reached the "
			   "report and exited 1");
		code = cmd_flush(EXIT_GREEN);
	} else {
		(void)printf("NOT PROVEN \xe2\x80\x94 a planted \"exit 3\" step: %s\n",
			     buf_text(&why));
		code = cmd_flush(EXIT_RED);
	}
out:
	buf_release(&why);
	return code;
}

static int
verify_tier(const struct opt_args *a, struct error *err)
{
	const struct opt_value *v = a->values;
	struct pipeline_observer observer;
	struct console console;
	struct pipeline_verdict verdict = { false, 0 };
	struct pipeline_request rq = {
		.only = v[VERIFY_ONLY].text,
		.report_path = v[VERIFY_REPORT].text,
		.jobs = (unsigned)v[VERIFY_JOBS].number,
		.retries = (unsigned)v[VERIFY_RETRY].number,
		.keep_going = v[VERIFY_KEEP_GOING].set,
		.plan_only = v[VERIFY_DRY_RUN].set,
		.affected = v[VERIFY_AFFECTED].set || v[VERIFY_SINCE].set,
		.since = v[VERIFY_SINCE].text,
		.require_work = v[VERIFY_REQUIRE_WORK].set,
		.fresh = v[VERIFY_FRESH].set,
		.version = GEONOSIS_VERSION,
		.exclusive = v[VERIFY_EXCLUSIVE].set,
		.exclusive_wait_ms = EXCLUSIVE_WAIT_S * INT64_C(1000),
	};
	int rc;

	if (opt_tier("verify", a, &rq.tier, err) < 0)
		return EXIT_REFUSED;
	if (v[VERIFY_EXCLUSIVE_TIMEOUT].set)
		rq.exclusive_wait_ms = v[VERIFY_EXCLUSIVE_TIMEOUT].number * 1000;
	/* From the first warning on: a reader that leaves ends no run. */
	(void)signal(SIGPIPE, SIG_IGN);
	console_open(&console, v[VERIFY_JSON].set);
	observer = console_observer(&console);
	rc = pipeline_verify(&rq, &observer, &verdict, err);
	console_release(&console);
	/* A plan is there to be read; a run has its report and its code. */
	if (rc == 0 && rq.plan_only && console.lost != 0) {
		errno = console.lost;
		rc = error_system(err, "standard output");
	}
	if (rc < 0)
		return EXIT_REFUSED;
	if (verdict.interrupted != 0)
		return 128 + verdict.interrupted;
	return verdict.ok ? EXIT_GREEN : EXIT_RED;
}

int
cmd_verify(int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c = command_find("verify", &err);
	struct opt_args args = OPT_ARGS_INIT;
	int code = EXIT_REFUSED;

	/* No tier can have those names. */
	if (argc > 0 && strcmp(argv[0], "green") == 0)
		return cmd_green(argc - 1, argv + 1);
	if (argc > 0 && strcmp(argv[0], "prove") == 0)
		return cmd_prove(argc - 1, argv + 1);
	if (argc > 0 && verify_command(argv[0]) != NULL)
		return cmd_planned(verify_command(argv[0]), argc - 1, argv + 1);
	if (c == NULL || opt_parse(c, argc, argv, &args, &err) < 0)
		return cmd_refuse(&err);
	if (args.help) {
		code = cmd_usage(c);
	} else if (args.values[VERIFY_PROVE].set) {
		code = verify_self(c, &args, &err);
	} else {
		code = verify_tier(&args, &err);
	}
	if (code == EXIT_REFUSED && err.kind != ERROR_NONE)
		code = cmd_refuse(&err);
	opt_args_release(&args);
	return code;
}
