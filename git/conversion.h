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
 *
 * Then what lies on disk of a clean entry, where it is not what the index has, goes into
 * the walk's `raws`: steps read that.  (Of a file with mixed line endings that git has
 * looked at since it was written it is not known, short of reading every text file.)
 */
int conversion_judge(struct scan *s, struct error *err);

#endif
