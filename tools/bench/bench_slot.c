/* SPDX-License-Identifier: MIT */
/*
 * Slots beside what else could hand out permits: flock(1), GNU parallel's sem, and
 * a pipe with tokens as of GNU make's jobserver.  All in one run, since figures of
 * a shared machine compare with nothing else.
 *
 * usage: bench_slot [seconds]      (2: how long each crowd works)
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc/shm.h"
#include "ipc/slot.h"

enum {
	CROWD_MAX = 64,
	DEATHS = 40,
	DEATHS_BIG = 7,
};

enum contender {
	SLOTS,
	PIPE,
	FLOCK, /* flock(2), one file: as many permits as one */
};

static char segment[64];
static char lock_path[64];

/* What the processes of a crowd share. */
struct crowd {
	_Atomic int ready;
	_Atomic int go;
	_Atomic int64_t freed_ns; /* the holder was killed */
	_Atomic long served[CROWD_MAX];
	_Atomic int64_t longest_ns;
};

static int64_t
now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int
compare(const void *one, const void *other)
{
	const int64_t *a = one;
	const int64_t *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* One process's way to permits. */
struct permit {
	enum contender kind;
	struct slots *seat;
	struct slot *slot;
	int pipe[2];
	int file;
};

static void
permit_open(struct permit *p, unsigned budget)
{
	struct slots_config config = { .segment = segment, .budget = budget };
	struct error error = ERROR_INIT;

	if (p->kind == SLOTS && slots_open(&config, &p->seat, &error) < 0)
		errx(1, "%s", error.text);
	if (p->kind == FLOCK)
		p->file = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void
permit_take(struct permit *p)
{
	struct slot_wish wish = { .want = 1, .least = 1, .label = "bench" };
	struct error error = ERROR_INIT;
	char token;

	if (p->kind == SLOTS && (slot_request(p->seat, &wish, &p->slot, &error) < 0 ||
				 slot_wait(p->slot, -1, -1, &error) != 1))
		errx(1, "%s", error.text);
	if (p->kind == PIPE)
		while (read(p->pipe[0], &token, 1) < 0 && errno == EINTR)
			;
	if (p->kind == FLOCK)
		(void)flock(p->file, LOCK_EX);
}

static void
permit_give(struct permit *p)
{
	if (p->kind == SLOTS)
		slot_release(p->slot);
	if (p->kind == PIPE && write(p->pipe[1], "+", 1) != 1)
		err(1, "pipe");
	if (p->kind == FLOCK)
		(void)flock(p->file, LOCK_UN);
}

static struct permit
permit_new(enum contender kind, unsigned budget)
{
	struct permit p = { .kind = kind, .pipe = { -1, -1 }, .file = -1 };

	if (kind == PIPE) {
		if (pipe2(p.pipe, O_CLOEXEC) < 0)
			err(1, "pipe");
		for (unsigned i = 0; i < budget; i++)
			permit_give(&p);
	}
	return p;
}

static void
permit_free(struct permit *p)
{
	slots_free(p->seat);
	for (int i = 0; i < 2; i++)
		if (p->pipe[i] >= 0)
			(void)close(p->pipe[i]);
	if (p->file >= 0)
		(void)close(p->file);
}

static const char *
name_of(enum contender kind)
{
	static const char *const names[] = { "slots", "pipe", "flock(2)" };

	return names[kind];
}

static struct crowd *
crowd_new(void)
{
	struct crowd *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED)
		err(1, "mmap");
	return c;
}

static void
await(_Atomic int *value, int wanted)
{
	struct timespec ts = { 0, 200000 };

	while (atomic_load(value) < wanted)
		(void)nanosleep(&ts, NULL);
}

static void
alone(enum contender kind)
{
	struct permit p = permit_new(kind, 3);
	int64_t best = INT64_MAX;

	permit_open(&p, 3);
	/* The least of many short turns: what it costs where nobody disturbs. */
	for (int turn = 0; turn < 100; turn++) {
		int64_t start = now_ns();

		for (int i = 0; i < 200; i++) {
			permit_take(&p);
			permit_give(&p);
		}
		start = (now_ns() - start) / 200;
		if (start < best)
			best = start;
	}
	(void)printf("alone\t%s\t%.2f us\n", name_of(kind), (double)best / 1000);
	permit_free(&p);
}

static _Noreturn void
crowd_work(struct crowd *c, struct permit p, unsigned me, unsigned budget, long hold_us,
	   int64_t length_ns)
{
	struct timespec hold = { 0, hold_us * 1000 };
	int64_t end;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	permit_open(&p, budget);
	atomic_fetch_add(&c->ready, 1);
	await(&c->go, 1);
	end = now_ns() + length_ns;
	while (now_ns() < end) {
		int64_t asked = now_ns();

		permit_take(&p);
		asked = now_ns() - asked;
		if (asked > atomic_load(&c->longest_ns))
			atomic_store(&c->longest_ns, asked);
		atomic_fetch_add(&c->served[me], 1);
		if (hold_us > 0)
			(void)nanosleep(&hold, NULL);
		permit_give(&p);
	}
	_exit(0);
}

static void
crowd(enum contender kind, unsigned n, unsigned budget, long hold_us, int seconds)
{
	struct permit p = permit_new(kind, budget);
	struct crowd *c = crowd_new();
	long least = INT64_MAX, most = 0, sum = 0;

	for (unsigned i = 0; i < n; i++)
		if (fork() == 0)
			crowd_work(c, p, i, budget, hold_us,
				   (int64_t)seconds * 1000000000);
	await(&c->ready, (int)n);
	atomic_store(&c->go, 1);
	while (wait(NULL) > 0)
		;
	for (unsigned i = 0; i < n; i++) {
		sum += c->served[i];
		if (c->served[i] < least)
			least = c->served[i];
		if (c->served[i] > most)
			most = c->served[i];
	}
	(void)printf("%u over %u, hold %ld us\t%s\t%ld/s\tshare %ld/%ld = %.2f\tlongest "
		     "wait %.1f ms\n",
		     n, budget, hold_us, name_of(kind), sum / seconds, least, most,
		     most > 0 ? (double)least / (double)most : 0,
		     (double)c->longest_ns / 1e6);
	permit_free(&p);
	(void)munmap(c, sizeof(*c));
}

/* Hold, with so much memory, until killed. */
static _Noreturn void
death_holder(struct crowd *c, struct permit p, size_t memory)
{
	char *bytes = memory > 0 ? malloc(memory) : NULL;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bytes != NULL)
		memset(bytes, 1, memory);
	permit_open(&p, 1);
	permit_take(&p);
	atomic_store(&c->ready, 1);
	for (;;)
		(void)pause();
}

static _Noreturn void
death_waiter(struct crowd *c, struct permit p)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	permit_open(&p, 1);
	atomic_store(&c->ready, 2);
	permit_take(&p);
	atomic_store(&c->longest_ns, now_ns());
	_exit(0);
}

/* Nanoseconds from the kill of a holder until a waiter has its slot; -1: never. */
static int64_t
death(enum contender kind, size_t memory)
{
	struct permit p = permit_new(kind, 1);
	struct crowd *c = crowd_new();
	struct timespec settle = { 0, 5000000 };
	pid_t holder, waiter;
	int64_t took, start;

	holder = fork();
	if (holder == 0)
		death_holder(c, p, memory);
	await(&c->ready, 1);
	waiter = fork();
	if (waiter == 0)
		death_waiter(c, p);
	await(&c->ready, 2);
	(void)nanosleep(&settle, NULL);
	start = now_ns();
	(void)kill(holder, SIGKILL);
	while (waitpid(waiter, NULL, WNOHANG) == 0 && now_ns() - start < 3000000000)
		(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	took = c->longest_ns == 0 ? -1 : c->longest_ns - start;
	(void)kill(waiter, SIGKILL);
	while (wait(NULL) > 0)
		;
	permit_free(&p);
	(void)munmap(c, sizeof(*c));
	return took;
}

static void
deaths(enum contender kind, size_t memory, int n)
{
	int64_t took[DEATHS] = { 0 };
	int lost = 0, m = 0;

	for (int i = 0; i < n; i++) {
		took[m] = death(kind, memory);
		if (took[m] < 0)
			lost++;
		else
			m++;
	}
	qsort(took, (size_t)m, sizeof(took[0]), compare);
	(void)printf("death of a holder of %zu MiB\t%s\t%d lost of %d", memory >> 20,
		     name_of(kind), lost, n);
	if (m > 0)
		(void)printf("\tmedian %.2f ms\tmax %.2f ms", (double)took[m / 2] / 1e6,
			     (double)took[m - 1] / 1e6);
	(void)printf("\n");
}

/* What a shell command costs with such a program in front; median of 20. */
static void
program(const char *name, const char *command)
{
	int64_t took[20];
	const int n = sizeof(took) / sizeof(took[0]);

	for (int i = 0; i < n; i++) {
		int64_t start = now_ns();

		if (system(command) != 0) {
			(void)printf("command\t%s\tnot here\n", name);
			return;
		}
		took[i] = now_ns() - start;
	}
	qsort(took, (size_t)n, sizeof(took[0]), compare);
	(void)printf("command\t%s\tmedian %.2f ms\tmax %.2f ms\n", name,
		     (double)took[n / 2] / 1e6, (double)took[n - 1] / 1e6);
}

int
main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 2;
	char command[200];

	(void)snprintf(segment, sizeof(segment), "/gn-bench-%ld", (long)getpid());
	(void)snprintf(lock_path, sizeof(lock_path), "/tmp/gn-bench-%ld", (long)getpid());
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (enum contender k = SLOTS; k <= FLOCK; k++)
		alone(k);
	for (enum contender k = SLOTS; k <= PIPE; k++) {
		crowd(k, 8, 2, 0, seconds);
		crowd(k, 64, 4, 0, seconds);
		crowd(k, 64, 4, 1000, seconds);
		crowd(k, 64, 4, 10000, seconds);
	}
	deaths(SLOTS, (size_t)1 << 20, DEATHS);
	deaths(FLOCK, (size_t)1 << 20, DEATHS);
	deaths(PIPE, (size_t)1 << 20, 1);
	deaths(SLOTS, (size_t)1 << 30, DEATHS_BIG);
	deaths(FLOCK, (size_t)1 << 30, DEATHS_BIG);
	program("true", "true");
	(void)snprintf(command, sizeof(command), "flock %s true", lock_path);
	program("flock(1)", command);
	program("sem(1)", "sem --fg -j2 --id gn-bench true 2>/dev/null");
	(void)shm_unlink(segment);
	(void)unlink(lock_path);
	return 0;
}
