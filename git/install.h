/* SPDX-License-Identifier: MIT */
/*
 * What npm, pnpm or yarn recorded of an install, under a node_modules.
 */
#ifndef GIT_INSTALL_H
#define GIT_INSTALL_H

#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"

/*
 * One digest over the records in a directory, in `dirs` below it and in another (`below`
 * NULL: in none).  Zeros where there are none.
 */
void install_digest(const char *root, char *const *dirs, size_t ndirs, const char *below,
		    uint8_t ret[DIGEST_SIZE]);

#endif
