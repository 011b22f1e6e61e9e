/* SPDX-License-Identifier: MIT */
/*
 * Settle: what a newborn worker does with what it has from its caller.  Private to this
 * folder.
 */
#ifndef WORKER_SETTLE_H
#define WORKER_SETTLE_H

/*
 * A session of our own, so that a signal to the supervisor's group or from its
 * terminal does not reach us: someone must be left to end the command.  No signal
 * but KILL and STOP has a meaning here; and against STOP the supervisor's death continues
 * us.  All descriptors are closed but these two, which may become others.
 */
void settle_worker(int *sock, int *log_dir_fd);

#endif
