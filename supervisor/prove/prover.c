/* SPDX-License-Identifier: MIT */
/* The run's side of a prover: fork, signal, reap, and what it left in shared memory. */
#include "supervisor/prove/prover.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/proving.h"

struct prover {
	pid_t pid;
	int pidfd;
	int sock; /* its end tells the prover that we are gone */
	struct prover_share *share;
	struct watcher *watcher;
};

static int
prover_fork(struct prover *p, const struct prover_order *order, struct error *err)
{
	int pair[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_system(err, "prover: socket");
	p->pid = fork();
	if (p->pid == 0)
		proving_main(order, pair[1], p->share, p->watcher);
	fd_close(&pair[1]);
	p->sock = pair[0];
	if (p->pid < 0)
		return error_system(err, "prover: fork");
	p->pidfd = pidfd_open(p->pid, 0);
	return p->pidfd < 0 ? error_system(err, "prover: pidfd") : 0;
}

int
prover_start(const struct prover_order *order, struct prover **ret_prover,
	     struct error *err)
{
	struct prover *p = xcalloc(1, sizeof(*p));

	p->pid = p->pidfd = p->sock = -1;
	p->share = mmap(NULL, sizeof(*p->share), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->share == MAP_FAILED) {
		p->share = NULL;
		(void)error_system(err, "prover: shared memory");
	} else if (watcher_new(NULL, NULL, &p->watcher, err) == 0 &&
		   prover_fork(p, order, err) == 0) {
		*ret_prover = p;
		return 0;
	}
	prover_free(p);
	return -1;
}

int
prover_pidfd(const struct prover *p)
{
	return p->pidfd;
}

void
prover_signal(struct prover *p, int signo)
{
	int32_t word = signo;

	/* Where it does not listen, there are the caller's deadline and prover_kill. */
	(void)send(p->sock, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)pidfd_send_signal(p->pidfd, SIGCONT, NULL, 0);
}

void
prover_last_line(const struct prover *p, char *text, size_t size)
{
	watcher_last_line(p->watcher, text, size);
}

void
prover_kill(struct prover *p)
{
	(void)pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
}

static void
prover_reap(struct prover *p)
{
	if (p->pid > 0)
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	p->pid = -1;
}

/* --- what it found --- */

static char *
share_text(const char *text, size_t size)
{
	return *text != '\0' ? xstrndup(text, strnlen(text, size - 1)) : NULL;
}

static void
share_take_changed(const struct prover_share *s, struct proof *p)
{
	size_t at = 0, n = s->proof.nchanged_kept;

	p->nchanged_kept = 0;
	p->changed = xcalloc(n > 0 ? n : 1, sizeof(*p->changed));
	while (p->nchanged_kept < n && at < sizeof(s->changed)) {
		size_t len = strnlen(s->changed + at, sizeof(s->changed) - at);

		p->changed[p->nchanged_kept++] = xstrndup(s->changed + at, len);
		at += len + 1;
	}
}

void
prover_end(struct prover *p, struct proof *ret_proof)
{
	const struct prover_share *s = p->share;
	struct proof proof = PROOF_INIT;

	prover_reap(p);
	if (atomic_load(&s->finished) == 1) {
		proof = s->proof;
		proof.part = share_text(s->part, sizeof(s->part));
		proof.detail = share_text(s->detail, sizeof(s->detail));
		proof.tail = share_text(s->tail, sizeof(s->tail));
		proof.log = share_text(s->log, sizeof(s->log));
		share_take_changed(s, &proof);
	} else {
		proof.outcome = PROOF_NOT_PROVEN;
		proof.reason = PROOF_TROUBLE;
		proof.detail = xstrdup("its prover was killed before it had ended");
	}
	*ret_proof = proof;
}

void
prover_free(struct prover *p)
{
	if (p == NULL)
		return;
	if (p->pid > 0) {
		(void)kill(p->pid, SIGKILL);
		prover_reap(p);
	}
	fd_close(&p->pidfd);
	fd_close(&p->sock);
	watcher_free(p->watcher);
	if (p->share != NULL)
		(void)munmap(p->share, sizeof(*p->share));
	free(p);
}
