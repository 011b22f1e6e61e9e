/* SPDX-License-Identifier: MIT */
/*
 * Segments: one part of a path against one part of a manager's pattern.
 *
 *   *  ?  […]  [!…]  [^…]  [[:alpha:]]  \x
 *   @(a|b)  ?(a|b)  *(a|b)  +(a|b)  !(a|b)
 *
 * A name that begins with a dot is matched only by a pattern that does, unless dots are
 * said to be no exception.
 */
#ifndef SUPERVISOR_PROJECT_SEGMENT_H
#define SUPERVISOR_PROJECT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * 1 when it matches, 0 when not, -1 when the answer takes more steps than anyone's
 * pattern needs.
 */
int segment_matches(const char *pattern, const char *name, bool dot_is_plain);
/* Can it match more than one name? */
bool segment_is_wild(const char *pattern);

#endif
