/* SPDX-License-Identifier: MIT */
/*
 * Refs: what a name stands for, read without git.
 */
#ifndef GIT_REF_H
#define GIT_REF_H

#include <stdint.h>

#include "git/digest.h"
#include "git/place.h"
#include "git/settings.h"

enum ref_answer {
	REF_ODD = -1, /* in a form not known here: git may know it */
	REF_NONE,     /* there is no such ref */
	REF_DANGLING, /* it names another ref, which there is not */
	REF_FOUND
};

/*
 * `HEAD` or a full name, `refs/…`, through symbolic refs, loose and packed. Nothing says
 * that the object is there, or what it is.
 */
enum ref_answer ref_read(const struct place *p, const struct settings *s,
			 const char *name, uint8_t ret_id[OBJECT_ID_MAX]);

#endif
