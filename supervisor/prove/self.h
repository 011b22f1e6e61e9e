/* SPDX-License-Identifier: MIT */
/*
 * Self: this very program watched going red, in a throwaway directory.
 */
#ifndef SUPERVISOR_PROVE_SELF_H
#define SUPERVISOR_PROVE_SELF_H

#include <stdbool.h>

#include "ipc/buf.h"
#include "ipc/error.h"

/*
 * Run `verify` over a planted tier of one passing step and one that exits 3, and check
 * the report, the step named, its code and the exit.  *ret_proven says whether all of it
 * held; `why` then stays empty or says what did not.  Fails where it could not be tried.
 * Nothing of the working directory is read or touched, and nothing is left behind.
 */
int self_prove(bool *ret_proven, struct buf *why, struct error *err);

#endif
