/* SPDX-License-Identifier: MIT */
/*
 * Conversions: files that differ from the index byte for byte, but may be the same to
 * git, which keeps them filtered, re-encoded or with other line endings.
 */
#ifndef GIT_CONVERSION_H
#define GIT_CONVERSION_H

#include "git/scan.h"
#include "ipc/error.h"

/*
 * Ask git about the items of a scan that may be no changes; those that are none are
 * dropped, their entries are clean.  Nothing is asked where no file can be concerned.
 */
int conversion_judge(struct scan *s, struct error *err);

#endif
