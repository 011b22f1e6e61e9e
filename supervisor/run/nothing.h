/* SPDX-License-Identifier: MIT */
/*
 * Nothing: a test runner that exits 0 and says that it ran no test.
 */
#ifndef SUPERVISOR_RUN_NOTHING_H
#define SUPERVISOR_RUN_NOTHING_H

/*
 * The line of a green runner's tail that says so, freed by the caller; NULL where none
 * does. It is vitest's or jest's word that no test file was found, turbo's that no task
 * was executed, or an output that ends on a line beginning with SKIP.
 */
char *nothing_said(const char *tail);

#endif
