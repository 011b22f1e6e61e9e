/* SPDX-License-Identifier: MIT */
/*
 * Offspring: every process that descends from this one, which is its subreaper.
 */
#ifndef SUPERVISOR_PROVE_OFFSPRING_H
#define SUPERVISOR_PROVE_OFFSPRING_H

/*
 * Kill and reap children until there is none, those that come to us by a death included;
 * for at most `limit_ms`.
 */
void offspring_end(int limit_ms);

#endif
