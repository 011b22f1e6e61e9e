/* SPDX-License-Identifier: MIT */
#include "ipc/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ELLIPSIS "\xe2\x80\xa6"

enum {
	TEXT_ROOM = sizeof(((struct error *)NULL)->text)
};

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s);
	size_t m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* As the C library sees it. */
static bool
is_utf8(const char *s)
{
	return mbstowcs(NULL, s, 0) != (size_t)-1;
}

static void
set_locale(void)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

TestSuite(error, .init = set_locale);

/* A string of n bytes: `lead` times 'a', then the piece again and again, cut at n. */
static char *
text_of(size_t lead, const char *piece, size_t times)
{
	size_t n = strlen(piece);
	char *s = calloc(lead + n * times + 1, 1);
	size_t i;

	memset(s, 'a', lead);
	for (i = 0; i < times; i++)
		memcpy(s + lead + i * n, piece, n);
	return s;
}

Test(error, set_fills_and_returns_minus_one)
{
	struct error err = { ERROR_SYSTEM, ENOENT, "older and longer than what comes" };

	cr_expect_eq(error_set(&err, ERROR_CONFIG, "%s:%d: %s", "file", 3, "wrong"), -1);
	cr_expect_eq(err.kind, ERROR_CONFIG);
	cr_expect_eq(err.errnum, 0, "an errno of before must not stay");
	cr_expect_str_eq(err.text, "file:3: wrong");
}

Test(error, system_has_the_errno_and_its_text)
{
	struct error err = ERROR_INIT;

	errno = ENOENT;
	cr_expect_eq(error_system(&err, "%s", "some/path"), -1);
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	cr_expect_eq(err.errnum, ENOENT);
	cr_expect_str_eq(err.text, "some/path: No such file or directory");
}

Test(error, system_with_a_long_name_keeps_the_errno)
{
	struct error err = ERROR_INIT;
	char *name = text_of(5000, "", 0);

	errno = ENAMETOOLONG;
	cr_expect_eq(error_system(&err, "%s", name), -1);
	cr_expect_eq(err.errnum, ENAMETOOLONG);
	cr_expect(ends_with(err.text, ELLIPSIS));
	free(name);
}

Test(error, wrap_puts_context_in_front_and_keeps_the_rest)
{
	struct error err = ERROR_INIT;

	errno = EACCES;
	(void)error_system(&err, "report");
	cr_expect_eq(error_wrap(&err, "tier %s", "fast"), -1);
	cr_expect_str_eq(err.text, "tier fast: report: Permission denied");
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	cr_expect_eq(err.errnum, EACCES);
}

Test(error, wrap_again_and_again_stays_sound)
{
	struct error err = ERROR_INIT;
	char head[32];

	(void)error_set(&err, ERROR_DATA, "the bottom \xe2\x82\xac");
	for (int i = 0; i < 1000; i++) {
		(void)error_wrap(&err, "layer %d \xf0\x9f\x98\x80", i);
		(void)snprintf(head, sizeof(head), "layer %d ", i);
		cr_assert_eq(strncmp(err.text, head, strlen(head)), 0, "%d", i);
		cr_assert_lt(strlen(err.text), TEXT_ROOM);
		cr_assert(is_utf8(err.text), "%d", i);
	}
	cr_expect(ends_with(err.text, ELLIPSIS));
	cr_expect_eq(err.kind, ERROR_DATA);
}

/* Around the room: whole as long as it fits, else cut with an ellipsis. */
Test(error, text_is_cut_only_where_it_does_not_fit)
{
	struct error err = ERROR_INIT;

	for (size_t n = TEXT_ROOM - 10; n < TEXT_ROOM + 10; n++) {
		char *s = text_of(n, "", 0);

		(void)error_set(&err, ERROR_USAGE, "%s", s);
		if (n < TEXT_ROOM) {
			cr_expect_str_eq(err.text, s, "%zu bytes", n);
		} else {
			size_t len = strlen(err.text);

			cr_expect(ends_with(err.text, ELLIPSIS), "%zu bytes", n);
			cr_expect_lt(len, TEXT_ROOM);
			cr_expect_gt(len, TEXT_ROOM - 10, "%zu: it uses its room", n);
			cr_expect_eq(strncmp(err.text, s, len - 3), 0);
		}
		free(s);
	}
}

static const char *const characters[] = { "\xc3\xa9", "\xe2\x82\xac",
					  "\xf0\x9f\x98\x80" };

Test(error, text_is_never_cut_inside_a_character)
{
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < COUNT(characters); i++) {
		for (size_t lead = 0; lead < 5; lead++) {
			char *s = text_of(lead, characters[i], 3000);

			(void)error_set(&err, ERROR_USAGE, "%s", s);
			cr_expect(is_utf8(err.text), "%s after %zu", characters[i], lead);
			cr_expect(ends_with(err.text, ELLIPSIS));
			cr_expect_gt(strlen(err.text), TEXT_ROOM - 10);
			/* The same where the cut falls into what is appended. */
			(void)error_set(&err, ERROR_USAGE, "%s", s + lead);
			(void)error_wrap(&err, "%.*s", (int)lead, "xxxxx");
			cr_expect(is_utf8(err.text), "%s wrapped %zu", characters[i],
				  lead);
			free(s);
		}
	}
}
