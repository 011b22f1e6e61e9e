/* SPDX-License-Identifier: MIT */
/*
 * What does the key of a tree cost?  usage: bench_key [-n ROUNDS] DIR…
 *
 * For each repository, in turns, one round each: the floor (lstat of every tracked path,
 * by one thread and by two), the key, and `git status --porcelain`.  Prints, tab
 * separated: directory, contender, median and best wall milliseconds, best processor
 * milliseconds, and the ratio of best walls to the first floor.  The key is computed in
 * this process, git is started: add the start of a process (floor_empty) for fairness.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "git/ask.h"
#include "git/tree_key.h"
#include "ipc/mem.h"

enum {
	ROUNDS_MAX = 1000
};

struct paths {
	const char **path;
	size_t n;
};

struct slice {
	const struct paths *paths;
	size_t from, to;
};

struct sample {
	double wall, cpu;
};

static double
seconds(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *
slice_stat(void *context)
{
	const struct slice *s = context;
	struct stat st;
	size_t i;

	for (i = s->from; i < s->to; i++)
		(void)lstat(s->paths->path[i], &st);
	return NULL;
}

static void
floor_one(const struct paths *p)
{
	struct slice all = { p, 0, p->n };

	(void)slice_stat(&all);
}

static void
floor_two(const struct paths *p)
{
	struct slice first = { p, 0, p->n / 2 }, second = { p, p->n / 2, p->n };
	pthread_t other;

	if (pthread_create(&other, NULL, slice_stat, &second) != 0)
		errx(1, "no thread");
	(void)slice_stat(&first);
	(void)pthread_join(other, NULL);
}

static void
key_run(const struct paths *p)
{
	struct tree_key k = TREE_KEY_INIT;
	struct error e = ERROR_INIT;

	(void)p;
	if (tree_key_compute(".", NULL, &k, &e) < 0)
		errx(1, "%s", e.text);
	tree_key_release(&k);
}

static void
status_run(const struct paths *p)
{
	char *argv[] = { xstrdup("git"), xstrdup("status"), xstrdup("--porcelain"),
			 NULL };
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	(void)p;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, "git", &actions, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) < 0 || status != 0)
		errx(1, "git status failed");
	(void)posix_spawn_file_actions_destroy(&actions);
	free(argv[0]);
	free(argv[1]);
	free(argv[2]);
}

static double
children_cpu(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int
sample_compare(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->wall < y->wall ? -1 : x->wall > y->wall;
}

static void
paths_read(struct paths *p, struct buf *listing)
{
	static const char *const arguments[] = { "ls-files", "-z", NULL };
	struct error e = ERROR_INIT;
	const char *at, *end;
	size_t room = 0;

	if (ask_git(".", arguments, listing, &e) != 1)
		errx(1, "%s", e.text);
	at = buf_text(listing);
	for (end = at + listing->len; at < end; at += strlen(at) + 1) {
		p->path = xgrow(p->path, p->n + 1, &room, sizeof(*p->path));
		p->path[p->n++] = at;
	}
}

static void
directory_bench(const char *dir, int rounds)
{
	static const struct {
		const char *name;
		void (*run)(const struct paths *);
	} contenders[] = { { "lstat, 1 thread", floor_one },
			   { "lstat, 2 threads", floor_two },
			   { "key", key_run },
			   { "git status", status_run } };
	static struct sample samples[4][ROUNDS_MAX];
	struct paths p = { NULL, 0 };
	struct buf listing = BUF_INIT;
	int i, r;

	paths_read(&p, &listing);
	for (r = -1; r < rounds; r++) {
		for (i = 0; i < 4; i++) {
			double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) + children_cpu();
			double wall = seconds(CLOCK_MONOTONIC);

			contenders[i].run(&p);
			samples[i][r < 0 ? 0 : r] =
			    (struct sample){ seconds(CLOCK_MONOTONIC) - wall,
					     seconds(CLOCK_PROCESS_CPUTIME_ID) +
						 children_cpu() - cpu };
		}
	}
	for (i = 0; i < 4; i++) {
		double cpu = samples[i][0].cpu;

		for (r = 1; r < rounds; r++)
			cpu = samples[i][r].cpu < cpu ? samples[i][r].cpu : cpu;
		qsort(samples[i], (size_t)rounds, sizeof(samples[i][0]), sample_compare);
		printf("%s (%zu)\t%s\t%.2f\t%.2f\t%.2f\t%.2f\n", dir, p.n,
		       contenders[i].name, samples[i][rounds / 2].wall,
		       samples[i][0].wall, cpu, samples[i][0].wall / samples[0][0].wall);
	}
	free(p.path);
	buf_release(&listing);
}

int
main(int argc, char **argv)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), c, rounds = 20;

	while ((c = getopt(argc, argv, "n:")) != -1) {
		rounds = c == 'n' ? atoi(optarg) : 0;
		if (rounds < 1 || rounds > ROUNDS_MAX)
			errx(2, "usage: bench_key [-n ROUNDS] DIR…");
	}
	for (; optind < argc; optind++) {
		if (fchdir(here) < 0 || chdir(argv[optind]) < 0)
			err(1, "%s", argv[optind]);
		directory_bench(argv[optind], rounds);
	}
	return 0;
}
