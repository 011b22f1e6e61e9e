/* SPDX-License-Identifier: MIT */
/*
 * Jobs: how many steps of a run go at once, and what bound that number.
 */
#ifndef SUPERVISOR_RUN_JOBS_H
#define SUPERVISOR_RUN_JOBS_H

#include "ipc/error.h"
#include "supervisor/run/machine.h"

struct jobs {
	unsigned count; /* at least 1 */
	char bound[64]; /* "--jobs", "GEONOSIS_JOBS", "caps.heavy", or what the machine
			 * says
			 */
};

/*
 * `option` is --jobs (0: not given), `cap` is caps.heavy (0: none).  Without the option
 * GEONOSIS_JOBS decides, else the machine's share; the cap bounds each.  GEONOSIS_JOBS
 * set to no positive whole number is refused by name.
 */
int jobs_decide(unsigned option, unsigned cap, const struct machine *machine,
		struct jobs *ret_jobs, struct error *err);

#endif
