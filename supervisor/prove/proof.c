/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/proof.h"

#include <stdlib.h>

void
proof_release(struct proof *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->nchanged_kept; i++)
		free(p->changed[i]);
	free(p->changed);
	free(p->part);
	free(p->detail);
	free(p->tail);
	free(p->log);
	*p = (struct proof)PROOF_INIT;
}
