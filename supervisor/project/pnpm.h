/* SPDX-License-Identifier: MIT */
/*
 * pnpm: what its workspace file says.
 */
#ifndef SUPERVISOR_PROJECT_PNPM_H
#define SUPERVISOR_PROJECT_PNPM_H

#include <stdbool.h>

#define PNPM_WORKSPACE_FILE "pnpm-workspace.yaml"

/*
 * Does the pnpm-workspace.yaml that pnpm would read from the working directory (there or
 * in the nearest directory above it) set `verifyDepsBeforeRun`?  One that cannot be read
 * sets nothing: pnpm itself will say so.
 */
bool pnpm_sets_verify_deps(void);

#endif
