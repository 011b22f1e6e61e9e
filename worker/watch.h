/* SPDX-License-Identifier: MIT */
/*
 * A watcher sees the whole output of a step as it passes through the worker,
 * byte for byte and in order, whatever the log keeps of it.
 *
 * The worker is a fork of the process that filled this in, so the pointers hold
 * there.  What a watcher finds it leaves in memory that it shares with the
 * supervisor; the worker knows nothing of it.
 */
#ifndef WORKER_WATCH_H
#define WORKER_WATCH_H

#include <stddef.h>

struct watch {
	void *ctx;
	/* The next bytes of the output; called in the worker only. */
	void (*feed)(void *ctx, const char *bytes, size_t n);
	/* The output is over: finish the last line. */
	void (*end)(void *ctx);
};

#endif
