/* SPDX-License-Identifier: MIT */
/*
 * Proof: what became of watching one step fail.  Data only.
 */
#ifndef SUPERVISOR_PROVE_PROOF_H
#define SUPERVISOR_PROVE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proof_outcome {
	PROOF_NOT_RUN, /* the run ended before it */
	PROOF_UNPROVEN,
	PROOF_PROVEN,
	PROOF_NOT_PROVEN,
};

/* Why a step is not proven. */
enum proof_reason {
	PROOF_NO_REASON,
	PROOF_STAYED_GREEN,
	PROOF_NO_EVIDENCE,     /* it went red, and its output did not carry `expect` */
	PROOF_STEP_SIGNAL,     /* it was ended by a signal */
	PROOF_PLANT_FAILED,    /* the plant exited non-zero, or was ended by a signal */
	PROOF_NOTHING_CHANGED, /* the plant changed nothing */
	PROOF_NOTHING_REACHED, /* nor did it reach a workspace that the step runs over */
	PROOF_RED_BEFORE,      /* the step was red before the plant */
	PROOF_TREE_TOUCHED,    /* the tree was written to */
	PROOF_TROUBLE,	       /* ours: it could not be tried */
};

enum copy_kind {
	COPY_NONE,
	COPY_OVERLAY,
	COPY_PORTABLE,
};

struct proof {
	enum proof_outcome outcome;
	enum proof_reason reason;
	int exit_code; /* of the command that decided: the step, the plant; -1: none did
			*/
	int signal;    /* that ended it, or 0 */
	bool expected; /* the step's output carried `expect` */
	int64_t ms;    /* of the step, planted */
	int64_t plant_ms;
	char *part;	    /* the shard ("2/3") or workspace that decided, or NULL */
	char *detail;	    /* of a trouble, or of what was touched; or NULL */
	char *tail;	    /* of the command that decided; NULL is "" */
	uint64_t lines;	    /* that it printed */
	uint64_t tail_from; /* as of a result */
	uint64_t tail_lines;
	char *log; /* path of the decisive command's log, or NULL */
	enum copy_kind copy;
	bool is_guarded;
	int64_t copy_ms;
	uint64_t copy_bytes;
	char **changed; /* the first of what the plant changed */
	size_t nchanged_kept;
	size_t nchanged; /* all of it */
};

#define PROOF_INIT                                        \
	{                                                 \
		.outcome = PROOF_NOT_RUN, .exit_code = -1 \
	}

void proof_release(struct proof *p);

#endif
