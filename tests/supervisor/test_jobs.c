/* SPDX-License-Identifier: MIT */
#include "supervisor/run/jobs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct machine machine = { .share = 6, .bound = "the machine's 6 CPUs" };

struct jobs_case {
	unsigned option;
	const char *variable; /* GEONOSIS_JOBS; NULL: not set */
	unsigned cap;
	unsigned count;
	const char *bound;
};

static const struct jobs_case decided[] = {
	{ 0, NULL, 0, 6, "the machine's 6 CPUs" },
	{ 0, NULL, 4, 4, "caps.heavy" },
	{ 0, NULL, 6, 6, "the machine's 6 CPUs" },
	{ 0, NULL, 7, 6, "the machine's 6 CPUs" },
	{ 0, NULL, 1, 1, "caps.heavy" },
	{ 0, "3", 0, 3, "GEONOSIS_JOBS" },
	{ 0, "12", 0, 12, "GEONOSIS_JOBS" }, /* jobs may exceed the budget */
	{ 0, "12", 5, 5, "caps.heavy" },
	{ 0, "5", 5, 5, "GEONOSIS_JOBS" },
	{ 0, "100000", 0, 100000, "GEONOSIS_JOBS" },
	{ 2, "3", 0, 2, "--jobs" },
	{ 2, NULL, 1, 1, "caps.heavy" },
	{ 9, NULL, 0, 9, "--jobs" },
	{ 9, "3", 20, 9, "--jobs" },
	{ 2, "rubbish", 0, 2, "--jobs" }, /* it is not asked */
	{ 4000000000U, NULL, 0, 4000000000U, "--jobs" },
};

static void
set_variable(const char *value)
{
	if (value != NULL)
		cr_assert_eq(setenv("GEONOSIS_JOBS", value, 1), 0);
	else
		cr_assert_eq(unsetenv("GEONOSIS_JOBS"), 0);
}

Test(jobs, decided)
{
	for (size_t i = 0; i < COUNT(decided); i++) {
		const struct jobs_case *c = &decided[i];
		struct error err = ERROR_INIT;
		struct jobs j;

		set_variable(c->variable);
		cr_assert_eq(jobs_decide(c->option, c->cap, &machine, &j, &err), 0,
			     "row %zu: %s", i, err.text);
		cr_expect_eq(j.count, c->count, "row %zu: %u", i, j.count);
		cr_expect_str_eq(j.bound, c->bound, "row %zu: %s", i, j.bound);
	}
}

static const char *const refused[] = {
	"0",
	"-1",
	"00",
	"1.5",
	"4x",
	"x",
	"1e3",
	"0x4",
	"4 ",
	" ",
	"\n",
	"--jobs",
	"99999999999999999999",
	"-99999999999",
	"+",
	"1 2",
	"4\n",
	"∞",
	"4294967297",
};

Test(jobs, refused_by_name)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct error err = ERROR_INIT;
		struct jobs j = { .count = 77 };

		set_variable(refused[i]);
		cr_expect_eq(jobs_decide(0, 2, &machine, &j, &err), -1, "<%s>",
			     refused[i]);
		cr_expect_eq(err.kind, ERROR_USAGE);
		cr_expect_eq(strncmp(err.text, "GEONOSIS_JOBS: ", 15), 0, "%s", err.text);
		cr_expect_eq(j.count, 77, "written on failure");
	}
}

Test(jobs, long_values_are_cut_in_the_message)
{
	struct error err = ERROR_INIT;
	char value[5000];
	struct jobs j;

	memset(value, '9', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	set_variable(value);
	cr_expect_eq(jobs_decide(0, 0, &machine, &j, &err), -1);
	cr_expect_lt(strlen(err.text), 400);
}
