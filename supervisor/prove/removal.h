/* SPDX-License-Identifier: MIT */
/*
 * Removal of a whole directory, by descriptors from its parent on: no link is followed,
 * no mount is entered, and it may be as deep as it likes.
 */
#ifndef SUPERVISOR_PROVE_REMOVAL_H
#define SUPERVISOR_PROVE_REMOVAL_H

#include <stdint.h>

/*
 * Remove `name` of a directory with all that is in it.  0; -1 with errno where something
 * was left.  To *bytes (NULL: nobody asks) the sizes of the regular files are added.
 */
int removal_run(int parent_fd, const char *name, uint64_t *bytes);

#endif
