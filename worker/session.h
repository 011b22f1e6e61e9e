/* SPDX-License-Identifier: MIT */
/*
 * Session: every process of one session, whatever process group it made for
 * itself.  `timeout`, `set -m` and job control make groups of their own, so a
 * signal to a group misses them; a session is left only by setsid, on purpose.
 */
#ifndef WORKER_SESSION_H
#define WORKER_SESSION_H

#include <stddef.h>
#include <sys/types.h>

/*
 * One look at a session is a snapshot: a process that only forks a successor and exits
 * may be missed by it.  What was seen dying tells that there was one.
 */
struct session_scan {
	int alive; /* processes that were there, each of them signalled; -1: no /proc */
	int dying; /* zombies, and processes that ended while they were looked at */
};

/*
 * Send a signal to every live process of a session (0: only count them), never
 * to the caller.  A number that is used again in between is not hit: the session is
 * read again once the process is held by a pidfd.
 */
struct session_scan session_signal(pid_t session, int signo);
/* Processes that a signal was sent to: each by its number and the time it began. */
struct session_seen {
	struct session_process *items;
	size_t nitems;
	size_t room;
};

#define SESSION_SEEN_INIT  \
	{                  \
		NULL, 0, 0 \
	}

/*
 * Send a signal to those processes of a session that have not been sent one yet, and
 * remember them.  A process gets it once, however often this is called; `alive` counts
 * the new ones.
 */
struct session_scan session_signal_new(pid_t session, int signo,
				       struct session_seen *seen);
void session_seen_release(struct session_seen *seen);

/*
 * SIGKILL until nothing of the session lives or dies, for at most limit_ms (a process in
 * uninterruptible sleep, or another user's, may outlive it).  Returns how many
 * were left.
 */
int session_kill(pid_t session, int limit_ms);

#endif
