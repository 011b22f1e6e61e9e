/* SPDX-License-Identifier: MIT */
/*
 * Scratch: a directory of its own for one test, the working directory meanwhile;
 * and the waiting that tests of processes need: for a condition, with a deadline.
 */
#ifndef TESTS_HELPER_SCRATCH_H
#define TESTS_HELPER_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Make the directory and go there; its path. */
const char *scratch_enter(void);
/* Leave it and remove it with all that is in it. */
void scratch_leave(void);

/* Write a small text file. */
void scratch_write(const char *path, const char *text);
/* A small file as a string to free; NULL where there is none. */
char *scratch_read(const char *path);
/* How many entries the directory has, "." and ".." apart; -1: no directory. */
int scratch_count(const char *dir);
/*
 * Mount a tmpfs of so many bytes at the directory `path`, which is made, seen by this
 * process and its children only.  False where we may not.
 */
bool scratch_mount(const char *path, size_t bytes);

/* Ask until it is so, for at most `ms`. */
bool await(bool (*is_so)(void *ctx), void *ctx, int ms);
/* Is there such a file, and not empty? For await; ctx is its path. */
bool file_is_there(void *path);
/* Readable within so many milliseconds. */
bool await_readable(int fd, int ms);

/* Be the one that orphans are given to, so that children_end finds them. */
void children_adopt(void);
/* Kill and reap every child, those that are given to us meanwhile too. */
void children_end(void);
/* Children of ours, dead ones counted until they are reaped. */
int children_count(void);

#endif
