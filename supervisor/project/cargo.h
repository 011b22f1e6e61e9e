/* SPDX-License-Identifier: MIT */
/*
 * Cargo: the members of a workspace of crates, as `cargo metadata` tells them, without
 * network and without a lock file being written.
 */
#ifndef SUPERVISOR_PROJECT_CARGO_H
#define SUPERVISOR_PROJECT_CARGO_H

#include <stddef.h>

#include "ipc/error.h"
#include "supervisor/project/workspace.h"

/*
 * 1: the directory has a Cargo.toml with a workspace, whose members are in *ret_list, the
 * root and those outside of the directory left out; 0: it has none; -1: cargo cannot say.
 */
int cargo_list_load(const char *root, struct workspace_list *ret_list, struct error *err);
/* From what `cargo metadata` printed; `root` is the directory without links. */
int cargo_list_parse(const char *root, const char *text, size_t n,
		     struct workspace_list *ret_list, struct error *err);

#endif
