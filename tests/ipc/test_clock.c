/* SPDX-License-Identifier: MIT */
#include "ipc/clock.h"

#include <criterion/criterion.h>
#include <limits.h>

Test(clock, wall_time_as_text)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1791972723000, "2026-10-14T10:12:03.000Z" },
		{ 951782400007, "2000-02-29T00:00:00.007Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[CLOCK_TEXT_SIZE];

		cr_expect_str_eq(clock_to_text(rows[i].ms, text), rows[i].text);
	}
}

Test(clock, timeouts_of_deadlines)
{
	int64_t now = clock_now_ms();

	cr_expect_eq(clock_timeout_ms(-1), -1, "no deadline waits for ever");
	cr_expect_eq(clock_timeout_ms(now - 10), 0, "a past one does not wait");
	cr_expect_eq(clock_timeout_ms(INT64_MAX), INT_MAX, "a far one is bounded");
	cr_expect_gt(clock_timeout_ms(now + 60000), 50000);
	cr_expect_leq(clock_timeout_ms(now + 60000), 60000);
	cr_expect_geq(clock_now_ms(), now);
}
