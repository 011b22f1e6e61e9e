/* SPDX-License-Identifier: MIT */
#include "ipc/clock.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct text_case {
	int64_t ms;
	const char *text;
};

static const struct text_case texts[] = {
	{ 0, "1970-01-01T00:00:00.000Z" },
	{ 1, "1970-01-01T00:00:00.001Z" },
	{ 999, "1970-01-01T00:00:00.999Z" },
	{ 1000, "1970-01-01T00:00:01.000Z" },
	{ -1, "1969-12-31T23:59:59.999Z" },
	{ -999, "1969-12-31T23:59:59.001Z" },
	{ -1000, "1969-12-31T23:59:59.000Z" },
	{ -1001, "1969-12-31T23:59:58.999Z" },
	{ -2208988800000, "1900-01-01T00:00:00.000Z" },
	{ 951782400000, "2000-02-29T00:00:00.000Z" },
	{ 1791972723000, "2026-10-14T10:12:03.000Z" },
	{ 2147483648000, "2038-01-19T03:14:08.000Z" },
	{ 4102444799999, "2099-12-31T23:59:59.999Z" },
	{ 253402300799999, "9999-12-31T23:59:59.999Z" },
	{ 253402300800000, "10000-01-01T00:00:00.000Z" },
};

Test(clock, text)
{
	char text[CLOCK_TEXT_SIZE];

	for (size_t i = 0; i < COUNT(texts); i++) {
		cr_expect_eq(clock_to_text(texts[i].ms, text), text);
		cr_expect_str_eq(text, texts[i].text, "%lld: %s", (long long)texts[i].ms,
				 text);
	}
}

Test(clock, text_is_utc_wherever_we_are)
{
	char text[CLOCK_TEXT_SIZE];

	cr_assert_eq(setenv("TZ", "America/St_Johns", 1), 0);
	tzset();
	cr_expect_str_eq(clock_to_text(1791972723004, text), "2026-10-14T10:12:03.004Z");
}

/* A clock may stand anywhere, and a record may hold any number. */
static const int64_t far[] = {
	INT64_MAX,	 INT64_MAX - 1,	  INT64_MIN,	   INT64_MIN + 1,
	INT64_MIN + 999, INT64_MAX / 10,  INT64_MIN / 10,  INT64_MAX / 100,
	INT64_MIN / 100, INT64_MAX / 997, INT64_MIN / 997, 1LL << 53,
	-(1LL << 53),
};

Test(clock, text_of_any_number_is_bounded)
{
	struct {
		char text[CLOCK_TEXT_SIZE];
		char guard[8];
	} room;

	for (size_t i = 0; i < COUNT(far); i++) {
		long long ms = far[i];

		memset(&room, '#', sizeof(room));
		cr_expect_eq(clock_to_text(far[i], room.text), room.text);
		cr_expect_not_null(memchr(room.text, '\0', CLOCK_TEXT_SIZE), "%lld", ms);
		cr_expect_eq(memcmp(room.guard, "########", 8), 0, "%lld", ms);
		cr_expect_eq(room.text[strlen(room.text) - 1], 'Z', "%lld: %s", ms,
			     room.text);
	}
}

/* Not told as another time than it is. */
Test(clock, text_of_a_far_time_is_not_1970)
{
	char text[CLOCK_TEXT_SIZE];

	for (size_t i = 0; i < COUNT(far); i++)
		cr_expect_neq(strncmp(clock_to_text(far[i], text), "1970-", 5), 0,
			      "%lld: %s", (long long)far[i], text);
}

Test(clock, now_never_goes_back)
{
	int64_t last = clock_now_ms();

	for (int i = 0; i < 10000; i++) {
		int64_t now = clock_now_ms();

		cr_assert_geq(now, last);
		last = now;
	}
}

Test(clock, now_counts_milliseconds)
{
	int64_t start = clock_now_ms();
	int64_t took;

	(void)poll(NULL, 0, 50);
	took = clock_now_ms() - start;
	cr_expect_geq(took, 49);
	cr_expect_lt(took, 5000);
}

Test(clock, wall_is_the_time_of_day)
{
	int64_t off = clock_wall_ms() - (int64_t)time(NULL) * 1000;

	cr_expect(off > -2000 && off < 2000, "off by %lld ms", (long long)off);
}

Test(clock, timeout)
{
	int64_t now = clock_now_ms();
	int left;

	cr_expect_eq(clock_timeout_ms(-1), -1);
	cr_expect_eq(clock_timeout_ms(INT64_MIN), -1);
	cr_expect_eq(clock_timeout_ms(0), 0);
	cr_expect_eq(clock_timeout_ms(now), 0);
	cr_expect_eq(clock_timeout_ms(now - 1), 0);
	cr_expect_eq(clock_timeout_ms(INT64_MAX), INT_MAX);
	cr_expect_eq(clock_timeout_ms(now + (int64_t)INT_MAX + 60000), INT_MAX);
	left = clock_timeout_ms(now + 60000);
	cr_expect(left > 50000 && left <= 60000, "%d", left);
}
