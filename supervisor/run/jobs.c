/* SPDX-License-Identifier: MIT */
#include "supervisor/run/jobs.h"

#include <bsd/stdlib.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	JOBS_MAX = 100000
};

/* 1 with the number, 0 where the variable is not set or empty, -1 refused. */
static int
jobs_from_variable(const char *name, struct jobs *ret_jobs, struct error *err)
{
	const char *text = getenv(name);
	const char *why;
	long long n;

	if (text == NULL || *text == '\0')
		return 0;
	n = strtonum(text, 1, JOBS_MAX, &why);
	if (why != NULL)
		return error_set(
		    err, ERROR_USAGE,
		    "%s: \"%.100s\" is %s; it must be a whole number from 1 to %d", name,
		    text, why, JOBS_MAX);
	ret_jobs->count = (unsigned)n;
	(void)snprintf(ret_jobs->bound, sizeof(ret_jobs->bound), "%s", name);
	return 1;
}

static void
jobs_from_machine(struct jobs *ret_jobs)
{
	cpu_set_t cpus;
	int n = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = CPU_COUNT(&cpus);
	ret_jobs->count = n > 0 ? (unsigned)n : 1;
	(void)snprintf(ret_jobs->bound, sizeof(ret_jobs->bound), "the machine's %u CPU%s",
		       ret_jobs->count, ret_jobs->count == 1 ? "" : "s");
}

int
jobs_decide(unsigned option, unsigned cap, struct jobs *ret_jobs, struct error *err)
{
	struct jobs j = { .count = option, .bound = "--jobs" };
	int rc;

	if (option == 0) {
		rc = jobs_from_variable("GEONOSIS_JOBS", &j, err);
		if (rc == 0)
			rc = jobs_from_variable("GEONOSIS_HEAVY_SLOTS", &j, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			jobs_from_machine(&j);
	}
	if (cap > 0 && cap < j.count) {
		j.count = cap;
		(void)snprintf(j.bound, sizeof(j.bound), "caps.heavy");
	}
	*ret_jobs = j;
	return 0;
}
