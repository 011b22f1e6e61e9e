/* SPDX-License-Identifier: MIT */
/*
 * Proving: the prover's own side: what the forked process does from its birth to its end.
 * Private to this folder.
 */
#ifndef SUPERVISOR_PROVE_PROVING_H
#define SUPERVISOR_PROVE_PROVING_H

#include <stdatomic.h>

#include "supervisor/base/board.h"
#include "supervisor/base/watcher.h"
#include "supervisor/prove/prover.h"

/* The mapping that prover and run share; a text that is too long is cut. */
struct prover_share {
	_Atomic int finished; /* 1: the rest is whole; written last */
	struct proof proof;   /* its pointers mean nothing: the texts are below */
	char part[1024];
	char detail[2048];
	char log[4096];
	char tail[BOARD_LINES * (BOARD_LINE_BYTES + 256)];
	char changed[65536]; /* one path after the other, each with its NUL */
};

_Noreturn void proving_main(const struct prover_order *order, int sock,
			    struct prover_share *share, struct watcher *watcher);

#endif
