/* SPDX-License-Identifier: MIT */
/*
 * The protocol of the slots, for spin(1); tests/ipc/model.sh checks it.
 *
 *   here            stands for
 *   JOIN            slot_request, slots_take, slot_join     (ipc/slot.c)
 *   WAIT, TAKE      slots_poll, slots_have_cause, slot_answer, slot_adopt
 *   GIVE            slot_release, slot_is_awaited, slot_give
 *   settle          table_sweep, table_settle               (ipc/slot_table.c)
 *   write_back      seat_exit, seat_write_entries           (ipc/slot_seat.c)
 *   byte[i]         the OFD lock on the byte of entry i
 *   lock            the OFD lock on the table's byte
 *
 * Each process asks, holds, and gives back; the first is exclusive.  At any step between two writes
 * some are killed: the kernel drops their locks.  Some freeze while they wait.  An
 * offer to another may be found too old at any time, and is if that one is frozen.
 * Writing one entry is one step; computing under the lock is one, since nobody else
 * writes then.  An entry belongs to one process here.
 *
 * Checked: nobody holds what another has (assert in `check`); who asked later is not
 * served first (assert in `leave`); and every process that lives comes to its end:
 * where one cannot, spin reports an invalid end state.  With finitely many processes
 * this is the end of the exclusive one as well.
 *
 * FAULT plants one that must be found:
 *   1  offers are written before what they are made of is taken back
 *   2  who waits looks for the dead, and not whether there is room
 *   3  a late offer is taken all the same
 *   4  the entries of the dead are never freed
 */
#define N 3
#define BUDGET 2
#define EXCLUSIVE 9
#ifndef KILLS
#define KILLS 1
#endif
#ifndef FREEZES
#define FREEZES 1
#endif
#ifndef FAULT
#define FAULT 0
#endif
#ifndef WANT
#define WANT 1 /* of the processes that are not exclusive */
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* how often the exclusive one asks */
#endif
#define NONE 7

#define FREE 0
#define WAIT 1
#define OFFER 2
#define HELD 3
#define PASSED 4

byte state[N], ticket[N], got[N], want[N]; /* the table */
bit alive[N];	  /* byte of the entry is locked */
byte holds[N];	  /* what the process itself acts upon */
bit killed[N], frozen[N], was_passed[N];
bit stale[N];	  /* the table has changed since the process looked */
byte lock = NONE; /* owner of the table lock */
byte kills = KILLS, freezes = FREEZES, rounds = ROUNDS;

#define TURN_ALL stale[0] = 1; stale[1] = 1; stale[2] = 1

inline check()
{
		assert((holds[0] < EXCLUSIVE && holds[1] < EXCLUSIVE && holds[2] < EXCLUSIVE &&
			holds[0] + holds[1] + holds[2] <= BUDGET) ||
		       (holds[0] == EXCLUSIVE && holds[1] + holds[2] == 0) ||
		       (holds[1] == EXCLUSIVE && holds[0] + holds[2] == 0) ||
		       (holds[2] == EXCLUSIVE && holds[0] + holds[1] == 0));
}

/* cs, cg: the copy that is worked on; me: granted at once; NONE: nobody is. */
inline settle(me)
{
	used = 0;
	holders = 0;
	k = 0;
	do
	:: k < N ->
		if
		:: (cs[k] == OFFER || cs[k] == HELD || cs[k] == PASSED) && !alive[k] && k != me && FAULT != 4 ->
			cs[k] = FREE
		:: cs[k] == OFFER && alive[k] && k != me && (frozen[k] || late) ->
			cs[k] = PASSED
		:: else
		fi;
		if
		:: cs[k] == OFFER || cs[k] == HELD ->
			used = used + (cg[k] == EXCLUSIVE -> BUDGET : cg[k]);
			holders++
		:: else
		fi;
		k++
	:: else -> break
	od;
	do
	:: true ->
		first = NONE;
		k = 0;
		do
		:: k < N ->
			if
			:: cs[k] == WAIT && (first == NONE || ct[k] < ct[first]) -> first = k
			:: else
			fi;
			k++
		:: else -> break
		od;
		if
		:: first == NONE -> break
		:: first != NONE && !alive[first] && first != me -> cs[first] = FREE
		:: first != NONE && (alive[first] || first == me) &&
		   (want[first] == EXCLUSIVE -> holders == 0 : used + want[first] <= BUDGET) ->
			cg[first] = want[first];
			cs[first] = (first == me -> HELD : OFFER);
			used = used + (cg[first] == EXCLUSIVE -> BUDGET : cg[first]);
			holders++
		:: else -> break
		fi
	od;
	k = 0;
	first = 0
}

inline copy_table()
{
	k = 0;
	do
	:: k < N -> cs[k] = state[k]; cg[k] = got[k]; ct[k] = ticket[k]; k++
	:: else -> break
	od;
	k = 0
}

/* The next entry to be written, in `k`: what takes first, then what gives. */
inline write_next()
{
	d_step {
		first = NONE;
		k = 0;
		do
		:: k < 2 * N ->
			if
			:: first == NONE && (cs[k % N] != state[k % N] || ct[k % N] != ticket[k % N] || cg[k % N] != got[k % N]) &&
			   ((k >= N) ^ (FAULT == 1)) == (cs[k % N] == OFFER || cs[k % N] == HELD) ->
				first = k % N
			:: else
			fi;
			k++
		:: else -> break
		od;
		k = first;
		first = 0;
		if
		:: k != NONE ->
			if
			:: cs[k] == PASSED -> was_passed[k] = 1
			:: else
			fi;
			state[k] = cs[k]; got[k] = cg[k]; ticket[k] = ct[k];
			TURN_ALL
		:: else
		fi
	}
}

/* Killed in between, some is written. */
inline write_back()
{
	do
	:: write_next();
		if
		:: k == NONE -> break
		:: else
		fi
	od;
	k = 0
}

/* Unlock; what stands there as held is held. */
inline leave(me)
{
	d_step {
		lock = NONE;
		k = 0;
		if
		:: cs[me] == HELD ->
			do
			:: k < N ->
				assert(!(k != me && state[k] == WAIT && alive[k] &&
					 !was_passed[k] && ticket[k] < ticket[me]));
				k++
			:: else -> break
			od;
			holds[me] = got[me]
		:: else
		fi;
		check();
		forget()
	}
}

inline forget()
{
	k = 0;
	do
	:: k < N -> cs[k] = 0; cg[k] = 0; ct[k] = 0; k++
	:: else -> break
	od;
	k = 0; first = 0; used = 0; holders = 0; late = 0
}

#define OFFERED(i) (state[i] == OFFER)
/* Time passes, or not, where that makes a difference. */
inline time_passes()
{
	if
	:: late = 0
	:: OFFERED(0) || OFFERED(1) || OFFERED(2) -> late = 1
	fi
}

proctype process(byte me)
{
	byte cs[N], cg[N], ct[N];
	byte used, holders, first, k;
	bit late, cause;

	{
		skip;
again:
		/* JOIN */
		atomic {
			lock == NONE -> lock = me;
			time_passes();
			d_step {
				alive[me] = 1;
				copy_table();
				ct[me] = 1;
				do
				:: k < N ->
					if
					:: ct[me] <= ct[k] && k != me -> ct[me] = ct[k] + 1
					:: else
					fi;
					k++
				:: else -> break
				od;
				cs[me] = WAIT; cg[me] = 0;
				settle(me)
			}
		}
		write_back();
		leave(me);

		/* WAIT: until there is a cause; then TAKE */
		do
		:: holds[me] > 0 -> break
		:: else ->
			atomic {
				time_passes();
				d_step {
					stale[me] = 0;
					copy_table();
					cause = (cs[me] != WAIT);
					settle(me);
					do
					:: k < N ->
						if
						:: cs[k] != state[k] && (FAULT != 2 || cs[k] == FREE) -> cause = 1
						:: else
						fi;
						k++
					:: else -> break
					od;
					forget()
				}
			}
			if
			:: atomic {
				cause && lock == NONE -> lock = me;
				cause = 0;
				time_passes();
				d_step {
					copy_table();
					if
					:: cs[me] == OFFER -> cs[me] = HELD
					:: cs[me] == PASSED -> cs[me] = (FAULT == 3 -> HELD : WAIT)
					:: else
					fi;
					settle(me)
				}
			   }
				write_back();
				leave(me)
			:: !cause && stale[me]
			:: atomic {
				!cause && !stale[me] && freezes > 0 ->
				freezes--; frozen[me] = 1; TURN_ALL
			   }
				goto cold
			fi
		od;

		/* GIVE: past its holding, the slots count as free */
		atomic {
			holds[me] = 0;
			cause = (state[0] == WAIT || state[0] == OFFER || state[0] == PASSED ||
				 state[1] == WAIT || state[1] == OFFER || state[1] == PASSED ||
				 state[2] == WAIT || state[2] == OFFER || state[2] == PASSED)
		}
		if
		:: atomic {
			cause && lock == NONE -> lock = me;
			time_passes();
			d_step {
				copy_table();
				cs[me] = FREE;
				settle(NONE)
			}
		   }
			write_back();
			d_step { lock = NONE; cause = 0; forget() }
		:: !cause
		fi;
		d_step { alive[me] = 0; was_passed[me] = 0; TURN_ALL }
		if
		:: me == 0 && rounds > 1 -> rounds--; goto again
		:: else
		fi;
		goto over;
cold:
		/* Stopped for ever, its byte locked. */
end_frozen:
		false;
over:
		skip
	} unless {
		killed[me]
	}
}

/* SIGKILL; the kernel drops the locks of the dead. */
active proctype killer()
{
	byte i;

	do
	:: kills > 0 ->
		if
		:: i = 0
		:: i = 1
		:: i = 2
		fi;
		d_step {
			kills--;
			killed[i] = 1;
			holds[i] = 0;
			alive[i] = 0;
			if
			:: lock == i -> lock = NONE
			:: else
			fi;
			TURN_ALL
		}
	:: break
	od
}

init
{
	atomic {
		want[0] = EXCLUSIVE;
		want[1] = WANT;
		want[2] = WANT;
		run process(0);
		run process(1);
		run process(2)
	}
}
