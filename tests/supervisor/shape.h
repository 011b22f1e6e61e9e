/* SPDX-License-Identifier: MIT */
/*
 * Shape: the tree of a plan as text, both ways.  `a (b c) [d (e f)] g:2`: names are
 * jobs, (…) is a sequence, […] a group; the whole is a sequence.  Behind a job's name
 * `:n` is its slots, `:*` all of them.
 */
#ifndef TESTS_SUPERVISOR_SHAPE_H
#define TESTS_SUPERVISOR_SHAPE_H

#include <stddef.h>

#include "supervisor/plan/plan.h"

/* The tree with the jobs' ids; freed by the caller. */
char *shape_text(const struct plan *p);
/* A plan of that shape, whose ids and commands are the names. */
void shape_build(const char *text, struct plan *ret_plan);
/* Of at most so many jobs, at random, and so deep; empty nodes among them. */
void shape_random(unsigned *seed, size_t jobs, unsigned depth, struct plan *ret_plan);
/* A plan that was made here. */
void shape_release(struct plan *p);

#endif
