/* SPDX-License-Identifier: MIT */
#include "ipc/buf.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(buf, empty)
{
	struct buf b = BUF_INIT;
	char *s;

	cr_expect_str_eq(buf_text(&b), "");
	buf_clear(&b);
	cr_expect_str_eq(buf_text(&b), "");
	s = buf_steal(&b);
	cr_expect_str_eq(s, "");
	free(s);
	buf_release(&b);
	buf_release(&b);
	buf_release(NULL);
}

Test(buf, nothing_appended)
{
	struct buf b = BUF_INIT;

	buf_append(&b, NULL, 0);
	buf_puts(&b, "");
	buf_printf(&b, "%s", "");
	cr_expect_eq(b.len, 0);
	cr_expect_str_eq(buf_text(&b), "");
	buf_release(&b);
}

/* Bytes of every value, a NUL behind them at each length. */
Test(buf, bytes_are_kept_and_a_nul_follows)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < 70000; i++) {
		buf_putc(&b, (char)(i * 7));
		cr_assert_eq(b.len, i + 1);
		cr_assert_eq(b.data[b.len], '\0');
		cr_assert_gt(b.room, b.len);
	}
	for (size_t i = 0; i < 70000; i++)
		cr_assert_eq(b.data[i], (char)(i * 7), "byte %zu", i);
	buf_release(&b);
	cr_expect_null(b.data);
	cr_expect_eq(b.len, 0);
}

Test(buf, pieces_of_every_length)
{
	struct buf b = BUF_INIT;
	static char want[600 * 600];
	char piece[600];
	size_t len = 0;

	for (size_t n = 0; n < sizeof(piece); n++) {
		memset(piece, (int)('a' + n % 26), n);
		piece[n] = '\0';
		memcpy(want + len, piece, n);
		len += n;
		if (n % 3 == 0)
			buf_append(&b, piece, n);
		else if (n % 3 == 1)
			buf_puts(&b, piece);
		else
			buf_printf(&b, "%s", piece);
		cr_assert_eq(b.len, len);
		cr_assert_eq(b.data[len], '\0');
	}
	cr_expect_eq(memcmp(b.data, want, len), 0);
	buf_release(&b);
}

Test(buf, printf_of_any_size)
{
	struct buf b = BUF_INIT;
	char *s;

	buf_puts(&b, "<");
	buf_printf(&b, "%0100000d", 7);
	buf_printf(&b, "%c>", '\0');
	cr_expect_eq(b.len, 100003);
	cr_expect_eq(b.data[0], '<');
	cr_expect_eq(b.data[1], '0');
	cr_expect_eq(b.data[100000], '7');
	cr_expect_eq(b.data[100001], '\0');
	cr_expect_eq(b.data[100002], '>');
	s = buf_steal(&b);
	cr_expect_null(b.data);
	cr_expect_eq(b.len + b.room, 0);
	free(s);
}

Test(buf, clear_keeps_the_memory)
{
	struct buf b = BUF_INIT;
	const char *at;
	size_t room;

	buf_puts(&b, "something to forget");
	at = b.data;
	room = b.room;
	buf_clear(&b);
	cr_expect_eq(b.len, 0);
	cr_expect_str_eq(buf_text(&b), "");
	buf_puts(&b, "short");
	cr_expect_eq(b.data, at);
	cr_expect_eq(b.room, room);
	cr_expect_str_eq(buf_text(&b), "short");
	buf_release(&b);
}

Test(buf, usable_again_after_steal_and_release)
{
	struct buf b = BUF_INIT;
	char *first;

	buf_puts(&b, "first");
	first = buf_steal(&b);
	buf_puts(&b, "second");
	cr_expect_str_eq(first, "first");
	cr_expect_str_eq(buf_text(&b), "second");
	buf_release(&b);
	buf_puts(&b, "third");
	cr_expect_str_eq(buf_text(&b), "third");
	buf_release(&b);
	free(first);
}
