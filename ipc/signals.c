/* SPDX-License-Identifier: MIT */
#include "ipc/signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ipc/fd.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

int
signals_open(struct signals *s, struct error *err)
{
	struct sigaction sa;
	sigset_t listen;
	size_t i;

	(void)sigemptyset(&listen);
	for (i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		/* A blocked signal is queued although it is ignored: leave it out. */
		if (sigaction(ending[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			(void)sigaddset(&listen, ending[i]);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &listen, NULL);
	s->fd = signalfd(-1, &listen, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return error_system(err, "signals");
	return 0;
}

int
signals_read(struct signals *s)
{
	struct signalfd_siginfo si;

	if (read(s->fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return 0;
	return (int)si.ssi_signo;
}

void
signals_close(struct signals *s)
{
	fd_close(&s->fd);
}
