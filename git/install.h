/* SPDX-License-Identifier: MIT */
/*
 * What npm, pnpm or yarn recorded of an install, under node_modules.
 */
#ifndef GIT_INSTALL_H
#define GIT_INSTALL_H

#include <stdint.h>

#include "git/digest.h"

/*
 * One digest over the records in the two directories (`below` NULL: only one). Zeros
 * where there are none.
 */
void install_digest(const char *root, const char *below, uint8_t ret[DIGEST_SIZE]);

#endif
