/* SPDX-License-Identifier: MIT */
#include "tools/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum {
	OUTLET_TICK_MS = 50
};

static bool
signal_is_pending(void)
{
	sigset_t set;

	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
		sigismember(&set, SIGHUP) == 1);
}

int
outlet_write(int fd, const char *bytes, size_t n)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	while (n > 0) {
		int ready = poll(&room, 1, OUTLET_TICK_MS);
		ssize_t put;

		if (ready == 0 && signal_is_pending()) {
			errno = EINTR;
			return -1;
		}
		if (ready < 0 && errno != EINTR)
			return -1;
		if (ready <= 0)
			continue;
		/* So much a pipe that has room takes without waiting. */
		put = write(fd, bytes, n < PIPE_BUF ? n : PIPE_BUF);
		if (put < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (put > 0) {
			bytes += put;
			n -= (size_t)put;
		}
	}
	return 0;
}
