/* SPDX-License-Identifier: MIT */
#include "tools/help.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/base/text.h"

/* A table, two lines a row. */
/* clang-format off */
static const struct opt verify_opts[] = {
	/* name, letter, kind, its value, planned, help */
	[VERIFY_REPORT] = { "report", 0, OPT_STRING, "<path>", false,
	    "where the report goes (.geonosis/gate-report.json)" },
	[VERIFY_JOBS] = { "jobs", 'j', OPT_COUNT, "<n>", false,
	    "run at most n steps at once (GEONOSIS_JOBS, else what the machine can carry)" },
	[VERIFY_ONLY] = { "only", 0, OPT_ONE, "<id>", false,
	    "run one step, fast/2, or one of its jobs, full/4@1/2; records nothing" },
	[VERIFY_KEEP_GOING] = { "keep-going", 'k', OPT_FLAG, NULL, false,
	    "run every step, whatever is red" },
	[VERIFY_DRY_RUN] = { "dry-run", 'n', OPT_FLAG, NULL, false,
	    "print the plan and run nothing" },
	[VERIFY_JSON] = { "json", 0, OPT_FLAG, NULL, false,
	    "print one event a line as JSON, and nothing else" },
	[VERIFY_FRESH] = { "fresh", 0, OPT_FLAG, NULL, false,
	    "run the tier even if it is recorded green on this tree" },
	[VERIFY_RETRY] = { "retry-environment-failures", 0, OPT_NUMBER, "<n>", false,
	    "run a step again, up to n times, when the network made it red (0)" },
	[VERIFY_AFFECTED] = { "affected", 0, OPT_FLAG, NULL, false,
	    "run per-workspace steps only where something changed since the mark" },
	[VERIFY_SINCE] = { "since", 0, OPT_STRING, "<ref>", false,
	    "as --affected, against this ref" },
	[VERIFY_REQUIRE_WORK] = { "require-work", 0, OPT_FLAG, NULL, false,
	    "fail when code changed and no test runner ran a test" },
	[VERIFY_EXCLUSIVE] = { "exclusive", 0, OPT_FLAG, NULL, false,
	    "take every slot of the machine for this run" },
	[VERIFY_EXCLUSIVE_TIMEOUT] = { "exclusive-timeout", 0, OPT_SECONDS, "<seconds>", false,
	    "how long --exclusive waits for the machine (1800)" },
	[VERIFY_PROVE] = { "prove", 0, OPT_FLAG, NULL, false,
	    "run a planted red in a throwaway directory and check that it is reported" },
};
/* clang-format on */

/* clang-format off */
static const struct opt gate_run_opts[] = {
	[GATE_RUN_SLOTS] = { "slots", 0, OPT_COUNT, "<n>", false,
	    "hold n slots, all of them before the command starts (1)" },
	[GATE_RUN_EXCLUSIVE] = { "exclusive", 0, OPT_FLAG, NULL, false,
	    "hold the whole machine" },
	[GATE_RUN_TIMEOUT] = { "timeout", 0, OPT_SECONDS, "<seconds>", false,
	    "give up where the slots are not free by then (wait for ever)" },
};

static const struct opt gate_status_opts[] = {
	[GATE_STATUS_JSON] = { "json", 0, OPT_FLAG, NULL, false,
	    "print JSON" },
	[GATE_STATUS_WATCH] = { "watch", 0, OPT_FLAG, NULL, false,
	    "print it again and again, until interrupted" },
};

static const struct command gate_commands[] = {
	{ .name = "gate run", .operands = "-- <command> ...", .operand = OPERAND_COMMAND,
	  .summary = "run a command on slots",
	  .about = "Waits for slots, runs the command on them, and gives them back when it ends.\n"
	           "The command keeps the terminal, stdio and signals.\n"
	           "\n"
	           "Exit status: the command's own (126, 127 and 128 + n as a shell has them);\n"
	           "2 refused, or the slots were not free in time.\n",
	  .opts = gate_run_opts, .nopts = sizeof(gate_run_opts) / sizeof(gate_run_opts[0]) },
	{ .name = "gate status", .operands = "",
	  .summary = "say who holds slots and who waits",
	  .about = "Says how many slots there are, who holds them and who waits, in the order\n"
	           "in which they are served.\n",
	  .opts = gate_status_opts,
	  .nopts = sizeof(gate_status_opts) / sizeof(gate_status_opts[0]) },
	{ .name = "gate budget", .operands = "[<n>]",
	  .summary = "say or set how many slots there are",
	  .about = "Sets how many slots this user's runs share on this machine, and keeps it in\n"
	           "geonosis/gate.json of the user's config directory. Without a number it says\n"
	           "how many there are and what made them that many.\n" },
	{ .name = "gate daemon", .operands = "",
	  .summary = "answer for every run of a tree",
	  .about = "Runs a tier once for every verify over the same tree.\n",
	  .planned = true },
};

static const struct opt prove_opts[] = {
	[PROVE_REPORT] = { "report", 0, OPT_STRING, "<path>", false,
	    "where the report goes (.geonosis/prove-report.json)" },
	[PROVE_JOBS] = { "jobs", 'j', OPT_COUNT, "<n>", false,
	    "watch at most n steps at once (GEONOSIS_JOBS, else what the machine can carry)" },
	[PROVE_ONLY] = { "only", 0, OPT_ONE, "<id>", false,
	    "watch one step, fast/2, or one of its jobs, full/4@1/2" },
	[PROVE_BASELINE] = { "baseline", 0, OPT_FLAG, NULL, false,
	    "run each step before its plant too: one that is red then proves nothing" },
	[PROVE_JSON] = { "json", 0, OPT_FLAG, NULL, false,
	    "print one event a line as JSON, and nothing else" },
};

static const struct opt green_opts[] = {
	[GREEN_ASKED] = { "asked", 0, OPT_STRING, "<question>", false,
	    "what the tool was asked; a record answers only the same question" },
};

static const struct command green_commands[] = {
	{ .name = "verify green record", .operands = "<name>",
	  .summary = "record a tool's own green of this tree",
	  .about = "Records that a tool found this very tree good, for the tool to ask for later.\n"
	           "It makes no tier green.\n",
	  .opts = green_opts, .nopts = 1 },
	{ .name = "verify green check", .operands = "<name>",
	  .summary = "print a tool's green while it holds",
	  .about = "Prints the record and exits 0 while tree and question are those that it was\n"
	           "made of, else 1.\n",
	  .opts = green_opts, .nopts = 1 },
	{ .name = "verify green tier", .operands = "<tier>", .operand = OPERAND_TIER,
	  .summary = "say whether a tier is recorded green on this tree",
	  .about = "Exits 0 where a run of the tier is recorded green on this very tree, else 1.\n"
	           "Nothing is run.\n" },
};

static const struct command verify_commands[] = {
	{ .name = "verify prove", .operands = "<tier>", .operand = OPERAND_TIER,
	  .summary = "watch each step of a tier fail on what it is there to catch",
	  .about = "For each step of the tier that declares proves: a copy of the tree, the plant\n"
	         "run in it, then the step, which has to fail and to say what is expected.\n"
	         "The tree itself is not touched.\n"
	         "\n"
	         "Exit status: 0 no step is not proven; 1 one is; 2 refused, or the report\n"
	         "could not be written; 128 + n ended by signal n.\n",
	  .opts = prove_opts, .nopts = sizeof(prove_opts) / sizeof(prove_opts[0]), },
	{ .name = "verify green", .operands = "record | check | tier", .operand = OPERAND_WORD,
	  .summary = "keep a tool's own green; ask whether a tier is green",
	  .about = "Records that a tool found this very tree good, says whether that still holds,\n"
	           "and whether a tier is recorded green on this tree.\n"
	           "\n"
	           "  verify green record <name> [--asked <question>]\n"
	           "  verify green check <name> [--asked <question>]\n"
	           "  verify green tier <tier>\n",
	  .subcommands = green_commands,
	  .nsubcommands = sizeof(green_commands) / sizeof(green_commands[0]) },
	{ .name = "verify stats", .operands = "",
	  .summary = "say how often a turn's first try was green",
	  .about = "Says how many of the turns that the Stop hook gated were green at once.\n",
	  .planned = true },
	{ .name = "verify lint-config", .operands = "",
	  .summary = "hold the lint against what it was at the mark",
	  .about = "Compares what every lint command does with what it did at the mark, and\n"
	           "fails where it got weaker unasked.\n",
	  .planned = true },
};
/* clang-format on */

static const struct command verify = {
	.name = "verify",
	.operands = "<tier>",
	.operand = OPERAND_TIER,
	.summary = "run a tier of geonosis.json and report what happened",
	.about =
	    "Runs the steps that geonosis.json declares for the tier, in order, and\n"
	    "writes the report. There is no default tier.\n"
	    "\n"
	    "Exit status: 0 every step passed and the report was written; 1 a step\n"
	    "failed; 2 refused, or the report could not be written; 128 + n ended by\n"
	    "signal n.\n",
	.opts = verify_opts,
	.nopts = sizeof(verify_opts) / sizeof(verify_opts[0]),
	.subcommands = verify_commands,
	.nsubcommands = sizeof(verify_commands) / sizeof(verify_commands[0]),
};

static const struct command gate = {
	.name = "gate",
	.operands = "run | status | budget | daemon",
	.summary = "share the machine's slots: run on them, say who holds them",
	.about =
	    "Runs any command on the slots that all runs of this user share, says who\n"
	    "holds them and who waits, and sets how many there are.\n"
	    "\n"
	    "  gate run [--slots <n> | --exclusive] [--timeout <seconds>] -- <command>\n"
	    "  gate status [--json] [--watch]\n"
	    "  gate budget [<n>]\n"
	    "\n"
	    "Each answers to --help.\n",
	.operand = OPERAND_WORD,
	.subcommands = gate_commands,
	.nsubcommands = sizeof(gate_commands) / sizeof(gate_commands[0]),
};

static const struct command hook = {
	.name = "hook",
	.operands = "stop | pre-bash | pre-write",
	.operand = OPERAND_WORD,
	.summary = "answer Claude Code's hooks, JSON on stdin and stdout",
	.about = "Answers one hook of Claude Code: JSON on stdin, JSON on stdout.\n",
	.planned = true,
};

static const struct command doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "look for what would make a green mean less than it says",
	.about = "Looks at the repository's set-up and warns of what would make a green\n"
		 "mean less than it says.\n",
	.planned = true,
};

static const struct command ratchet = {
	.name = "ratchet",
	.operands = "",
	.summary = "hold counters under caps that only fall",
	.about = "Counts what a repository wants less of and fails when a count is over\n"
		 "its cap; a cap only ever falls.\n",
	.planned = true,
};

static const struct command schema = {
	.name = "schema",
	.operands = "",
	.summary = "print the JSON Schema of geonosis.json",
	.about =
	    "Prints the JSON Schema (2020-12) of geonosis.json, for editors. It takes\n"
	    "what geonosis takes, and more where a schema cannot tell: globs, regexes,\n"
	    "cycles, keys that stand twice.\n",
};

static const struct command completion = {
	.name = "completion",
	.operands = "bash | zsh | fish",
	.operand = OPERAND_WORD,
	.summary = "print completions for a shell",
	.about = "Prints what a shell needs to complete commands, options and tiers:\n"
		 "\n"
		 "  bash  source <(geonosis completion bash)\n"
		 "  zsh   source <(geonosis completion zsh)\n"
		 "  fish  geonosis completion fish | source\n"
		 "\n"
		 "A package has installed them already.\n",
};

static const struct command *const commands[] = { &verify,  &gate,   &hook,	 &doctor,
						  &ratchet, &schema, &completion };

enum {
	NCOMMANDS = sizeof(commands) / sizeof(commands[0])
};

const struct command *const *
command_list(size_t *ret_ncommands)
{
	*ret_ncommands = NCOMMANDS;
	return commands;
}

const struct command *
command_find(const char *name, struct error *err)
{
	const char *names[NCOMMANDS + 3];
	const char *near;
	char *clean;
	size_t i;

	for (i = 0; i < NCOMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
		names[i] = commands[i]->name;
	}
	names[i++] = "help";
	names[i++] = "--help";
	names[i++] = "--version";
	near = text_nearest(name, names, i);
	clean = text_clean(name, strlen(name));
	if (near != NULL)
		(void)error_set(err, ERROR_USAGE,
				"unknown command \"%s\": did you mean \"%s\"?", clean,
				near);
	else
		(void)error_set(
		    err, ERROR_USAGE,
		    "unknown command \"%s\": `geonosis help` lists those there "
		    "are",
		    clean);
	free(clean);
	return NULL;
}

/*
 * A command by its last word, among those of one table that have the same words before
 * it.
 */
static const struct command *
table_find(const struct command *table, size_t n, const char *prefix, const char *name,
	   struct error *err)
{
	struct buf all = BUF_INIT;
	const char *names[8];
	const char *near;
	char *clean;
	size_t i;

	for (i = 0; i < n; i++) {
		names[i] = table[i].name + strlen(prefix) + 1;
		if (name != NULL && strcmp(names[i], name) == 0) {
			buf_release(&all);
			return &table[i];
		}
		buf_printf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	near = name != NULL ? text_nearest(name, names, n) : NULL;
	clean = text_clean(name != NULL ? name : "", name != NULL ? strlen(name) : 0);
	if (name == NULL)
		(void)error_set(err, ERROR_USAGE, "%s: say what to do: %s", prefix,
				buf_text(&all));
	else if (near != NULL)
		(void)error_set(err, ERROR_USAGE,
				"%s: unknown command \"%s\": did you mean \"%s\"?",
				prefix, clean, near);
	else
		(void)error_set(err, ERROR_USAGE,
				"%s: unknown command \"%s\": there are %s", prefix, clean,
				buf_text(&all));
	free(clean);
	buf_release(&all);
	return NULL;
}

const struct command *
command_of_words(int nwords, char *const words[], struct error *err)
{
	const struct command *c = command_find(words[0], err);
	char *clean;
	int i;

	for (i = 1; i < nwords && c != NULL && c->nsubcommands > 0; i++)
		c = table_find(c->subcommands, c->nsubcommands, c->name, words[i], err);
	if (c == NULL || i == nwords)
		return c;
	clean = text_clean(words[i], strlen(words[i]));
	(void)error_set(err, ERROR_USAGE, "help: \"%s\" is no command of `geonosis %s`",
			clean, c->name);
	free(clean);
	return NULL;
}

const struct command *
gate_command_find(const char *name, struct error *err)
{
	return table_find(gate_commands, sizeof(gate_commands) / sizeof(gate_commands[0]),
			  "gate", name, err);
}

const struct command *
verify_command(const char *word)
{
	size_t i, n = strlen("verify ");

	for (i = 0; i < sizeof(verify_commands) / sizeof(verify_commands[0]); i++)
		if (strcmp(verify_commands[i].name + n, word) == 0)
			return &verify_commands[i];
	return NULL;
}

const struct command *
green_command(void)
{
	return &verify_commands[1];
}

const struct command *
green_command_find(const char *name, struct error *err)
{
	return table_find(green_commands,
			  sizeof(green_commands) / sizeof(green_commands[0]),
			  "verify green", name, err);
}

const struct command *
prove_command(void)
{
	return &verify_commands[0];
}

int
command_refuse(const struct command *c, struct error *err)
{
	return error_set(err, ERROR_USAGE, "%s: not available in this version", c->name);
}

void
help_text(struct buf *out)
{
	size_t i;

	buf_puts(out,
		 "usage: geonosis <command> [options] ...\n"
		 "\n"
		 "Runs the gates of a repository: named tiers of shell commands, in\n"
		 "geonosis.json, with a report of what each one did.\n"
		 "\n"
		 "Commands:\n");
	for (i = 0; i < NCOMMANDS; i++)
		buf_printf(out, "  %-11s %s%s\n", commands[i]->name, commands[i]->summary,
			   commands[i]->planned ? " (not available yet)" : "");
	buf_puts(
	    out,
	    "  help        show this text, or that of a command\n"
	    "\n"
	    "`geonosis <command> --help` says more; `geonosis --version` says which\n"
	    "version this is.\n");
}
