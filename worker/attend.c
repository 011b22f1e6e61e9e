/* SPDX-License-Identifier: MIT */
/*
 * One order, from birth to end:
 *
 *   waiting --order--> running --shell ended--> draining --> clearing --> finished
 *      |                  |                                      |
 *      +--- socket ended: the supervisor is gone ---+------------+--> kill, exit
 *
 * The end of the command is the end of its shell, never the end of the pipe: what
 * still holds the pipe then may be a daemon that writes for ever, so only what was
 * in it at that moment is read (FIONREAD).  "Clearing" ends what the shell left
 * in its session.
 */
#include "worker/attend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "worker/log.h"
#include "worker/session.h"
#include "worker/settle.h"
#include "worker/shell.h"

enum {
	ATTEND_QUIET_LOOKS = 3,	     /* that meet nobody new, before it is believed */
	ATTEND_LOOKS_MAX = 50,	     /* at a session that is never at rest */
	ATTEND_TICK_MS = 5,	     /* between looks at what is left of a session */
	ATTEND_PIPE_BYTES = 1 << 20, /* for a command that prints much: fewer wake-ups */
	ATTEND_BUSY_BYTES = 65536,   /* a read of so much: it prints much */
};

struct attend {
	int sock;
	struct worker_share *share;
	struct worker_outcome outcome;
	struct command command;
	struct log log;
	int output; /* read end; -1 when every writer is gone */
	bool output_is_large;
	pid_t shell;
	int shell_pidfd;
	int64_t started_ms;
	int64_t kill_at_ms;	  /* -1: not stopping */
	bool stopped;		  /* a signal was passed on */
	int stop_signo;		  /* which */
	struct session_seen told; /* who got it */
	int enter_errno;	  /* why it is not where it was to go, or 0 */
};

static void
attend_kill(const struct attend *a)
{
	(void)session_kill(a->shell, WORKER_KILL_LIMIT_MS);
}

/*
 * The signal that stops the command, to whoever of its session has not had it: a look at
 * a session misses what is being forked, so it is looked at until nobody new is met.
 */
static void
attend_tell(struct attend *a)
{
	int quiet = 0;
	int i;

	/* The shell that dies of it is met as dying until it is reaped, later. */
	for (i = 0; i < ATTEND_LOOKS_MAX && quiet < ATTEND_QUIET_LOOKS; i++)
		quiet = session_signal_new(a->shell, a->stop_signo, &a->told).alive > 0
			    ? 0
			    : quiet + 1;
	/* One that is stopped takes the signal only when it is continued. */
	(void)session_signal(a->shell, SIGCONT);
}

/* Pass a signal on to the session and set the deadline for those that stay. */
static void
attend_stop(struct attend *a, int signo)
{
	int64_t deadline = clock_now_ms() + WORKER_STOP_GRACE_MS;

	a->stopped = true;
	if (signo == SIGKILL) {
		a->kill_at_ms = clock_now_ms();
		return;
	}
	a->stop_signo = signo;
	session_seen_release(&a->told);
	attend_tell(a);
	if (a->kill_at_ms < 0 || deadline < a->kill_at_ms)
		a->kill_at_ms = deadline;
}

/* Read the socket. The supervisor's end is ours: kill and go, there is no one to tell. */
static void
attend_listen(struct attend *a)
{
	struct worker_message m;
	ssize_t n = recv(a->sock, &m, sizeof(m), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(m)) {
		attend_kill(a);
		_exit(1);
	}
	if (m.kind == WORKER_MESSAGE_SIGNAL)
		attend_stop(a, m.signo);
}

/* Read at most `most` bytes of output; how many, 0 at the end, -1 for none now. */
static ssize_t
attend_read(struct attend *a, size_t most)
{
	size_t room;
	char *space = log_space(&a->log, &room);
	ssize_t n = read(a->output, space, room < most ? room : most);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
	if (a->command.watch.feed != NULL)
		a->command.watch.feed(a->command.watch.ctx, space, (size_t)n);
	log_advance(&a->log, (size_t)n);
	return n;
}

static void
attend_pump(struct attend *a)
{
	ssize_t n = attend_read(a, LOG_HALF_BYTES);

	if (n == 0)
		fd_close(&a->output);
	if (n >= ATTEND_BUSY_BYTES && !a->output_is_large) {
		a->output_is_large = true;
		(void)fcntl(a->output, F_SETPIPE_SZ, ATTEND_PIPE_BYTES);
	}
}

static void
attend_run(struct attend *a)
{
	for (;;) {
		struct pollfd fds[3] = {
			{ .fd = a->shell_pidfd, .events = POLLIN },
			{ .fd = a->sock, .events = POLLIN },
			{ .fd = a->output, .events = POLLIN },
		};

		if (poll(fds, 3, clock_timeout_ms(a->kill_at_ms)) < 0 && errno != EINTR)
			return;
		if (fds[1].revents != 0)
			attend_listen(a);
		if (a->kill_at_ms >= 0 && clock_now_ms() >= a->kill_at_ms)
			attend_kill(a);
		/* Before its output: a command that never stops printing ends as well. */
		if (fds[0].revents != 0)
			return;
		if (fds[2].revents != 0)
			attend_pump(a);
	}
}

static void
attend_drain(struct attend *a)
{
	int left = 0;

	if (a->output < 0 || ioctl(a->output, FIONREAD, &left) < 0)
		return;
	while (left > 0) {
		ssize_t n = attend_read(a, (size_t)left);

		if (n <= 0)
			return;
		left -= (int)n;
	}
}

static void
attend_reap_shell(struct attend *a)
{
	siginfo_t si = { 0 };
	int rc;

	do {
		rc = waitid(P_PID, (id_t)a->shell, &si, WEXITED);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0) {
		a->outcome.exit_code = -1;
		return;
	}
	if (si.si_code == CLD_EXITED) {
		a->outcome.exit_code = si.si_status;
		return;
	}
	a->outcome.signal = si.si_status;
	a->outcome.exit_code = 128 + si.si_status;
}

/* Reap what is dead: how many; -1 when there is no child left at all. */
static int
attend_reap_others(void)
{
	siginfo_t si;
	int n;

	for (n = 0;; n++) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG) < 0)
			return errno == ECHILD ? -1 : n;
		if (si.si_pid == 0)
			return n;
	}
}

/*
 * Count, or signal, what is left of the session: 0 only when a look met nothing and
 * nothing was reaped meanwhile, since a process that only forks its successor and exits
 * is missed by a single look, but leaves its dead to us.
 */
static int
attend_sweep(const struct attend *a, int signo)
{
	struct session_scan scan;
	int reaped, i;

	for (i = 0; i < ATTEND_LOOKS_MAX; i++) {
		scan = session_signal(a->shell, signo);
		if (scan.alive != 0)
			return scan.alive > 0 ? scan.alive : 0;
		reaped = attend_reap_others();
		if (reaped < 0 || (reaped == 0 && scan.dying == 0))
			return 0;
	}
	return 0;
}

/*
 * End what the shell left.  We are a child subreaper: where we have no child, nothing is
 * left, and /proc need not be read.  The number of the session stays taken while a
 * process is in it.
 */
static void
attend_clear(struct attend *a)
{
	int left;

	if (attend_reap_others() < 0)
		return;
	/* Counted before: one that is ended may end others by itself (timeout does). */
	left = attend_sweep(a, 0);
	if (left == 0)
		return;
	/* What is being stopped has its signal, and its time to act on it. */
	if (a->stopped)
		attend_tell(a);
	else
		(void)session_signal(a->shell, SIGTERM);
	(void)session_signal(a->shell, SIGCONT);
	a->outcome.leaked = (unsigned)left;
	if (a->kill_at_ms < 0)
		a->kill_at_ms = clock_now_ms() + WORKER_LEAK_GRACE_MS;
	while (attend_reap_others() >= 0 && attend_sweep(a, 0) > 0) {
		struct pollfd sock = { .fd = a->sock, .events = POLLIN };

		if (poll(&sock, 1, ATTEND_TICK_MS) > 0)
			attend_listen(a);
		if (clock_now_ms() >= a->kill_at_ms) {
			left = session_kill(a->shell, WORKER_KILL_LIMIT_MS);
			a->outcome.stayed = (unsigned)left;
			break;
		}
	}
	(void)attend_reap_others();
}

/*
 * A pipe with a token for each slot but the one that make has anyway, its ends above
 * those that the shell will know them by.  A pipe is understood by every make; no slots:
 * none is made.
 */
static int
attend_make_jobserver(unsigned slots, int ret_ends[2])
{
	int ends[2];
	unsigned i;

	if (slots == 0)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	for (i = 0; i < 2; i++) {
		ret_ends[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, WORKER_JOBSERVER_WRITE + 1);
		fd_close(&ends[i]);
	}
	if (ret_ends[0] < 0 || ret_ends[1] < 0)
		return -1;
	for (i = 1; i < slots; i++)
		if (fd_write(ret_ends[1], "+", 1) < 0)
			return -1;
	return 0;
}

/* Pipe and shell. 0, or -1 with errno. */
static int
attend_spawn(struct attend *a)
{
	int out[2] = { -1, -1 };
	int jobs[2] = { -1, -1 };
	int saved;

	if (pipe2(out, O_CLOEXEC) < 0 ||
	    attend_make_jobserver(a->command.jobserver, jobs) < 0)
		goto fail;
	a->started_ms = clock_now_ms();
	a->shell = shell_spawn(&(struct shell_start){
	    .text = a->command.text,
	    .env = a->command.env,
	    .output_fd = out[1],
	    .jobserver = { jobs[0], jobs[1] },
	    .ret_session = &a->share->session,
	    .parent = getpid(),
	});
	if (a->shell < 0)
		goto fail;
	a->shell_pidfd = pidfd_open(a->shell, 0);
	if (a->shell_pidfd < 0) {
		attend_kill(a);
		goto fail;
	}
	a->output = out[0];
	(void)fcntl(a->output, F_SETFL, O_NONBLOCK);
	fd_close(&out[1]);
	fd_close(&jobs[0]);
	fd_close(&jobs[1]);
	return 0;
fail:
	saved = errno;
	fd_close(&jobs[0]);
	fd_close(&jobs[1]);
	fd_close(&out[0]);
	fd_close(&out[1]);
	errno = saved;
	return -1;
}

static void
attend_finish_log(struct attend *a, int dir_fd)
{
	bool keep = a->outcome.exit_code != 0 || a->stopped;

	a->outcome.log_errno = log_finish(&a->log, keep);
	/* The ring goes with the process. */
	a->outcome.has_log = keep && dir_fd >= 0 && a->outcome.log_errno == 0;
}

static void
attend_order(struct attend *a, const struct worker_setup *setup,
	     const struct worker_order *order)
{
	setup->prepare(setup->ctx, order, &a->command);
	log_init(&a->log, setup->log_dir_fd, a->command.log_name);
	errno = a->enter_errno;
	if (a->enter_errno != 0 || attend_spawn(a) < 0) {
		a->outcome.start_errno = errno;
		a->outcome.exit_code = -1;
	} else {
		a->outcome.started = true;
		attend_run(a);
		a->outcome.ms = clock_now_ms() - a->started_ms;
		attend_drain(a);
		attend_reap_shell(a);
		attend_clear(a);
	}
	if (a->command.watch.end != NULL)
		a->command.watch.end(a->command.watch.ctx);
	attend_finish_log(a, setup->log_dir_fd);
}

/*
 * Wait for the order.  The descriptor that may come with it stays open as long as this
 * process lives: that is all it is for.
 */
static ssize_t
attend_receive_order(int sock, struct worker_message *m)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	return n;
}

_Noreturn void
attend_main(int sock, struct worker_share *share, const struct worker_setup *setup)
{
	struct worker_setup own = *setup;
	struct worker_message m;
	struct attend a = {
		.share = share,
		.output = -1,
		.shell = -1,
		.shell_pidfd = -1,
		.kill_at_ms = -1,
	};
	ssize_t n;

	if (setup->enter != NULL && setup->enter(setup->ctx) < 0)
		a.enter_errno = errno;
	settle_worker(&sock, &own.log_dir_fd);
	a.sock = sock;
	n = attend_receive_order(sock, &m);
	if (n != (ssize_t)sizeof(m) || m.kind != WORKER_MESSAGE_ORDER)
		_exit(0);
	attend_order(&a, &own, &m.order);
	share->outcome = a.outcome;
	atomic_store(&share->finished, 1);
	_exit(0);
}
