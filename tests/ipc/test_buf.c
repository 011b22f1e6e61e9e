/* SPDX-License-Identifier: MIT */
#include "ipc/buf.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

Test(buf, empty_reads_as_an_empty_string)
{
	struct buf b = BUF_INIT;

	cr_expect_str_eq(buf_text(&b), "");
	buf_append(&b, "", 0);
	cr_expect_str_eq(buf_text(&b), "");
	cr_expect_eq(b.len, 0);
	buf_release(&b);
	buf_release(&b);
}

Test(buf, appends_bytes_words_and_formats)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "one");
	buf_putc(&b, ' ');
	buf_append(&b, "t\0o", 3);
	buf_printf(&b, " %d%s", 3, "!");
	cr_expect_eq(b.len, 10);
	cr_expect_arr_eq(b.data, "one t\0o 3!", 11, "bytes and the NUL behind them");
	buf_clear(&b);
	cr_expect_str_eq(buf_text(&b), "");
	buf_release(&b);
}

Test(buf, grows_through_long_content)
{
	struct buf b = BUF_INIT;
	char *word = xmalloc(100001);

	memset(word, 'x', 100000);
	word[100000] = '\0';
	for (int i = 0; i < 10; i++)
		buf_printf(&b, "%s%d", word, i);
	cr_expect_eq(b.len, 1000010);
	cr_expect_eq(strlen(b.data), b.len);
	cr_expect_eq(b.data[b.len - 1], '9');
	free(word);
	buf_release(&b);
}

Test(buf, steal_leaves_it_empty)
{
	struct buf b = BUF_INIT;
	char *text;

	text = buf_steal(&b);
	cr_expect_str_eq(text, "", "nothing stolen is a string too");
	free(text);
	buf_puts(&b, "abc");
	text = buf_steal(&b);
	cr_expect_str_eq(text, "abc");
	cr_expect_eq(b.len, 0);
	cr_expect_null(b.data);
	free(text);
}
