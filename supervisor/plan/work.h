/* SPDX-License-Identifier: MIT */
/*
 * Work: code that changed and brought no test of its own.
 *
 * A code file is one whose name ends as a source file's does, and that is neither a
 * document nor a test.  A test is `*.test.*`, `*.spec.*`, or lies under `__tests__/`,
 * `test/` or `tests/`; it is of the workspace that it lies in, and speaks for all code
 * there.  One that was deleted speaks for none.
 */
#ifndef SUPERVISOR_PLAN_WORK_H
#define SUPERVISOR_PLAN_WORK_H

#include "supervisor/config/config.h"
#include "supervisor/plan/scope.h"

/* The first changed path that is such code, borrowed from the scope; NULL where there is
 * none. */
const char *work_untested(const struct scope *s, const struct config *c);

#endif
