/* SPDX-License-Identifier: MIT */
/*
 * Offspring: what descends from this process, which is its subreaper.
 */
#ifndef SUPERVISOR_PROVE_OFFSPRING_H
#define SUPERVISOR_PROVE_OFFSPRING_H

/*
 * Kill and reap children until there is none, those that come to us by a death included;
 * for at most `limit_ms`.
 */
void offspring_end(int limit_ms);
/*
 * A child of ours that would have done that was killed: kill what has the run `id` in
 * TURN_CHAIN_VARIABLE of its environment, whosever child it is.  Other children of ours,
 * which whoever became us has left us, stay.
 */
void offspring_end_run(const char *id, int limit_ms);

#endif
