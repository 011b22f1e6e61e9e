/* SPDX-License-Identifier: MIT */
/*
 * Options: one table a command, read by the parser, the help text and the shell
 * completions.
 *
 * Long options take their value as `--name value` or `--name=value`; short ones as
 * `-j 3` or `-j3`.  Options stand before or after operands; `--` ends them.  There
 * are no abbreviations.  Of an option given twice the last counts, but where the first
 * would be left out unsaid (OPT_ONE).
 */
#ifndef TOOLS_OPT_H
#define TOOLS_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/buf.h"
#include "ipc/error.h"

enum opt_kind {
	OPT_FLAG,
	OPT_STRING,  /* not empty */
	OPT_ONE,     /* the same; given again it is refused unless it says the same */
	OPT_COUNT,   /* whole number from 1 */
	OPT_NUMBER,  /* whole number from 0 */
	OPT_SECONDS, /* whole number from 0 */
};

enum {
	OPT_MAX = 32,		    /* options of one command */
	OPT_COUNT_MAX = 100000,	    /* of OPT_COUNT and OPT_NUMBER */
	OPT_SECONDS_MAX = 31536000, /* a year */
};

struct opt {
	const char *name; /* without the dashes */
	char letter;	  /* '\0': none */
	enum opt_kind kind;
	const char *arg;  /* what the value is called in help; NULL for a flag */
	bool planned;	  /* parsed, then refused: its machinery is not there yet */
	const char *help; /* one sentence, no full stop */
};

/* What a command's operands are, for completions. */
enum operand_kind {
	OPERAND_NONE,
	OPERAND_TIER,	 /* a tier of the geonosis.json of the working directory */
	OPERAND_WORD,	 /* one of the words of `operands`, parted by " | " */
	OPERAND_COMMAND, /* a command line of somebody else's */
};

struct command {
	const char *name;     /* of a subcommand both words: "gate run" */
	const char *operands; /* as in the usage line, "<tier>"; "" for none */
	enum operand_kind operand;
	const char *summary; /* one line of `geonosis help` */
	const char *about;   /* paragraphs of `--help`, lines ready to print */
	const struct opt *opts;
	size_t nopts;
	const struct command *subcommands; /* NULL: none */
	size_t nsubcommands;
	bool planned; /* answers --help, runs nothing yet */
};

struct opt_value {
	bool set;
	const char *text; /* the value as given, borrowed from argv; NULL for a flag */
	int64_t number;	  /* of a COUNT, NUMBER or SECONDS */
};

struct opt_args {
	bool help;			  /* --help or -h: nothing else was looked at */
	struct opt_value values[OPT_MAX]; /* parallel to the command's table */
	const char **operands;		  /* the array is owned, the strings are argv's */
	size_t noperands;
};

#define OPT_ARGS_INIT \
	{             \
		0     \
	}

/*
 * Read what follows the command's name (argv[0] is the first argument).  A wrong
 * option or value is refused (ERROR_USAGE, text beginning with the command's name),
 * the nearest known one named; a planned one likewise, once the rest is right; and any
 * operand of a command that takes none.
 */
int opt_parse(const struct command *c, int argc, char *const argv[],
	      struct opt_args *ret_args, struct error *err);
/* The tier, the one operand of the command of that name; NULL where none is given. */
int opt_tier(const char *command, const struct opt_args *a, const char **ret_tier,
	     struct error *err);
/*
 * A whole number of digits only, in a range: 0; -1 for anything else (no error is
 * filled).
 */
int opt_whole_number(const char *text, int64_t least, int64_t most, int64_t *ret_number);
void opt_args_release(struct opt_args *a);
/* The text of `geonosis <command> --help`. */
void opt_usage(const struct command *c, struct buf *out);
/*
 * Completions for "bash", "zsh" or "fish"; another shell is refused.  What is planned is
 * left out.  They ask the program for tiers: `geonosis completion tiers`.
 */
int opt_complete(const char *shell, const struct command *const *commands,
		 size_t ncommands, struct buf *out, struct error *err);

#endif
