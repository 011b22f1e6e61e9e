/* SPDX-License-Identifier: MIT */
#include "worker/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOTE "[geonosis: "

enum {
	HALF = LOG_HALF_BYTES,
	MAX = LOG_BYTES_MAX,
};

static int dir = -1;

static void
enter(void)
{
	(void)scratch_enter();
	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
leave(void)
{
	fd_close(&dir);
	scratch_leave();
}

TestSuite(log, .init = enter, .fini = leave, .timeout = 120);

/* Put bytes through as a reader of a pipe would, at most `chunk` at a time. */
static void
feed(struct log *l, const char *bytes, size_t n, size_t chunk)
{
	while (n > 0) {
		size_t room;
		char *space = log_space(l, &room);
		size_t take = n < chunk ? n : chunk;

		cr_assert_geq(room, 1);
		if (take > room)
			take = room;
		memcpy(space, bytes, take);
		log_advance(l, take);
		bytes += take;
		n -= take;
	}
}

static int
log_whole(const char *bytes, size_t n, size_t chunk, int keep)
{
	struct log l;
	int rc;

	log_init(&l, dir, "x.log");
	feed(&l, bytes, n, chunk);
	cr_expect_eq(l.total, n);
	rc = log_finish(&l, keep);
	log_release(&l);
	return rc;
}

/* The log as it lies there. */
static struct buf
log_read(void)
{
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;

	cr_assert_eq(file_read("x.log", 16 << 20, &b, &err), 0, "%s", err.text);
	return b;
}

/*
 * Outputs.  A line of 80 bytes that has its number in it, so that bytes that were
 * moved are seen; the rows change where newlines stand.
 */
static char *
output_of(size_t n, bool has_lines)
{
	char *s = malloc(n + 128);
	size_t at;

	for (at = 0; at < n; at += 80) {
		(void)snprintf(s + at, 81, "%015u %063u", (unsigned)at,
			       (unsigned)(at * 7919));
		s[at + 79] = has_lines ? '\n' : '.';
	}
	s[n] = '\0';
	return s;
}

struct size_case {
	size_t size;
	size_t chunk;
};

static const struct size_case kept_whole[] = {
	{ 0, 4096 },	     { 1, 4096 },
	{ 79, 1 },	     { 80, 1 },
	{ 100000, 7 },	     { HALF - 1, 65536 },
	{ HALF, 65536 },     { HALF, SIZE_MAX },
	{ HALF + 1, 65536 }, { HALF + 1, SIZE_MAX },
	{ HALF + 79, 4093 }, { 3 * HALF / 2, 65536 },
	{ MAX - 1, 65536 },  { MAX - 1, 4093 },
	{ MAX, 65536 },	     { MAX, 4093 },
	{ MAX, SIZE_MAX },
};

Test(log, kept_whole_up_to_four_mebibytes)
{
	for (size_t i = 0; i < COUNT(kept_whole); i++) {
		const struct size_case *c = &kept_whole[i];
		char *out = output_of(c->size, i % 2 == 0);
		struct buf got;

		cr_expect_eq(log_whole(out, c->size, c->chunk, 1), 0);
		got = log_read();
		cr_expect(got.len == c->size && memcmp(buf_text(&got), out, c->size) == 0,
			  "%zu bytes by %zu: %zu", c->size, c->chunk, got.len);
		buf_release(&got);
		free(out);
	}
}

/* A log that was cut, taken apart. */
struct cut {
	size_t head;
	size_t tail;
	uint64_t told; /* bytes dropped as the note says */
	bool is_sound; /* one note on a line of its own, and true */
};

static struct cut
cut_read(const struct buf *log, const char *out, size_t n)
{
	static const char rest[] = " bytes dropped here]\n";
	const char *note = memmem(log->data, log->len, NOTE, strlen(NOTE));
	struct cut c = { 0 };
	const char *tail;
	char *end;

	if (note == NULL)
		return c;
	c.head = (size_t)(note - log->data);
	c.told = strtoull(note + strlen(NOTE), &end, 10);
	if (strncmp(end, rest, strlen(rest)) != 0)
		return c;
	tail = end + strlen(rest);
	c.tail = log->len - (size_t)(tail - log->data);
	if (memmem(tail, c.tail, NOTE, strlen(NOTE)) != NULL || c.tail > n)
		return c;
	/* The note begins a line; where the head does not end one, its newline is the
	 * note's. */
	if (c.head == 0 || log->data[c.head - 1] != '\n')
		return c;
	if (memcmp(log->data, out, c.head) != 0 || c.told != n - c.head - c.tail)
		c.head--;
	c.is_sound = memcmp(log->data, out, c.head) == 0 &&
		     memcmp(tail, out + n - c.tail, c.tail) == 0 &&
		     c.told == n - c.head - c.tail;
	return c;
}

static void
expect_cut(const char *out, size_t n, size_t chunk, const char *what, struct cut *ret_cut)
{
	struct buf got;

	cr_assert_eq(log_whole(out, n, chunk, 1), 0, "%s", what);
	got = log_read();
	*ret_cut = cut_read(&got, out, n);
	cr_expect(ret_cut->is_sound, "%s: %zu bytes by %zu: head %zu, tail %zu, told %zu",
		  what, n, chunk, ret_cut->head, ret_cut->tail, (size_t)ret_cut->told);
	cr_expect_leq(got.len, MAX + 100, "%s: %zu", what, got.len);
	buf_release(&got);
}

static const struct size_case cuts[] = {
	{ MAX + 1, 65536 },	 { MAX + 1, 4093 },	 { MAX + 1, SIZE_MAX },
	{ MAX + 79, 65536 },	 { MAX + 80, 65536 },	 { MAX + 81, 65536 },
	{ 5 * HALF / 2, 65536 }, { 3 * HALF - 1, 4093 }, { 3 * HALF, 65536 },
	{ 3 * HALF, SIZE_MAX },	 { 3 * HALF + 1, 8191 }, { 4 * HALF, 65536 },
	{ 10000000, 65521 },
};

Test(log, past_it_the_first_and_last_lines_stay)
{
	for (size_t i = 0; i < COUNT(cuts); i++) {
		size_t n = cuts[i].size;
		char *out = output_of(n, true);
		struct cut c;

		expect_cut(out, n, cuts[i].chunk, "lines", &c);
		/* Whole lines, and of each side as much as there is room for. */
		cr_expect_eq(c.head, HALF - HALF % 80, "%zu: head %zu", n, c.head);
		cr_expect_eq((n - c.tail) % 80, 0, "%zu: tail %zu", n, c.tail);
		cr_expect_gt(c.tail, HALF - 160, "%zu: tail %zu", n, c.tail);
		free(out);
	}
}

Test(log, one_endless_line)
{
	for (size_t i = 0; i < COUNT(cuts); i++) {
		size_t n = cuts[i].size;
		char *out = output_of(n, false);
		struct cut c;

		expect_cut(out, n, cuts[i].chunk, "one line", &c);
		cr_expect_eq(c.head, HALF);
		cr_expect_eq(c.tail, HALF);
		free(out);
	}
}

/* Newlines at the places where the cut is made; the rest is one line. */
struct newline_case {
	const char *name;
	size_t at[4];
	size_t head, tail; /* 0: not told here */
};

enum {
	SIX = 6000000
};

static const struct newline_case newlines[] = {
	{ "head ends at a newline", { HALF - 1 }, HALF, 0 },
	{ "newline behind the head", { HALF }, 0, 0 },
	{ "newline before the head's end", { HALF - 2 }, HALF - 1, 0 },
	{ "newline at the output's end", { SIX - 1 }, 0, HALF },
	{ "newline before the tail", { SIX - HALF - 1 }, 0, 0 },
	{ "tail begins with a newline", { SIX - HALF }, 0, HALF - 1 },
	{ "both sides", { HALF - 1, SIX - HALF }, HALF, HALF - 1 },
	{ "newlines in what is dropped", { HALF + 5, SIX - HALF - 5 }, 0, 0 },
	{ "two newlines at the end", { SIX - 2, SIX - 1 }, 0, 0 },
};

Test(log, newlines_where_it_is_cut)
{
	for (size_t i = 0; i < COUNT(newlines); i++) {
		const struct newline_case *k = &newlines[i];
		char *out = output_of(SIX, false);
		struct cut c;

		for (size_t j = 0; j < COUNT(k->at) && k->at[j] != 0; j++)
			out[k->at[j]] = '\n';
		expect_cut(out, SIX, 65521, k->name, &c);
		if (k->head != 0)
			cr_expect_eq(c.head, k->head, "%s: head %zu", k->name, c.head);
		if (k->tail != 0)
			cr_expect_eq(c.tail, k->tail, "%s: tail %zu", k->name, c.tail);
		free(out);
	}
}

/*
 * About half each, whatever the lines are: a long line between short ones must not
 * cost what there is room for.
 */
Test(log, long_line_between_short_ones_is_kept_in_part)
{
	char *out = output_of(SIX, false);
	struct cut c;

	out[5] = '\n';
	out[SIX - 5] = '\n';
	expect_cut(out, SIX, 65521, "long line", &c);
	cr_expect_gt(c.head, HALF / 2, "head %zu", c.head);
	cr_expect_gt(c.tail, HALF / 2, "tail %zu", c.tail);
	free(out);
}

/* Bytes as they come: NUL, and what is no UTF-8. */
Test(log, byte_for_byte)
{
	size_t n = MAX;
	char *out = malloc(n);
	unsigned long seed = 1;
	struct buf got;

	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		out[i] = (char)(seed >> 56);
	}
	cr_assert_eq(log_whole(out, n, 10007, 1), 0);
	got = log_read();
	cr_expect(got.len == n && memcmp(got.data, out, n) == 0);
	buf_release(&got);
	free(out);
}

/* Every size of the ring's first rounds, at random, against what must be. */
Test(log, random_outputs)
{
	unsigned seed = 20261014;

	for (int round = 0; round < 60; round++) {
		size_t n = (size_t)rand_r(&seed) % (3 * MAX);
		size_t lines = (size_t)rand_r(&seed) % 400;
		size_t chunk = 1 + (size_t)rand_r(&seed) % 100000;
		char *out = output_of(n, false);
		struct cut c;

		for (size_t i = 0; i < lines && n > 0; i++)
			out[(size_t)rand_r(&seed) % n] = '\n';
		if (n > MAX) {
			expect_cut(out, n, chunk, "random", &c);
		} else {
			struct buf got;

			cr_assert_eq(log_whole(out, n, chunk, 1), 0);
			got = log_read();
			cr_expect(got.len == n && memcmp(buf_text(&got), out, n) == 0);
			buf_release(&got);
		}
		free(out);
	}
}

static const size_t green[] = { 0, 1, HALF, HALF + 1, MAX, MAX + 1, 3 * MAX };

Test(log, green_keeps_none)
{
	for (size_t i = 0; i < COUNT(green); i++) {
		char *out = output_of(green[i], true);

		cr_expect_eq(log_whole(out, green[i], 65536, 0), 0);
		cr_expect_eq(scratch_count("."), 0, "%zu bytes", green[i]);
		free(out);
	}
}

/* Of an attempt that failed, say, before the one that is green and prints nothing. */
Test(log, older_file_is_gone_whatever_comes)
{
	static const char *const outputs[] = { "", "x" };

	for (size_t i = 0; i < COUNT(outputs); i++) {
		scratch_write("x.log", "an earlier attempt's");
		cr_expect_eq(log_whole(outputs[i], i, 9, 0), 0);
		cr_expect_eq(scratch_count("."), 0, "green of %zu bytes", i);
		scratch_write("x.log", "an earlier attempt's");
		cr_expect_eq(log_whole(outputs[i], i, 9, 1), 0);
		cr_expect_eq(system(i == 0 ? "test -f x.log && test ! -s x.log"
					   : "test \"$(cat x.log)\" = x"),
			     0, "red of %zu bytes", i);
	}
}

Test(log, link_is_not_followed)
{
	scratch_write("victim", "mine");
	cr_assert_eq(symlink("victim", "x.log"), 0);
	cr_expect_eq(log_whole("output", 6, 9, 1), 0);
	cr_expect_eq(system("test \"$(cat victim)\" = mine && test ! -L x.log"), 0);
}

Test(log, file_can_be_followed_while_the_step_runs)
{
	char *out = output_of(HALF, true);
	struct stat st;
	struct log l;

	log_init(&l, dir, "x.log");
	feed(&l, out, 80, 80);
	cr_expect_eq(stat("x.log", &st) | (st.st_size != 80), 0);
	feed(&l, out + 80, HALF - 80, 65536);
	cr_expect_eq(stat("x.log", &st) | (st.st_size != HALF), 0);
	cr_expect_eq(log_finish(&l, 1), 0);
	log_release(&l);
	free(out);
}

Test(log, nowhere_to_keep_it)
{
	char *out = output_of(3 * MAX, true);
	int none = -1;

	fd_close(&dir);
	dir = none;
	cr_expect_eq(log_whole(out, 10, 9, 1), 0);
	cr_expect_eq(log_whole(out, 3 * MAX, 65536, 1), 0);
	cr_expect_eq(log_whole(out, 3 * MAX, 65536, 0), 0);
	cr_expect_eq(scratch_count("."), 0);
	free(out);
}

static void
expect_no_log(int want, const char *what)
{
	static const size_t totals[] = { 0, 10, HALF + 10, MAX + 10 };
	char *out = output_of(MAX + 10, true);

	for (size_t i = 0; i < COUNT(totals); i++)
		cr_expect_eq(log_whole(out, totals[i], 65536, 1), want, "%s, %zu bytes",
			     what, totals[i]);
	free(out);
}

Test(log, directory_that_fails)
{
	cr_assert_eq(mkdir("gone", 0700), 0);
	fd_close(&dir);
	dir = open("gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(rmdir("gone"), 0);
	expect_no_log(ENOENT, "removed");
	fd_close(&dir);
	scratch_write("file", "");
	dir = open("file", O_RDONLY | O_CLOEXEC);
	expect_no_log(ENOTDIR, "a file");
	fd_close(&dir);
	dir = 1000000;
	expect_no_log(EBADF, "no descriptor");
	dir = -1;
}

Test(log, directory_in_its_place)
{
	cr_assert_eq(mkdir("x.log", 0700), 0);
	expect_no_log(EISDIR, "directory");
	cr_expect_eq(scratch_count("."), 1, "it stays");
}

struct room_case {
	size_t room; /* of the file system */
	size_t size; /* of the output */
};

/* The disk is full at the first bytes, in the head, when the two are joined. */
static const struct room_case rooms[] = {
	{ 65536, HALF / 2 },   { 65536, MAX + 1 },	  { HALF + 65536, HALF + 200000 },
	{ HALF + 65536, MAX }, { HALF + 65536, 3 * MAX },
};

Test(log, full_disk)
{
	for (size_t i = 0; i < COUNT(rooms); i++) {
		const struct room_case *c = &rooms[i];
		char *out = output_of(c->size, true);
		char name[16];

		(void)snprintf(name, sizeof(name), "disk%zu", i);
		if (!scratch_mount(name, c->room)) {
			free(out);
			cr_skip_test("no mount here");
		}
		fd_close(&dir);
		dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_expect_eq(log_whole(out, c->size, 65536, 1), ENOSPC, "case %zu", i);
		cr_expect_eq(scratch_count(name), 0, "case %zu: a part is left", i);
		(void)log_whole(out, c->size, 65536, 0);
		cr_expect_eq(scratch_count(name), 0, "case %zu, green", i);
		fd_close(&dir);
		free(out);
	}
}

Test(log, limit_on_the_size_of_files)
{
	struct rlimit few = { HALF + 1000, RLIM_INFINITY };
	char *out = output_of(MAX, true);
	int rc;

	(void)signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	rc = log_whole(out, MAX, 65536, 1);
	few.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	cr_expect_eq(rc, EFBIG);
	cr_expect_eq(scratch_count("."), 0);
	free(out);
}
