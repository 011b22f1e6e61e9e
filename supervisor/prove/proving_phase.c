/* SPDX-License-Identifier: MIT */
/* One command in the copy: a worker, and the run listened to meanwhile. */
#include "supervisor/prove/proving.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "supervisor/base/pattern.h"
#include "supervisor/prove/surroundings.h"
#include "supervisor/run/bin.h"
#include "supervisor/run/local.h"

/* --- waiting --- */

/* Read what the run says: its end is our order to end. */
static void
proving_listen(struct proving *p, struct worker *w)
{
	int32_t signo = 0;
	ssize_t n = recv(p->sock, &signo, sizeof(signo), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(signo)) {
		fd_close(&p->sock);
		signo = SIGKILL;
	}
	if (p->stopped == 0)
		p->stopped = signo;
	if (w != NULL)
		worker_signal(w, signo);
}

/* Until the descriptor is readable; without a worker, or until we are stopped. */
void
proving_wait(struct proving *p, int fd, struct worker *w)
{
	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = p->sock, .events = POLLIN },
		};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents != 0)
			return;
		if (fds[1].revents != 0)
			proving_listen(p, w);
		if (w == NULL && p->stopped != 0)
			return;
	}
}

/* Has the run said something meanwhile? */
bool
proving_is_stopped(struct proving *p)
{
	if (p->sock >= 0)
		proving_listen(p, NULL);
	return p->stopped != 0;
}

/* --- verdicts --- */

void
text_put(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text != NULL ? text : "");
}

/* Settled: returns -1, so that `return proving_settle(...)` reads well. */
int
proving_settle(struct proving *p, enum proof_reason reason)
{
	p->proof->outcome = reason == PROOF_NO_REASON ? PROOF_PROVEN : PROOF_NOT_PROVEN;
	p->proof->reason = reason;
	return -1;
}

int
proving_trouble(struct proving *p, const struct error *err)
{
	text_put(p->share->detail, sizeof(p->share->detail), err->text);
	p->proof->exit_code = -1;
	return proving_settle(p, PROOF_TROUBLE);
}

int
proving_stop(struct proving *p)
{
	p->proof->outcome = PROOF_NOT_RUN;
	return -1;
}

/* --- one command --- */

static int
phase_enter(void *ctx)
{
	const struct proving *p = ctx;

	return copy_enter(&p->copy);
}

/* In the worker, in the copy. Memory is not given back, the process ends with the phase.
 */
static void
phase_prepare(void *ctx, const struct worker_order *order, struct command *ret_command)
{
	const struct proving *p = ctx;
	struct environment env = ENVIRONMENT_INIT;
	const bool has_jobserver = p->phase->is_step && p->step->jobserver;
	struct pattern *mark = NULL;
	struct error err = ERROR_INIT;
	char number[16];

	if (p->phase->is_step && p->step->failure_mark != NULL)
		(void)pattern_compile(p->step->failure_mark, &mark, &err);
	watcher_reset(p->watcher, mark, p->phase->expect);
	surroundings_fill(&env, &p->copy, p->setup->env);
	(void)snprintf(number, sizeof(number), "%" PRIu32, order->slots);
	environment_set(&env, "GEONOSIS_GATE_RUN", p->setup->run_id);
	environment_set(&env, "GEONOSIS_SLOTS", number);
	environment_set(&env, "GEONOSIS_HEAVY_SLOT_HELD", order->token);
	if (p->copy.commit[0] != '\0')
		environment_set(&env, "GEONOSIS_BASE", p->copy.commit);
	if (p->changed_file != NULL)
		environment_set(&env, "GEONOSIS_CHANGED_FILES", p->changed_file);
	if (has_jobserver)
		local_offer_jobserver(&env, order->slots);
	*ret_command = (struct command){
		.jobserver = has_jobserver ? order->slots : 0,
		.text = p->phase->is_step ? bin_command(p->phase->command)
					  : p->phase->command,
		.env = env.vars,
		.log_name =
		    p->phase->log_id != NULL ? local_log_name(p->phase->log_id) : "",
		.watch = watcher_watch(p->watcher),
	};
}

static int
phase_work(struct proving *p, struct error *err)
{
	const struct worker_setup setup = {
		.prepare = phase_prepare,
		.ctx = p,
		.log_dir_fd = p->phase->log_id != NULL ? p->setup->log_dir_fd : -1,
		.enter = phase_enter,
	};
	struct worker_order order = { .slots = p->order->slots };
	struct worker *w;
	int rc;

	(void)snprintf(order.token, sizeof(order.token), "%s", p->order->token);
	if (worker_fork(&setup, &w, err) < 0)
		return -1;
	rc = worker_start(w, &order, p->hold_fd, err);
	if (rc == 0) {
		proving_wait(p, worker_pidfd(w), w);
		worker_end(w, &p->outcome);
	}
	worker_free(w);
	return rc;
}

/* What decides is what is shown: exit code, signal, tail and log of this command. */
static void
phase_keep(struct proving *p)
{
	struct proof *proof = p->proof;
	char *name;

	proof->exit_code = p->outcome.exit_code;
	proof->signal = p->outcome.signal;
	text_put(p->share->tail, sizeof(p->share->tail), p->findings.tail);
	proof->lines = p->findings.lines;
	proof->tail_from = p->findings.tail_from;
	proof->tail_lines = p->findings.tail_lines;
	p->share->log[0] = '\0';
	if (p->phase->log_id == NULL || !p->outcome.has_log)
		return;
	name = local_log_name(p->phase->log_id);
	(void)snprintf(p->share->log, sizeof(p->share->log), "%s/%s", p->setup->log_dir,
		       name);
	free(name);
}

/* 0: it has ended, one way or another; -1: the verdict is there. */
int
phase_run(struct proving *p, const struct phase *phase)
{
	struct error err = ERROR_INIT;

	if (proving_is_stopped(p))
		return proving_stop(p);
	findings_release(&p->findings);
	p->phase = phase;
	watcher_reset(p->watcher, NULL, NULL);
	if (phase_work(p, &err) < 0)
		return proving_trouble(p, &err);
	watcher_findings(p->watcher, p->outcome.exit_code != 0, &p->findings);
	if (p->stopped != 0)
		return proving_stop(p);
	if (!p->outcome.finished)
		(void)error_set(&err, ERROR_SYSTEM,
				"its worker was killed before it had ended");
	else if (!p->outcome.started)
		(void)error_set(&err, ERROR_SYSTEM, "/bin/sh: cannot be started: %s",
				strerror(p->outcome.start_errno));
	if (err.kind != ERROR_NONE)
		return proving_trouble(p, &err);
	phase_keep(p);
	return 0;
}

/* A log is kept of what decided, and of that only where it is not proven. */
void
phase_drop_log(const struct proving *p, const char *log_id)
{
	char *name = local_log_name(log_id);

	if (p->setup->log_dir_fd >= 0)
		(void)unlinkat(p->setup->log_dir_fd, name, 0);
	free(name);
}
