/* SPDX-License-Identifier: MIT */
#include "supervisor/run/jobs.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	JOBS_MAX = 100000
};

/* GEONOSIS_JOBS; 0 where it is not set. */
static int
jobs_from_environment(unsigned *ret_count, struct error *err)
{
	const char *text = getenv("GEONOSIS_JOBS");
	const char *why = NULL;
	long long n = 0;

	if (text != NULL && *text != '\0')
		n = strtonum(text, 1, JOBS_MAX, &why);
	if (why != NULL)
		return error_set(err, ERROR_USAGE,
				 "GEONOSIS_JOBS: \"%.100s\" is %s; it must be a whole "
				 "number from 1 to %d",
				 text, why, JOBS_MAX);
	*ret_count = (unsigned)n;
	return 0;
}

int
jobs_decide(unsigned option, unsigned cap, const struct machine *machine,
	    struct jobs *ret_jobs, struct error *err)
{
	const char *bound = "--jobs";
	unsigned count = option;

	if (count == 0) {
		bound = "GEONOSIS_JOBS";
		if (jobs_from_environment(&count, err) < 0)
			return -1;
	}
	if (count == 0) {
		bound = machine->bound;
		count = machine->share;
	}
	if (cap > 0 && cap < count) {
		bound = "caps.heavy";
		count = cap;
	}
	ret_jobs->count = count;
	(void)snprintf(ret_jobs->bound, sizeof(ret_jobs->bound), "%s", bound);
	return 0;
}
