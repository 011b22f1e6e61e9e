/* SPDX-License-Identifier: MIT */
/*
 * Help: the commands there are, their option tables, and the texts about them.
 */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include <stddef.h>

#include "ipc/buf.h"
#include "ipc/error.h"
#include "tools/opt.h"

/* Index of each option of `verify` in opt_args.values. */
enum verify_opt {
	VERIFY_REPORT,
	VERIFY_JOBS,
	VERIFY_ONLY,
	VERIFY_KEEP_GOING,
	VERIFY_DRY_RUN,
	VERIFY_JSON,
	VERIFY_FRESH,
	VERIFY_RETRY,
	VERIFY_AFFECTED,
	VERIFY_SINCE,
	VERIFY_REQUIRE_WORK,
	VERIFY_EXCLUSIVE,
	VERIFY_EXCLUSIVE_TIMEOUT,
	VERIFY_PROVE,
};

enum gate_run_opt {
	GATE_RUN_SLOTS,
	GATE_RUN_EXCLUSIVE,
	GATE_RUN_TIMEOUT,
};

enum gate_status_opt {
	GATE_STATUS_JSON,
	GATE_STATUS_WATCH,
};

/*
 * The command of `geonosis gate` of that name ("run"), or NULL with *err naming the
 * nearest; a NULL name is refused with those there are.
 */
const struct command *gate_command_find(const char *name, struct error *err);

enum green_opt {
	GREEN_ASKED,
};

/* The command of `geonosis verify` of exactly that name ("green"), or NULL. */
const struct command *verify_command(const char *word);
/* `geonosis verify green` itself. */
const struct command *green_command(void);
/* The same for `geonosis verify green`. */
const struct command *green_command_find(const char *name, struct error *err);

/* Index of each option of `verify prove`. */
enum prove_opt {
	PROVE_REPORT,
	PROVE_JOBS,
	PROVE_ONLY,
	PROVE_BASELINE,
	PROVE_JSON,
};

/* `geonosis verify prove`. */
const struct command *prove_command(void);

/* Every command, in the order of the help text. */
const struct command *const *command_list(size_t *ret_ncommands);
/*
 * The command of that name, or NULL with *err (ERROR_USAGE) naming the nearest.  A
 * planned one is found: command_refuse() says that it cannot run.
 */
const struct command *command_find(const char *name, struct error *err);
/*
 * The command that words name, as deep as they go: "gate" "run"; NULL likewise.  At least
 * one word.
 */
const struct command *command_of_words(int nwords, char *const words[],
				       struct error *err);
/* `<command>: not available in this version`; returns -1. */
int command_refuse(const struct command *c, struct error *err);

/* The text of `geonosis help` and `geonosis --help`. */
void help_text(struct buf *out);

#endif
