/* SPDX-License-Identifier: MIT */
/*
 * Kill storm: many processes ask, hold and give back while others of them are
 * killed and stopped at random.
 *
 * Witnesses outside of the table prove that no more is held than there is: each
 * holder of n slots locks n of as many witness bytes as there are slots, an
 * exclusive one all of them, each on the hold's own descriptor, so that a death
 * frees hold and witness together.  A byte that is taken is overcommitment.
 * In the end one exclusive request must get everything at once.
 *
 * usage: storm [kills]   (2000 in each of three runs).  Prints TAP.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/shm.h"
#include "ipc/slot.h"
#include "ipc/slot_list.h"

enum {
	WITNESS = 1 << 24, /* far from the room's own bytes */
	CROWD_MAX = 60,
	QUIET_MS = 5000, /* without any progress: wedged */
};

struct tally {
	_Atomic long served;
	_Atomic long exclusive;
	_Atomic long overcommitted;
	_Atomic long failed;
	_Atomic int64_t last_ms;
	_Atomic int64_t gap_ms; /* longest time without progress */
};

static char segment[64];

static void
pause_us(unsigned us)
{
	struct timespec ts = { 0, (long)us * 1000 };

	(void)nanosleep(&ts, NULL);
}

static void
tally_progress(struct tally *t)
{
	int64_t now = clock_now_ms();
	int64_t gap = now - atomic_exchange(&t->last_ms, now);

	if (gap > atomic_load(&t->gap_ms))
		atomic_store(&t->gap_ms, gap);
}

/* Take `n` witness bytes of `budget`: false when there are not so many left. */
static bool
witness_take(int fd, unsigned n, unsigned budget, bool is_exclusive)
{
	for (unsigned i = 0; i < budget && n > 0; i++)
		if (shm_lock(fd, WITNESS + (int64_t)i) == 0)
			n--;
		else if (is_exclusive)
			return false;
	return n == 0;
}

static void
witness_give(int fd, unsigned budget)
{
	for (unsigned i = 0; i < budget; i++)
		shm_unlock(fd, WITNESS + (int64_t)i);
}

static void
hold(struct slot *r, struct tally *t, unsigned budget, bool is_exclusive, unsigned seed)
{
	if (!witness_take(slot_hold_fd(r), slot_count(r), budget, is_exclusive))
		atomic_fetch_add(&t->overcommitted, 1);
	atomic_fetch_add(is_exclusive ? &t->exclusive : &t->served, 1);
	tally_progress(t);
	pause_us(seed % 300);
	witness_give(slot_hold_fd(r), budget);
}

static _Noreturn void
member(struct tally *t, unsigned budget, unsigned seed)
{
	struct slots_config config = { .segment = segment, .budget = budget };
	struct error err = ERROR_INIT;
	struct slots *s = NULL;

	if (slots_open(&config, &s, &err) < 0) {
		atomic_fetch_add(&t->failed, 1);
		_exit(1);
	}
	for (;;) {
		unsigned kind = (unsigned)rand_r(&seed) % 10;
		struct slot_wish wish = {
			.want = 1 + kind % 3,
			.least = kind % 2 == 0 ? 1 : 1 + kind % 3,
			.exclusive = kind == 9,
			.label = "storm",
		};
		struct slot *r = NULL;

		if (slot_request(s, &wish, &r, &err) < 0 ||
		    slot_wait(r, -1, -1, &err) != 1) {
			atomic_fetch_add(&t->failed, 1);
			_exit(1);
		}
		hold(r, t, budget, wish.exclusive, (unsigned)rand_r(&seed));
		slot_release(r);
	}
}

static pid_t
member_new(struct tally *t, unsigned budget, unsigned *seed)
{
	unsigned own = (unsigned)rand_r(seed);
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		member(t, budget, own);
	}
	return pid;
}

static void
member_kill(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* A moment of the storm: kill one, or half of them at once, or stop one a while. */
static long
strike(pid_t pids[], unsigned n, struct tally *t, unsigned budget, bool stops,
       unsigned *seed)
{
	unsigned kind = (unsigned)rand_r(seed) % 100;
	unsigned at = (unsigned)rand_r(seed) % n;
	unsigned many = kind < 5 ? n / 2 : 1;

	if (stops && kind >= 95) {
		(void)kill(pids[at], SIGSTOP);
		pause_us(20000 + (unsigned)rand_r(seed) % 130000);
		(void)kill(pids[at], SIGCONT);
	}
	for (unsigned i = 0; i < many; i++)
		(void)kill(pids[(at + i) % n], SIGKILL);
	for (unsigned i = 0; i < many; i++) {
		(void)waitpid(pids[(at + i) % n], NULL, 0);
		pids[(at + i) % n] = member_new(t, budget, seed);
	}
	return (long)many;
}

/* How long a fresh exclusive request takes when all are gone; -1: for ever. */
static int64_t
all_free_ms(unsigned budget)
{
	struct slots_config config = { .segment = segment, .budget = budget };
	struct slot_wish wish = { .exclusive = true };
	struct error err = ERROR_INIT;
	int64_t start = clock_now_ms();
	struct slots *s = NULL;
	struct slot *r = NULL;
	int64_t took = -1;

	if (slots_open(&config, &s, &err) == 0 && slot_request(s, &wish, &r, &err) == 0 &&
	    slot_wait(r, start + QUIET_MS, -1, &err) == 1)
		took = clock_now_ms() - start;
	slots_free(s);
	return took;
}

static bool
storm_run(int number, unsigned n, unsigned budget, bool stops, long kills)
{
	struct tally *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = 20 + n;
	pid_t pids[CROWD_MAX];
	bool is_good, is_wedged = false;
	int64_t last;
	long done = 0;

	atomic_store(&t->last_ms, clock_now_ms());
	for (unsigned i = 0; i < n; i++)
		pids[i] = member_new(t, budget, &seed);
	while (done < kills && !is_wedged) {
		pause_us((unsigned)rand_r(&seed) % 4000);
		done += strike(pids, n, t, budget, stops, &seed);
		is_wedged = clock_now_ms() - atomic_load(&t->last_ms) > QUIET_MS;
	}
	for (unsigned i = 0; i < n; i++)
		member_kill(pids[i]);
	last = all_free_ms(budget);
	is_good = !is_wedged && t->overcommitted == 0 && t->failed == 0 && last >= 0 &&
		  last <= 1000;
	(void)printf("%sok %d - %u processes, %u slots%s: %ld kills, %ld served, "
		     "%ld exclusive, %ld overcommitted, %ld failed, longest gap %ld ms, "
		     "at the end all was free after %ld ms\n",
		     is_good ? "" : "not ", number, n, budget, stops ? ", stops" : "",
		     done, (long)t->served, (long)t->exclusive, (long)t->overcommitted,
		     (long)t->failed, (long)t->gap_ms, (long)last);
	(void)munmap(t, sizeof(*t));
	(void)shm_unlink(segment);
	return is_good;
}

int
main(int argc, char **argv)
{
	long kills = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
	bool is_good = true;

	(void)snprintf(segment, sizeof(segment), "/gn-storm-%ld", (long)getpid());
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("1..3\n");
	is_good = storm_run(1, 12, 3, false, kills) && is_good;
	is_good = storm_run(2, CROWD_MAX, 4, false, kills) && is_good;
	is_good = storm_run(3, 12, 3, true, kills) && is_good;
	return is_good ? 0 : 1;
}
