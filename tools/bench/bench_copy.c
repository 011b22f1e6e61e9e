/* SPDX-License-Identifier: MIT */
/*
 * What a copy of the working directory's tree costs: ms to make it and to remove it.
 *
 * usage: bench_copy overlay|portable|bare [runs]
 */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "supervisor/prove/copy.h"

static double
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

static void
bench_one(const struct ground *g, const struct storage *s, unsigned n)
{
	struct pollfd fd = { .events = POLLIN };
	struct error error = ERROR_INIT;
	double start = now_ms(), made;
	uint64_t bytes;
	struct copy c;

	if (copy_start(g, s, n, false, &c, &error) < 0)
		errx(2, "%s", error.text);
	fd.fd = c.maker_fd;
	(void)poll(&fd, 1, -1);
	if (copy_finish(&c, &error) < 0)
		errx(2, "%s", error.text);
	made = now_ms();
	if (copy_remove(&c, &bytes, &error) < 0)
		errx(2, "%s", error.text);
	(void)printf("%.2f\t%.2f\t%" PRIu64 "\n", made - start, now_ms() - made, bytes);
}

int
main(int argc, char *argv[])
{
	struct ground ground = GROUND_INIT;
	struct storage storage = STORAGE_INIT;
	struct error error = ERROR_INIT;
	unsigned i, runs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;

	if (argc < 2 || setenv(GROUND_COPY_VARIABLE, argv[1], 1) < 0)
		errx(2, "usage: bench_copy overlay|portable|bare [runs]");
	if (ground_find(&ground, &error) < 0 ||
	    storage_open(ground.tmp, &storage, &error) < 0)
		errx(2, "%s", error.text);
	for (i = 0; i < runs; i++)
		bench_one(&ground, &storage, i);
	if (storage_close(&storage, &error) < 0)
		errx(2, "%s", error.text);
	ground_release(&ground);
	return 0;
}
