/* SPDX-License-Identifier: MIT */
/*
 * Logs: the directory that holds the logs of one tier's red steps.
 */
#ifndef SUPERVISOR_RUN_LOGS_H
#define SUPERVISOR_RUN_LOGS_H

#include "ipc/error.h"

/*
 * Make `.geonosis/logs/<tier>`, or empty the one that is there.  No link is followed
 * below `.geonosis`, and what is in the way stays.  *ret_path is the directory (freed
 * by the caller), *ret_fd a descriptor of it.
 */
int logs_open(const char *tier, char **ret_path, int *ret_fd, struct error *err);

#endif
