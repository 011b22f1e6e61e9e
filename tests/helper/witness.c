/* SPDX-License-Identifier: MIT */
/*
 * A step that is seen from outside, whatever becomes of it.
 *
 *	witness DIR NAME WEIGHT MS command [argument]...
 *
 * Runs the command and stays for at least MS milliseconds.  Meanwhile it has a lock
 * on a file of its own, DIR/<directory>.NAME.<pid>, and writes into it, once a
 * millisecond, { start, last beat, end or 0, WEIGHT } as 64-bit numbers, times in
 * nanoseconds of CLOCK_MONOTONIC: where it was killed, the last beat is when it was
 * surely alive.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LIFETIME_SECONDS = 120
};

struct record {
	int64_t start_ns, beat_ns, end_ns, weight;
};

static int64_t
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int
record_open(const char *dir, const char *name)
{
	char path[PATH_MAX], here[PATH_MAX];
	const char *base = getcwd(here, sizeof(here)) != NULL ? strrchr(here, '/') : NULL;
	int fd;

	if (base == NULL)
		err(71, "the working directory");
	if (snprintf(path, sizeof(path), "%s/%s.%s.%ld", dir, base + 1, name,
		     (long)getpid()) >= (int)sizeof(path))
		errx(64, "%s: too long", dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		err(73, "%s", path);
	return fd;
}

static void
record_write(int fd, const struct record *r)
{
	if (pwrite(fd, r, sizeof(*r), 0) != (ssize_t)sizeof(*r))
		err(74, "the record");
}

int
main(int argc, char *argv[])
{
	const struct timespec beat = { .tv_nsec = 1000000 };
	struct record r = { .start_ns = now_ns() };
	int64_t until_ns;
	int status = 0;
	pid_t pid;
	int fd;

	if (argc < 6)
		errx(64, "usage: witness DIR NAME WEIGHT MS command...");
	(void)alarm(LIFETIME_SECONDS);
	r.beat_ns = r.start_ns;
	r.weight = atoi(argv[3]);
	until_ns = r.start_ns + (int64_t)atoi(argv[4]) * 1000000;
	fd = record_open(argv[1], argv[2]);
	record_write(fd, &r);
	pid = fork();
	if (pid < 0)
		err(71, "fork");
	if (pid == 0) {
		(void)execvp(argv[5], argv + 5);
		err(127, "%s", argv[5]);
	}
	while (waitpid(pid, &status, WNOHANG) == 0 || now_ns() < until_ns) {
		(void)nanosleep(&beat, NULL);
		r.beat_ns = now_ns();
		record_write(fd, &r);
	}
	r.end_ns = r.beat_ns = now_ns();
	record_write(fd, &r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
