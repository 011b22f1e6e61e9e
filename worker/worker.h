/* SPDX-License-Identifier: MIT */
/*
 * Worker: the process that runs one job's command and watches over it.
 *
 * The supervisor forks a worker (it may do so ahead of time), gives it one order,
 * and waits for its pidfd.  The worker is in a session of its own and the command's
 * shell in another; it is a child subreaper, so whatever the command leaves
 * behind becomes its child.  A socket ties the two: orders and signals go down, and its
 * end tells the worker that the supervisor is gone, at which it kills and ends.
 * The outcome comes back in a mapping that both share.
 *
 *   supervisor                      worker                        /bin/sh
 *   worker_fork ------------------> waits for its order
 *   worker_start -- order --------> prepare, pipe, vfork --------> setsid, exec
 *   worker_signal - signal -------> to the whole session
 *   (poll on worker_pidfd)          pumps the output into log and watch
 *                                   shell ended: drain, end what is left <- exit
 *   worker_end <--- shared outcome, exit
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/error.h"
#include "worker/watch.h"

enum {
	WORKER_LEAK_GRACE_MS = 2000, /* TERM to KILL for what a command left behind */
	WORKER_STOP_GRACE_MS = 5000, /* signal to KILL for a command that is stopped */
	WORKER_JOBSERVER_READ = 3,   /* descriptors of a command's jobserver */
	WORKER_JOBSERVER_WRITE = 4,
	WORKER_KILL_LIMIT_MS = 3000, /* how long KILL is tried before it is given up */
};

/* What a worker is to do; sent whole over its socket. */
struct worker_order {
	uint64_t job;	  /* the caller's number for the job */
	uint32_t attempt; /* from 0 */
	uint32_t slots;	  /* the number that the command is told */
	char token[64];	  /* of what the job holds, for the command; "" for nothing */
};

/* What to execute.  Everything is borrowed, and read in the worker. */
struct command {
	const char *text; /* for /bin/sh -c */
	char *const *env; /* the whole environment */
	/* Not 0: a GNU make jobserver of so many slots on the shell's descriptors 3
	 * and 4. */
	unsigned jobserver;
	const char *log_name; /* file in the log directory */
	struct watch watch;   /* feed may be NULL: nobody watches */
};

/* Turns an order into a command; called in the worker, which may leave memory behind. */
typedef void worker_prepare_fn(void *ctx, const struct worker_order *order,
			       struct command *ret_command);

/* What became of it. */
struct worker_outcome {
	bool finished;	 /* false: the worker died before it could tell */
	bool started;	 /* the shell was executed */
	int start_errno; /* why not, where it was not */
	int exit_code;	 /* of the shell; 128 + n when killed by signal n */
	int signal;	 /* that killed the shell, or 0 */
	int64_t ms;	 /* from before the fork of the shell to its end */
	unsigned leaked; /* processes of the session that were ended after the shell */
	unsigned stayed; /* of those: that would not end */
	bool has_log;	 /* the log is on disk, whole (a green command keeps none) */
	int log_errno;	 /* why it could not be kept, or 0 */
};

struct worker;

struct worker_setup {
	worker_prepare_fn *prepare;
	void *ctx;
	int log_dir_fd; /* where logs go, borrowed; -1: nowhere */
	/*
	 * First of all in the worker, while it has its caller's descriptors still: goes
	 * where the command is to run (a directory, a namespace).  NULL: stays.  Returns
	 * 0, or -1 with errno: then the command is not started, and that is why.
	 */
	int (*enter)(void *ctx);
};

/*
 * Fork a worker that waits for its order.  It keeps no descriptor of the caller but the
 * log directory's.  The caller must be single-threaded at this point, and the main
 * thread: the worker's parent-death signal follows the thread.
 */
int worker_fork(const struct worker_setup *setup, struct worker **ret_worker,
		struct error *err);
/*
 * Give it its order, once.  It gets a copy of `hold_fd` (-1: none), which it keeps open
 * until nothing of the command is left, and hands to nobody.
 */
int worker_start(struct worker *w, const struct worker_order *order, int hold_fd,
		 struct error *err);
/* Readable when the worker has ended. */
int worker_pidfd(const struct worker *w);
pid_t worker_pid(const struct worker *w);
/*
 * Send a signal to every process of the command's session; those that live on are killed
 * after WORKER_STOP_GRACE_MS, and at once for SIGKILL.  A worker that was stopped is
 * continued.
 */
void worker_signal(struct worker *w, int signo);
/* Kill the worker itself and all of the session: for one that does not answer. */
void worker_kill(struct worker *w);
/*
 * Reap a worker whose pidfd is readable.  Where it died before it could finish, whatever
 * is left of the command's session is killed here.
 */
void worker_end(struct worker *w, struct worker_outcome *ret_outcome);
/* Frees; a worker that was never ended is killed and reaped first.  NULL is fine. */
void worker_free(struct worker *w);
/*
 * Reap children that are not the caller's own: orphans that became the caller's since it
 * is a child subreaper.  Own children are those for which is_own says so.
 */
void worker_reap_orphans(bool (*is_own)(void *ctx, pid_t pid), void *ctx);
/* Make the calling process the one that orphans of dead workers are given to. */
void worker_adopt_orphans(void);

#endif
