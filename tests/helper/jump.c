/* SPDX-License-Identifier: MIT */
/*
 * A wall clock that jumps, for LD_PRELOAD: while the file $JUMP_FILE exists, the
 * time of day is $JUMP_SECONDS later (or, negative, earlier) than it is.  The
 * monotonic clocks are left alone, as they are when an administrator, or ntpd,
 * sets the clock.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t
jump_seconds(void)
{
	const char *file = getenv("JUMP_FILE"), *seconds = getenv("JUMP_SECONDS");

	if (file == NULL || seconds == NULL || access(file, F_OK) != 0)
		return 0;
	return (time_t)strtoll(seconds, NULL, 10);
}

int
clock_gettime(clockid_t clock, struct timespec *ret)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ret);

	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec += jump_seconds();
	return rc;
}

int
gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	ret->tv_sec = now.tv_sec;
	ret->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *ret)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return (time_t)-1;
	if (ret != NULL)
		*ret = now.tv_sec;
	return now.tv_sec;
}
