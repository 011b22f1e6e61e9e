/* SPDX-License-Identifier: MIT */
/* The supervisor's side of a worker: fork, order, signal, reap. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "worker/attend.h"
#include "worker/session.h"

struct worker {
	pid_t pid;
	int pidfd;
	int sock; /* its end is the supervisor's: closed by the kernel when that dies */
	struct worker_share *share;
};

static int
worker_fork_child(struct worker *w, int child_sock, const struct worker_setup *setup)
{
	w->pid = fork();
	if (w->pid != 0)
		return w->pid;
	attend_main(child_sock, w->share, setup);
}

int
worker_fork(const struct worker_setup *setup, struct worker **ret_worker,
	    struct error *err)
{
	struct worker *w = xcalloc(1, sizeof(*w));
	int pair[2] = { -1, -1 };

	w->pid = w->pidfd = w->sock = -1;
	w->share = mmap(NULL, sizeof(*w->share), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->share == MAP_FAILED) {
		w->share = NULL;
		(void)error_system(err, "worker: shared memory");
		goto fail;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)error_system(err, "worker: socket");
		goto fail;
	}
	w->sock = pair[0];
	if (worker_fork_child(w, pair[1], setup) < 0) {
		(void)error_system(err, "worker: fork");
		goto fail;
	}
	w->pidfd = pidfd_open(w->pid, 0);
	if (w->pidfd < 0) {
		(void)error_system(err, "worker: pidfd");
		goto fail;
	}
	fd_close(&pair[1]);
	*ret_worker = w;
	return 0;
fail:
	fd_close(&pair[1]);
	worker_free(w);
	return -1;
}

/* A message, and a copy of a descriptor with it (-1: none). */
static int
worker_send(struct worker *w, const struct worker_message *m, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct worker_message copy = *m;
	struct iovec iov = { .iov_base = &copy, .iov_len = sizeof(copy) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(w->sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

int
worker_start(struct worker *w, const struct worker_order *order, int hold_fd,
	     struct error *err)
{
	struct worker_message m = { .kind = WORKER_MESSAGE_ORDER, .order = *order };

	if (worker_send(w, &m, hold_fd) < 0)
		return error_system(err, "worker: order");
	return 0;
}

int
worker_pidfd(const struct worker *w)
{
	return w->pidfd;
}

pid_t
worker_pid(const struct worker *w)
{
	return w->pid;
}

void
worker_signal(struct worker *w, int signo)
{
	struct worker_message m = { .kind = WORKER_MESSAGE_SIGNAL, .signo = signo };

	/* Where it cannot be told (it is gone, or stopped with a full queue) the
	 * caller's own deadline and worker_kill are what is left. */
	(void)worker_send(w, &m, -1);
	(void)pidfd_send_signal(w->pidfd, SIGCONT, NULL, 0);
}

/*
 * The shell of a dead worker is now ours or its subreaper's child, unreaped, so the
 * number of its session is not used again meanwhile.
 */
static void
worker_kill_session(struct worker *w)
{
	int session = atomic_load(&w->share->session);

	if (session > 1)
		(void)session_kill(session, WORKER_KILL_LIMIT_MS);
}

void
worker_kill(struct worker *w)
{
	(void)pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0);
	worker_kill_session(w);
}

static void
worker_reap(struct worker *w)
{
	siginfo_t si;
	int rc;

	if (w->pid <= 0)
		return;
	do {
		rc = waitid(P_PID, (id_t)w->pid, &si, WEXITED);
	} while (rc < 0 && errno == EINTR);
	w->pid = -1;
}

void
worker_end(struct worker *w, struct worker_outcome *ret_outcome)
{
	worker_reap(w);
	if (atomic_load(&w->share->finished) == 1) {
		*ret_outcome = w->share->outcome;
		ret_outcome->finished = true;
		return;
	}
	worker_kill_session(w);
	*ret_outcome = (struct worker_outcome){
		.started = atomic_load(&w->share->session) > 0,
		.exit_code = -1,
	};
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	if (w->pid > 0) {
		(void)kill(w->pid, SIGKILL);
		worker_reap(w);
		worker_kill_session(w);
	}
	fd_close(&w->pidfd);
	fd_close(&w->sock);
	if (w->share != NULL)
		(void)munmap(w->share, sizeof(*w->share));
	free(w);
}

void
worker_reap_orphans(bool (*is_own)(void *ctx, pid_t pid), void *ctx)
{
	siginfo_t si;

	/* WNOWAIT first: a child of the caller's own is left for whoever waits for it.
	 * It hides the orphans behind it until then, which costs nothing but zombies. */
	for (;;) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    si.si_pid == 0)
			return;
		if (is_own(ctx, si.si_pid))
			return;
		(void)waitid(P_PID, (id_t)si.si_pid, &si, WEXITED | WNOHANG);
	}
}

void
worker_adopt_orphans(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}
