/* SPDX-License-Identifier: MIT */
/*
 * Copy: the tree as one step's plant may have it.
 *
 * Made by a child process (it starts threads, or enters a mount namespace), which tells
 * how it went and ends: what has to last are a directory of the run's storage and, where
 * there is one, the namespace, of which descriptors are kept here.
 */
#ifndef SUPERVISOR_PROVE_COPY_H
#define SUPERVISOR_PROVE_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "git/digest.h"
#include "ipc/error.h"
#include "supervisor/prove/ground.h"
#include "supervisor/prove/manifest.h"
#include "supervisor/prove/proof.h"
#include "supervisor/prove/space.h"
#include "supervisor/prove/storage.h"

struct copy {
	const struct ground *ground;
	const struct storage *storage;
	bool has_history;
	enum copy_kind kind; /* COPY_NONE until it is there */
	bool is_guarded;     /* the kernel keeps the step from writing to the tree */
	char *name;	     /* of its directory in the storage */
	char *store;	     /* that directory, absolute */
	char *root;	     /* top of the copy, as a step sees it */
	char *dir;	     /* the working directory in it, likewise */
	char commit[DIGEST_HEX_SIZE]; /* of a copy with history, else "" */
	struct mounts mounts;
	pid_t maker;
	int maker_fd; /* readable when the maker has something to say, or is gone */
	int user_ns;  /* -1: none to enter */
	int mount_ns; /* -1: likewise */
	struct copy_state *before; /* as it was when last marked */
};

/*
 * Start to make copy number `n` of a run.  The ground and the storage are borrowed.  The
 * caller has one thread.
 */
int copy_start(const struct ground *g, const struct storage *s, unsigned n, bool history,
	       struct copy *ret_copy, struct error *err);
/* The maker has said something: 0: the copy is there; -1. */
int copy_finish(struct copy *c, struct error *err);
/* In a worker: go to the working directory of the copy. 0, or -1 with errno. */
int copy_enter(const struct copy *c);
/* Remember how it is now. */
int copy_mark(struct copy *c, struct error *err);
/* What has changed since. */
int copy_changes(const struct copy *c, struct changes *changes, struct error *err);
/*
 * Remove it, whatever state it is in; a maker that still works is killed.  *ret_bytes: of
 * the files that it had of its own.  0; -1 with *err where something stays.
 */
int copy_remove(struct copy *c, uint64_t *ret_bytes, struct error *err);

#endif
