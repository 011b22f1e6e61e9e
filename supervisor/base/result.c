/* SPDX-License-Identifier: MIT */
#include "supervisor/base/result.h"

#include <stdlib.h>

void
result_release(struct result *r)
{
	if (r == NULL)
		return;
	free(r->tail);
	free(r->log);
	free(r->log_error);
	free(r->environment);
	free(r->ran_nothing);
	free(r->error);
	*r = (struct result)RESULT_INIT;
}
