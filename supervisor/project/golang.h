/* SPDX-License-Identifier: MIT */
/*
 * Go: the modules that go.work uses, as `go work edit` and `go mod edit` tell them,
 * without network.
 */
#ifndef SUPERVISOR_PROJECT_GOLANG_H
#define SUPERVISOR_PROJECT_GOLANG_H

#include "ipc/error.h"
#include "supervisor/project/workspace.h"

/*
 * 1: the directory has a go.work, whose modules are in *ret_list, the root and those
 * outside of the directory left out; 0: it has none; -1: go cannot say.
 */
int golang_list_load(const char *root, struct workspace_list *ret_list,
		     struct error *err);

#endif
