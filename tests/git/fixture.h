/* SPDX-License-Identifier: MIT */
/*
 * Repositories for tests, made by git itself, in a scratch directory that is also HOME:
 * nothing of the user's configuration is seen.
 */
#ifndef TESTS_GIT_FIXTURE_H
#define TESTS_GIT_FIXTURE_H

/* A scratch directory with HOME in it and an empty repository in `r`, gone into. */
void fixture_enter(void);
void fixture_leave(void);
/* Run a shell command; the test fails when it does. */
void sh(const char *command);

#endif
