/* SPDX-License-Identifier: MIT */
/*
 * Keyset: the names in one object, compared.
 */
#ifndef SUPERVISOR_CONFIG_KEYSET_H
#define SUPERVISOR_CONFIG_KEYSET_H

#include <stddef.h>

#include "supervisor/config/scan.h"

/*
 * The first member of an object whose name stood in it before, and in *ret_first
 * where; 0 (never a member) when all differ, *ret_first then untouched.
 */
size_t keyset_duplicate(const struct config_scan *s, size_t object, size_t *ret_first);

#endif
