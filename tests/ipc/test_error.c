/* SPDX-License-Identifier: MIT */
#include "ipc/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(error, says_what_and_why)
{
	struct error err = ERROR_INIT;

	cr_expect_eq(error_set(&err, ERROR_CONFIG, "line %d: no", 3), -1);
	cr_expect_eq(err.kind, ERROR_CONFIG);
	cr_expect_str_eq(err.text, "line 3: no");
	cr_expect_eq(error_wrap(&err, "geonosis.json"), -1);
	cr_expect_str_eq(err.text, "geonosis.json: line 3: no");
	cr_expect_eq(err.kind, ERROR_CONFIG, "context keeps the kind");
}

Test(error, system_keeps_errno)
{
	struct error err = ERROR_INIT;

	errno = ENOENT;
	cr_expect_eq(error_system(&err, "%s", "a/b"), -1);
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	cr_expect_eq(err.errnum, ENOENT);
	cr_expect_str_eq(err.text, "a/b: No such file or directory");
}

/* Text past the end is cut at a character and ends in an ellipsis. */
Test(error, long_text_is_cut_between_characters)
{
	char word[4096];

	for (size_t shift = 0; shift < 4; shift++) {
		struct error err = ERROR_INIT;
		size_t n, i;

		memset(word, 'x', shift);
		for (i = shift; i + 3 < sizeof(word); i += 3)
			memcpy(word + i, "\xe2\x82\xac", 3);
		word[i] = '\0';
		(void)error_set(&err, ERROR_DATA, "%s", word);
		(void)error_wrap(&err, "outer");
		n = strlen(err.text);
		cr_assert_lt(n, sizeof(err.text));
		cr_expect_str_eq(err.text + n - 3, "\xe2\x80\xa6", "shift %zu", shift);
		cr_expect_eq((n - 3 - strlen("outer: ") - shift) % 3, 0, "shift %zu",
			     shift);
	}
}
