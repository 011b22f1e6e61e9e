/* SPDX-License-Identifier: MIT */
/*
 * Survey: which workspaces a plant reached, read in the copy, as a run over it would read
 * them: with those that the plant made, without those that it took away.
 *
 * It is made by a child process, since it is to look at the copy from inside.
 */
#ifndef SUPERVISOR_PROVE_SURVEY_H
#define SUPERVISOR_PROVE_SURVEY_H

#include <stddef.h>
#include <sys/types.h>

#include "ipc/error.h"
#include "supervisor/plan/scope.h"
#include "supervisor/prove/copy.h"

struct survey {
	pid_t pid;
	int pidfd; /* readable when it is over */
	int answer;
	char **paths; /* of workspaces, dependencies before dependents */
	size_t npaths;
};

#define SURVEY_INIT                                   \
	{                                             \
		.pid = -1, .pidfd = -1, .answer = -1, \
	}

/*
 * Start one; the caller has one thread.  `base` has the workspaces that were there before
 * the plant.
 */
int survey_start(const struct copy *c, const struct scope *base,
		 const struct changes *changes, struct survey *ret_survey,
		 struct error *err);
/* It is over: 0, and its paths are there; -1: they cannot be read, and why. */
int survey_finish(struct survey *s, struct error *err);
/* One that is not over is killed. */
void survey_release(struct survey *s);

#endif
