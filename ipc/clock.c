/* SPDX-License-Identifier: MIT */
#include "ipc/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static int64_t
clock_read_ms(clockid_t id)
{
	struct timespec ts = { 0, 0 };

	(void)clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_now_ms(void)
{
	return clock_read_ms(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
	return clock_read_ms(CLOCK_REALTIME);
}

const char *
clock_to_text(int64_t wall_ms, char text[CLOCK_TEXT_SIZE])
{
	struct tm tm;
	int64_t ms;
	time_t secs;
	char day[CLOCK_TEXT_SIZE - 5];

	/* Years have up to nine digits here, and a sign. */
	if (wall_ms < INT64_MIN + 1000)
		wall_ms = INT64_MIN + 1000;
	/* Round towards the past, before 1970 as well. */
	ms = (wall_ms % 1000 + 1000) % 1000;
	secs = (time_t)((wall_ms - ms) / 1000);
	if (gmtime_r(&secs, &tm) == NULL ||
	    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		(void)snprintf(day, sizeof(day), "1970-01-01T00:00:00");
	(void)snprintf(text, CLOCK_TEXT_SIZE, "%s.%03dZ", day, (int)ms);
	return text;
}

int
clock_timeout_ms(int64_t deadline_ms)
{
	int64_t left;

	if (deadline_ms < 0)
		return -1;
	left = deadline_ms - clock_now_ms();
	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}
