/* SPDX-License-Identifier: MIT */
#include "ipc/doorbell.h"

#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "ipc/fd.h"

int
doorbell_open(int fd)
{
	char path[64];
	int bell = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (bell < 0)
		return -1;
	/* Through /proc, so that it is this very file whatever its name is by now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* IN_ATTRIB: the name is gone.  IN_MODIFY would ring at every write. */
	if (inotify_add_watch(bell, path, IN_CLOSE_WRITE | IN_ATTRIB) < 0)
		fd_close(&bell);
	return bell;
}

bool
doorbell_drain(int bell)
{
	/* Equal events in a row are one: mostly this empties it. */
	char events[4096];

	return bell >= 0 && read(bell, events, sizeof(events)) > 0;
}
