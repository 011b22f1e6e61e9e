/* SPDX-License-Identifier: MIT */
/*
 * One step after the other, and at each of them the run may say a signal, or be gone:
 *
 *   witness -> copy -> [step: green] -> mark -> plant -> changes -> step -> witness
 *       any of them may settle the verdict, or be stopped ---> end all, remove, tell
 */
#include "supervisor/prove/proving.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "git/changed.h"
#include "ipc/buf.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/offspring.h"
#include "supervisor/prove/reach.h"

enum {
	PROVING_END_LIMIT_MS = 3000
};

/* --- the story --- */

static int
proving_copy(struct proving *p)
{
	struct error err = ERROR_INIT;
	int64_t began_ms = clock_now_ms();
	int rc;

	rc = copy_start(p->setup->ground, p->setup->storage, (unsigned)p->order->first,
			p->step->history, &p->copy, &err);
	if (rc == 0) {
		proving_wait(p, p->copy.maker_fd, NULL);
		if (p->stopped != 0)
			return proving_stop(p);
		rc = copy_finish(&p->copy, &err);
	}
	p->proof->copy_ms = clock_now_ms() - began_ms;
	if (rc < 0)
		return proving_trouble(p, &err);
	p->proof->copy = p->copy.kind;
	p->proof->is_guarded = p->copy.is_guarded;
	return 0;
}

static int
proving_take_witness(struct proving *p, bool want_deep)
{
	struct error err = ERROR_INIT;

	witness_release(&p->before);
	if (witness_take(p->setup->ground, want_deep, &p->before, &err) < 0)
		return proving_trouble(p, &err);
	return proving_is_stopped(p) ? proving_stop(p) : 0;
}

/* "2/3" of `full/4@2/3`; "" for the one job of a step. */
static void
proving_set_part(struct proving *p, const struct job *job)
{
	const char *at = strchr(job->id, '@');

	text_put(p->share->part, sizeof(p->share->part), at != NULL ? at + 1 : "");
}

static int
proving_baseline(struct proving *p)
{
	size_t i;

	for (i = 0; i < p->order->njobs; i++) {
		const struct job *job = proving_job(p, i);
		const struct phase phase = {
			.command = job->command,
			.log_id = job->id,
			.is_step = true,
		};

		if (job->nothing != NULL)
			continue;
		if (phase_run(p, &phase) < 0)
			return -1;
		proving_set_part(p, job);
		if (p->outcome.exit_code != 0)
			return proving_settle(p, PROOF_RED_BEFORE);
	}
	return 0;
}

static void
proving_keep_changes(struct proving *p, const struct changes *c)
{
	size_t at = 0, i;

	p->proof->nchanged = c->count;
	p->proof->nchanged_kept = 0;
	for (i = 0; i < c->nkept; i++) {
		size_t n = strlen(c->paths[i]) + 1;

		if (n > sizeof(p->share->changed) - at)
			break;
		memcpy(p->share->changed + at, c->paths[i], n);
		at += n;
		p->proof->nchanged_kept++;
	}
}

/* A step that chooses by what changed is to see the plant. */
static int
proving_write_changes(struct proving *p, const struct changes *c, struct error *err)
{
	struct buf text = BUF_INIT;
	size_t i;
	int rc;

	for (i = 0; i < c->nkept; i++) {
		char *path, *line;

		if (strncmp(c->paths[i], ".git/", 5) == 0)
			continue;
		path = reach_path(p->setup->ground, c->paths[i]);
		line = path_quote(path);
		buf_printf(&text, "%s\n", line);
		free(line);
		free(path);
	}
	p->changed_file = xasprintf("%s/changed", p->copy.store);
	rc = file_save(p->changed_file, buf_text(&text), text.len, err);
	buf_release(&text);
	return rc;
}

static int
proving_plant(struct proving *p)
{
	const struct phase phase = { .command = p->step->plant };
	struct changes changes = CHANGES_INIT;
	struct error err = ERROR_INIT;
	int rc;

	p->share->part[0] = '\0';
	if (copy_mark(&p->copy, &err) < 0)
		return proving_trouble(p, &err);
	if (phase_run(p, &phase) < 0)
		return -1;
	p->proof->plant_ms = p->outcome.ms;
	if (p->outcome.exit_code != 0)
		return proving_settle(p, PROOF_PLANT_FAILED);
	rc = copy_changes(&p->copy, &changes, &err);
	if (rc < 0)
		return proving_trouble(p, &err);
	proving_keep_changes(p, &changes);
	if (changes.count == 0)
		rc = proving_settle(p, PROOF_NOTHING_CHANGED);
	else if (proving_write_changes(p, &changes, &err) < 0)
		rc = proving_trouble(p, &err);
	else
		rc = proving_find_targets(p, &changes);
	changes_release(&changes);
	return rc;
}

static enum proof_reason
phase_judge(const struct proving *p)
{
	if (p->outcome.signal != 0)
		return PROOF_STEP_SIGNAL;
	if (p->outcome.exit_code == 0)
		return PROOF_STAYED_GREEN;
	return p->findings.expected ? PROOF_NO_REASON : PROOF_NO_EVIDENCE;
}

/* Of several jobs one that shows the evidence is enough; else the worst of them counts.
 */
static int
proving_step(struct proving *p)
{
	enum proof_reason worst = PROOF_NO_REASON;
	size_t i;

	for (i = 0; i < p->ntargets; i++) {
		const struct job *job = &p->targets[i];
		const struct phase phase = {
			.command = job->command,
			.log_id = job->id,
			.expect = p->step->expect,
			.is_step = true,
		};
		struct prover_share *saved = NULL;
		enum proof_reason reason;

		if (job->nothing != NULL)
			continue;
		if (worst > PROOF_STAYED_GREEN) {
			saved = xmalloc(sizeof(*saved));
			memcpy(saved, p->share, sizeof(*saved));
		}
		if (phase_run(p, &phase) < 0) {
			free(saved);
			return -1;
		}
		reason = phase_judge(p);
		if (saved != NULL && reason != PROOF_NO_REASON) {
			memcpy(p->share, saved, sizeof(*saved));
		} else {
			proving_set_part(p, job);
			p->proof->ms = p->outcome.ms;
			p->proof->expected = p->findings.expected;
			worst = reason;
		}
		free(saved);
		if (reason == PROOF_NO_REASON)
			break;
	}
	if (worst == PROOF_NO_REASON && !p->proof->expected)
		worst = PROOF_NOTHING_REACHED;
	return proving_settle(p, worst);
}

/* Whatever the step showed: one that wrote to the tree shows nothing. */
static void
proving_check_tree(struct proving *p)
{
	struct witness after = WITNESS_INIT;
	struct error err = ERROR_INIT;
	char what[1024];

	if (p->proof->outcome == PROOF_NOT_RUN || p->copy.kind == COPY_NONE)
		return;
	if (witness_take(p->setup->ground, p->before.is_deep, &after, &err) < 0) {
		(void)proving_trouble(p, &err);
	} else if (!witness_agrees(&p->before, &after, what, sizeof(what))) {
		text_put(p->share->detail, sizeof(p->share->detail), what);
		(void)proving_settle(p, PROOF_TREE_TOUCHED);
	}
	witness_release(&after);
}

static void
proving_run(struct proving *p)
{
	if (proving_take_witness(p, false) < 0 || proving_copy(p) < 0)
		return;
	if (!p->copy.is_guarded && !p->before.is_deep &&
	    proving_take_witness(p, true) < 0)
		return;
	if (p->setup->want_baseline && proving_baseline(p) < 0)
		return;
	if (proving_plant(p) < 0)
		return;
	(void)proving_step(p);
}

/* What is left of the step ends first: it might write to what is being removed. */
static void
proving_finish(struct proving *p)
{
	struct error err = ERROR_INIT;
	size_t i;

	if (p->copy.maker > 0)
		(void)kill(p->copy.maker, SIGKILL);
	offspring_end(PROVING_END_LIMIT_MS);
	p->copy.maker = -1;
	/* Nothing that is heavy is left: whoever waits for the slots may have them. */
	fd_close(&p->hold_fd);
	proving_check_tree(p);
	if (p->changed_file != NULL)
		(void)unlink(p->changed_file);
	if (p->copy.name != NULL &&
	    copy_remove(&p->copy, &p->proof->copy_bytes, &err) < 0 &&
	    p->proof->outcome != PROOF_NOT_RUN)
		(void)proving_trouble(p, &err);
	if (p->sock < 0)
		storage_leave(p->setup->storage);
	if (p->proof->outcome != PROOF_NOT_PROVEN) {
		for (i = 0; i < p->order->njobs; i++)
			phase_drop_log(p, proving_job(p, i)->id);
		for (i = 0; i < p->ntargets; i++)
			phase_drop_log(p, p->targets[i].id);
		p->share->log[0] = '\0';
	}
}

/* --- birth --- */

static void
descriptors_keep(const int *kept, size_t n)
{
	int fd, max = 2;
	size_t i;

	for (i = 0; i < n; i++)
		max = kept[i] > max ? kept[i] : max;
	for (fd = 3; fd <= max; fd++) {
		bool keep = false;

		for (i = 0; i < n; i++)
			keep = keep || kept[i] == fd;
		if (!keep)
			(void)close(fd);
	}
	(void)close_range((unsigned)max + 1, ~0U, 0);
}

/*
 * As a worker settles: a session of our own, no signal but KILL and STOP, and against
 * STOP the run's end continues us.
 */
static void
proving_settle_down(const struct proving *p)
{
	const int kept[] = { p->sock,
			     p->hold_fd,
			     p->setup->log_dir_fd,
			     p->setup->storage->tmp_fd,
			     p->setup->storage->dir_fd,
			     p->setup->storage->lock_fd };
	sigset_t all;
	int null, fd;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	/* Not the program's: whoever kills all of that name leaves who clears up. */
	(void)prctl(PR_SET_NAME, "gn-prover");
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (fd = 0; null >= 0 && fd <= 2; fd++)
		(void)dup2(null, fd);
	descriptors_keep(kept, sizeof(kept) / sizeof(kept[0]));
}

_Noreturn void
proving_main(const struct prover_order *order, int sock, struct prover_share *share,
	     struct watcher *watcher)
{
	struct proving p = {
		.order = order,
		.setup = order->setup,
		.step = order->setup->plan->jobs[order->first].step,
		.share = share,
		.proof = &share->proof,
		.watcher = watcher,
		.sock = sock,
		.hold_fd = order->hold_fd,
		.copy = { .maker = -1, .maker_fd = -1, .user_ns = -1, .mount_ns = -1 },
		.before = WITNESS_INIT,
	};

	*p.proof = (struct proof)PROOF_INIT;
	proving_settle_down(&p);
	proving_run(&p);
	proving_finish(&p);
	atomic_store(&share->finished, 1);
	_exit(0);
}
