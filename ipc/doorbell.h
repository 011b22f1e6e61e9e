/* SPDX-License-Identifier: MIT */
/*
 * Doorbell: a descriptor that becomes readable when somebody closes a description
 * of a file that it could write.  That is how a death rings, as the kernel closes
 * what the dead had open, and how the living ring on purpose.
 *
 * Only a hint: the kernel gives a user few of them (128 by default), and rings a
 * moment before it drops the locks of what is closed.
 */
#ifndef IPC_DOORBELL_H
#define IPC_DOORBELL_H

#include <stdbool.h>

/* A bell on the file behind `fd`, non-blocking; -1 where there is none to be had. */
int doorbell_open(int fd);
/* It has rung; to be asked again while it is readable. -1 has never. */
bool doorbell_drain(int bell);

#endif
