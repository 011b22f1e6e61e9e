/* SPDX-License-Identifier: MIT */
/*
 * Enclosing: the hold that this process runs inside of.
 *
 * A step says it in its environment, and not all of that arrives: env -i, sudo and the
 * strict mode of task runners take it away.  Whoever did not know then would queue behind
 * the very step that waits for it.  So the processes around this one are looked at as
 * well: the environment that each was started with, and the hold that it has a descriptor
 * of, as the worker of a step and the command of `gate run` do.
 */
#ifndef SUPERVISOR_RUN_ENCLOSING_H
#define SUPERVISOR_RUN_ENCLOSING_H

#define ENCLOSING_VARIABLE "GEONOSIS_HEAVY_SLOT_HELD"

/*
 * The token of the innermost live hold around this process, to be freed; NULL where there
 * is none, or none that can be seen.  `segment` as in struct slots_config.
 */
char *enclosing_token(const char *segment);

#endif
