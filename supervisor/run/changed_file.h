/* SPDX-License-Identifier: MIT */
/*
 * Changed file: the paths that changed, one a line, for steps that choose by them.
 */
#ifndef SUPERVISOR_RUN_CHANGED_FILE_H
#define SUPERVISOR_RUN_CHANGED_FILE_H

#include "ipc/error.h"
#include "supervisor/plan/scope.h"

/*
 * Write `.geonosis/<tier>.changed`: relative paths, quoted as git does where they hold a
 * control character.  The name is the tier's, so that what a killed run left is written
 * over by the next.  *ret_path is absolute, freed by the caller; NULL where no diff could
 * be read.
 */
int changed_file_write(const char *tier, const struct scope *s, char **ret_path,
		       struct error *err);
/* Remove it and free the path; NULL is fine. */
void changed_file_remove(char *path);

#endif
