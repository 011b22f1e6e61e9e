/* SPDX-License-Identifier: MIT */
#include "supervisor/base/board.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"

static struct board *
board_made(void)
{
	struct error err = ERROR_INIT;
	struct board *b;

	cr_assert_eq(board_new(&b, &err), 0, "%s", err.text);
	return b;
}

static void
push(struct board *b, uint64_t number, const char *text)
{
	struct board_line line = { text, strlen(text), strlen(text) };

	board_push(b, number, &line);
}

static void
expect_tail(const struct board *b, const char *text, uint64_t from, uint64_t lines)
{
	struct board_part tail = board_tail(b);

	cr_expect_str_eq(tail.text, text);
	cr_expect_eq(tail.from, from);
	cr_expect_eq(tail.lines, lines);
	free(tail.text);
}

Test(board, empty)
{
	struct board *b = board_made();
	struct board_part window;
	char last[8] = "x";

	expect_tail(b, "", 0, 0);
	cr_expect_eq(board_lines(b), 0u);
	cr_expect_null(board_environment(b));
	window = board_window(b, BOARD_MARK);
	cr_expect_eq(window.lines, 0u);
	free(window.text);
	board_last(b, last, sizeof(last));
	cr_expect_str_eq(last, "");
	board_free(b);
	board_free(NULL);
}

Test(board, tail)
{
	struct board *b = board_made();
	struct board_part tail;

	push(b, 1, "one");
	push(b, 2, "");
	push(b, 3, "three");
	expect_tail(b, "one\n\nthree", 1, 3);
	cr_expect_eq(board_lines(b), 3u);
	/* A leap: what lies between was never here. */
	push(b, 1000, "thousand");
	push(b, 1001, "more");
	expect_tail(b, "thousand\nmore", 1000, 2);
	for (uint64_t i = 1; i <= 100; i++)
		push(b, 2000 + i, "x");
	tail = board_tail(b);
	cr_expect_eq(tail.from, 2061u);
	cr_expect_eq(tail.lines, 40u);
	free(tail.text);
	board_count(b, 5000);
	cr_expect_eq(board_lines(b), 5000u);
	board_reset(b);
	expect_tail(b, "", 0, 0);
	cr_expect_eq(board_lines(b), 0u);
	board_free(b);
}

/* A line of n bytes, all at hand, and what becomes of it. */
static void
expect_cut(const char *text, size_t n, size_t kept, const char *note)
{
	struct board *b = board_made();
	struct board_line line = { text, n, n };
	struct board_part tail, window;
	char *want = xasprintf("%.*s%s", (int)kept, text, note);
	char *environment;

	board_push(b, 7, &line);
	board_append(b, BOARD_ERROR, 7, &line);
	board_set_environment(b, &line);
	tail = board_tail(b);
	window = board_window(b, BOARD_ERROR);
	environment = board_environment(b);
	cr_expect_str_eq(tail.text, want, "%zu bytes", n);
	cr_expect_str_eq(window.text, want, "%zu bytes", n);
	cr_expect_str_eq(environment, want, "%zu bytes", n);
	cr_expect(utf8_valid(tail.text, strlen(tail.text)));
	free(environment);
	free(window.text);
	free(tail.text);
	free(want);
	board_free(b);
}

Test(board, long_lines_are_cut_with_a_note)
{
	char *text = xmalloc(8192);

	memset(text, 'a', 8192);
	expect_cut(text, 240, 240, "");
	expect_cut(text, 241, 241, "");
	expect_cut(text, 4096, 4096, "");
	expect_cut(text, 4097, 4096, "\xe2\x80\xa6 (1 bytes left out)");
	expect_cut(text, 8192, 4096, "\xe2\x80\xa6 (4096 bytes left out)");
	/* Never inside a character. */
	memcpy(text + 4095, "\xe2\x9c\x93", 3);
	expect_cut(text, 5000, 4095, "\xe2\x80\xa6 (905 bytes left out)");
	free(text);
}

Test(board, windows_take_forty_lines)
{
	struct board *b = board_made();
	struct board_line line = { "x", 1, 1 };
	struct board_part window;

	for (uint64_t i = 0; i < 50; i++) {
		cr_expect_eq(board_is_full(b, BOARD_MARK), i >= 40);
		board_append(b, BOARD_MARK, 100 + i, &line);
	}
	window = board_window(b, BOARD_MARK);
	cr_expect_eq(window.lines, 40u);
	cr_expect_eq(window.from, 100u);
	cr_expect_eq(strlen(window.text), 79u);
	free(window.text);
	window = board_window(b, BOARD_ERROR);
	cr_expect_eq(window.lines, 0u);
	free(window.text);
	board_free(b);
}

Test(board, last_text)
{
	struct board *b = board_made();
	char text[BOARD_LAST_SIZE + 10], last[BOARD_LAST_SIZE + 10];

	board_set_last(b, "words", 5);
	board_set_last(b, " \t ", 3); /* says nothing */
	board_last(b, last, sizeof(last));
	cr_expect_str_eq(last, "words");
	board_last(b, last, 3);
	cr_expect_str_eq(last, "wo");
	board_last(b, last, 1);
	cr_expect_str_eq(last, "");
	board_last(b, NULL, 0);
	memset(text, 'a', sizeof(text));
	memcpy(text + BOARD_LAST_SIZE - 2, "\xc3\xbc", 2);
	board_set_last(b, text, sizeof(text));
	board_last(b, last, sizeof(last));
	cr_expect_eq(strlen(last), (size_t)BOARD_LAST_SIZE - 2);
	push(b, 41, "pushed");
	board_show(b, 41);
	board_last(b, last, sizeof(last));
	cr_expect_str_eq(last, "pushed");
	board_free(b);
}

static _Atomic bool stop;

static void *
write_last(void *board)
{
	char text[200];

	for (unsigned i = 0; !atomic_load(&stop); i++) {
		size_t n = 1 + i % (sizeof(text) - 1);

		memset(text, 'a' + (int)(i % 26), n);
		board_set_last(board, text, n);
	}
	return NULL;
}

/* Whoever reads while it is written sees one text, not two halves. */
Test(board, last_text_is_never_torn, .timeout = 60)
{
	struct board *b = board_made();
	char last[BOARD_LAST_SIZE];
	pthread_t writer;
	unsigned seen = 0;

	cr_assert_eq(pthread_create(&writer, NULL, write_last, b), 0);
	while (seen < 20000) {
		board_last(b, last, sizeof(last));
		seen += last[0] != '\0';
		for (size_t i = 0; last[i] != '\0'; i++)
			cr_assert_eq(last[i], last[0], "%s", last);
	}
	atomic_store(&stop, true);
	(void)pthread_join(writer, NULL);
	board_free(b);
}

/* Lines of one letter and any length, all over the board, without end. */
static _Noreturn void
write_for_ever(struct board *b, int ready)
{
	static char text[6000];

	for (uint64_t i = 1;; i++) {
		size_t n = (i * 37) % (i % 5 == 0 ? sizeof(text) : 100);
		struct board_line line = { text, n, n };

		memset(text, 'a' + (int)(i % 26), n);
		board_push(b, i, &line);
		board_append(b, BOARD_ERROR, i, &line);
		if (i % 10 == 0)
			board_count(b, i);
		board_set_last(b, text, n);
		if (i == 100)
			(void)!write(ready, "", 1);
	}
}

static void
expect_whole_lines(struct board_part *part)
{
	uint64_t number = part->from;
	char *rest = part->text, *line;

	while (part->lines > 0 && (line = strsep(&rest, "\n")) != NULL) {
		size_t n = (number * 37) % (number % 5 == 0 ? 6000 : 100);
		size_t letters =
		    strspn(line, (char[]){ (char)('a' + (int)(number % 26)), 0 });

		cr_expect_eq(letters, n < 4096 ? n : 4096, "line %lu",
			     (unsigned long)number);
		number++;
	}
	cr_expect_eq(number - part->from, part->lines);
}

Test(board, writer_killed_at_any_instant, .timeout = 60)
{
	for (int round = 0; round < 200; round++) {
		struct board *b = board_made();
		struct board_part part;
		int ready[2];
		char byte;
		pid_t pid;

		cr_assert_eq(pipe(ready), 0);
		pid = fork();
		cr_assert(pid >= 0);
		if (pid == 0)
			write_for_ever(b, ready[1]);
		cr_assert_eq(read(ready[0], &byte, 1), 1);
		(void)kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
		(void)close(ready[0]);
		(void)close(ready[1]);
		part = board_tail(b);
		cr_expect(part.lines >= 39 && part.lines <= 40, "%lu lines",
			  (unsigned long)part.lines);
		cr_expect_eq(board_lines(b), part.from + part.lines - 1);
		expect_whole_lines(&part);
		free(part.text);
		part = board_window(b, BOARD_ERROR);
		cr_expect_eq(part.lines, 40u);
		cr_expect_eq(part.from, 1u);
		expect_whole_lines(&part);
		free(part.text);
		board_free(b);
	}
}

/* Bytes as a broken writer might leave them: read without harm, shown as text. */
Test(board, garbage, .timeout = 60)
{
	srandom(5);
	for (int round = 0; round < 200; round++) {
		struct board *b = board_made();
		struct board_part part;
		char last[BOARD_LAST_SIZE], *environment;
		unsigned char *bytes = (unsigned char *)b;

		board_count(b, 1);
		for (size_t i = 8; i < 20000; i++)
			bytes[i] = (unsigned char)(random() % 3 == 0 ? random() : 0);
		part = board_tail(b);
		cr_expect(utf8_valid(part.text, strlen(part.text)));
		free(part.text);
		part = board_window(b, BOARD_MARK);
		cr_expect(utf8_valid(part.text, strlen(part.text)));
		free(part.text);
		environment = board_environment(b);
		free(environment);
		board_last(b, last, sizeof(last));
		cr_expect(utf8_valid(last, strlen(last)));
		board_free(b);
	}
}
