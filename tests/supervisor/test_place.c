/* SPDX-License-Identifier: MIT */
/*
 * Every test runs in a process and a directory of its own.  As root may write
 * anywhere, places that refuse are a file's inside, /proc, and a limit on file size.
 */
#include "supervisor/report/place.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char top[] = "/tmp/test-place.XXXXXX";

static void
enter(void)
{
	cr_assert_not_null(mkdtemp(top));
	cr_assert_eq(chdir(top), 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
}

static void
leave(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", top);
	cr_expect_eq(system(command), 0);
}

TestSuite(place, .init = enter, .fini = leave, .timeout = 30);

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(fd_write(fd, text, strlen(text)), 0);
	fd_close(&fd);
}

static void
expect_content(const char *path, const char *text)
{
	struct buf b = BUF_INIT;
	struct error err = ERROR_INIT;

	cr_expect_eq(file_read(path, 1 << 20, &b, &err), 0, "%s", err.text);
	cr_expect_str_eq(buf_text(&b), text, "%s", path);
	buf_release(&b);
}

static unsigned
entries(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;
	const struct dirent *e;

	cr_assert_not_null(d, "%s", dir);
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			n++;
	(void)closedir(d);
	return n;
}

static bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(lstat(path, &st), 0, "%s", path);
	return st.st_mode;
}

static struct report_place *
opened(const char *path)
{
	struct report_place *p = NULL;
	struct error err = ERROR_INIT;

	cr_assert_eq(report_place_open(path, &p, &err), 0, "%s", err.text);
	return p;
}

static void
begun(struct report_place *p, const char *text)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(report_place_begin(p, text, strlen(text), &err), 0, "%s", err.text);
}

static void
saved(struct report_place *p, const char *text)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(report_place_save(p, text, strlen(text), &err), 0, "%s", err.text);
}

/* The save fails and the error names the path given, and `why`. */
static void
expect_not_saved(struct report_place *p, const char *bytes, size_t n, const char *path,
		 const char *why)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(report_place_save(p, bytes, n, &err), -1);
	cr_expect_not_null(strstr(err.text, path), "%s", err.text);
	cr_expect_not_null(strstr(err.text, why), "%s", err.text);
}

Test(place, missing_directories_are_made)
{
	struct report_place *p = opened("a/b c//d/r.json");

	begun(p, "begun");
	expect_content("a/b c/d/r.json", "begun");
	saved(p, "saved");
	report_place_free(p);
	expect_content("a/b c/d/r.json", "saved");
	cr_expect_eq(entries("a/b c/d"), 1, "a temporary file was left");
}

Test(place, directories_made_for_nothing_go_again)
{
	cr_assert_eq(mkdir("stood", 0755), 0);
	report_place_free(opened("stood/a/b/r.json"));
	cr_expect(exists("stood") && !exists("stood/a"));
	report_place_free(opened("x/r.json"));
	cr_expect_not(exists("x"));
	report_place_free(opened("stood/r.json"));
	cr_expect(exists("stood"));

	struct report_place *p = opened("y/z/r.json");

	put("y/other", "");
	report_place_free(p);
	cr_expect(exists("y/other") && !exists("y/z"), "what others put there stays");
}

Test(place, probing_alters_nothing)
{
	struct stat before, after;

	put("r.json", "old");
	cr_assert_eq(stat("r.json", &before), 0);
	report_place_free(opened("r.json"));
	cr_assert_eq(stat("r.json", &after), 0);
	cr_expect_eq(before.st_ino, after.st_ino);
	expect_content("r.json", "old");
	cr_expect_eq(entries("."), 1, "a temporary file was left");
}

struct mode_case {
	mode_t mode, umask;
};

static const struct mode_case modes[] = {
	{ 0640, 077 },
	{ 0666, 022 },
	{ 0400, 0 },
	{ 0755, 077 },
};

Test(place, permission_bits_are_kept)
{
	for (size_t i = 0; i < COUNT(modes); i++) {
		struct report_place *p;

		put("r.json", "old");
		cr_assert_eq(chmod("r.json", modes[i].mode), 0);
		(void)umask(modes[i].umask);
		p = opened("r.json");
		saved(p, "new");
		report_place_free(p);
		cr_expect_eq(mode_of("r.json") & 07777, modes[i].mode, "case %zu", i);
		expect_content("r.json", "new");
		cr_assert_eq(unlink("r.json"), 0);
	}
}

struct link_case {
	const char *link, *to; /* made in this order */
	const char *file;      /* where the report lies in the end */
	bool dangling;
};

static const struct link_case links[] = {
	{ "link", "d/target.json", "d/target.json", false },
	{ "link", "d/new.json", "d/new.json", true },
	{ "link", "e/f/new.json", "e/f/new.json", true },
	{ "d/up", "../r.json", "r.json", true },
	{ "d/twice", "there", "d/r.json", true },
};

Test(place, links_are_followed_and_kept)
{
	cr_assert_eq(mkdir("d", 0755), 0);
	cr_assert_eq(symlink("r.json", "d/there"), 0);
	for (size_t i = 0; i < COUNT(links); i++) {
		struct report_place *p;

		if (!links[i].dangling)
			put(links[i].file, "old");
		cr_assert_eq(symlink(links[i].to, links[i].link), 0);
		p = opened(links[i].link);
		cr_expect_eq(exists(links[i].file), !links[i].dangling, "case %zu", i);
		begun(p, "begun");
		saved(p, "new");
		report_place_free(p);
		cr_expect(S_ISLNK(mode_of(links[i].link)), "case %zu", i);
		expect_content(links[i].file, "new");
		cr_assert_eq(unlink(links[i].link), 0);
	}
}

Test(place, a_linked_directory_is_written_into)
{
	struct report_place *p;

	cr_assert_eq(mkdir("real", 0755), 0);
	cr_assert_eq(symlink("real", "d"), 0);
	p = opened("d/e/r.json");
	saved(p, "new");
	report_place_free(p);
	expect_content("real/e/r.json", "new");
}

struct refused_case {
	const char *path;
	const char *why;
};

static const struct refused_case refused[] = {
	{ "", "directory" },
	{ "d", "is a directory" },
	{ "d/", "directory" },
	{ "d/.", "directory" },
	{ "d/..", "directory" },
	{ "new/", "directory" },
	{ ".", "directory" },
	{ "file/r.json", "file: not a directory" },
	{ "file/x/y/r.json", "file: not a directory" },
	{ "file/", "directory" },
	{ "todir", "is a directory" },
	{ "loop", "symbolic links" },
	{ "dangle/r.json", "dangle" },
	{ "socket", "is a socket" },
	{ "/proc/r.json", "/proc" },
	{ "/proc/no/r.json", "/proc/no" },
	{ "/proc/self/fd/99", "No such file" },
};

Test(place, refused_before_anything_is_written)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned before;

	cr_assert_eq(mkdir("d", 0755), 0);
	put("file", "kept");
	cr_assert_eq(symlink("d", "todir"), 0);
	cr_assert_eq(symlink("loop", "loop"), 0);
	cr_assert_eq(symlink("nothing", "dangle"), 0);
	cr_assert_eq(bind(s, (struct sockaddr *)&addr, sizeof(addr)), 0);
	before = entries(".");
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct report_place *p = NULL;
		struct error err = ERROR_INIT;

		cr_expect_eq(report_place_open(refused[i].path, &p, &err), -1,
			     "case %zu: \"%s\" was taken", i, refused[i].path);
		cr_expect_null(p, "case %zu", i);
		cr_expect_not_null(strstr(err.text, refused[i].path), "case %zu: %s", i,
				   err.text);
		cr_expect_not_null(strstr(err.text, refused[i].why), "case %zu: %s", i,
				   err.text);
	}
	cr_expect_eq(entries("."), before);
	cr_expect_eq(entries("d"), 0);
	expect_content("file", "kept");
	fd_close(&s);
}

Test(place, geonosis_that_is_a_file_is_named)
{
	struct report_place *p = NULL;
	struct error err = ERROR_INIT;

	put(".geonosis", "mine");
	cr_assert_eq(report_place_open(".geonosis/gate-report.json", &p, &err), -1);
	cr_expect_str_eq(err.text,
			 "report .geonosis/gate-report.json: .geonosis: not a directory");
	expect_content(".geonosis", "mine");
}

/* What a full disk does to a write, in a test that needs no disk. */
static void
limit_file_size(rlim_t bytes)
{
	struct rlimit r;

	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = bytes;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

Test(place, no_room_at_the_start)
{
	struct report_place *p = NULL;
	struct error err = ERROR_INIT;
	int rc;

	put("r.json", "old");
	limit_file_size(100);
	rc = report_place_open("r.json", &p, &err);
	limit_file_size(RLIM_INFINITY);
	cr_expect_eq(rc, -1);
	cr_expect_eq(err.errnum, EFBIG, "%s", err.text);
	expect_content("r.json", "old");
	cr_expect_eq(entries("."), 1);
}

Test(place, no_room_at_the_end)
{
	struct report_place *p = opened("r.json");
	static const char big[10000] = { 'x' };

	begun(p, "begun");
	limit_file_size(5000);
	expect_not_saved(p, big, sizeof(big), "report r.json", "File too large");
	limit_file_size(RLIM_INFINITY);
	report_place_free(p);
	expect_content("r.json", "begun");
	cr_expect_eq(entries("."), 1, "a temporary file was left");
}

Test(place, directory_gone_during_the_run)
{
	struct report_place *p = opened("a/r.json");

	begun(p, "begun");
	cr_assert_eq(unlink("a/r.json"), 0);
	cr_assert_eq(rmdir("a"), 0);
	expect_not_saved(p, "x", 1, "report a/r.json", "No such file or directory");
	report_place_free(p);
	cr_expect_eq(entries("."), 0);
}

Test(place, target_became_a_directory)
{
	struct report_place *p = opened("r.json");

	begun(p, "begun");
	cr_assert_eq(unlink("r.json"), 0);
	cr_assert_eq(mkdir("r.json", 0755), 0);
	expect_not_saved(p, "x", 1, "report r.json", "is a directory");
	report_place_free(p);
	cr_expect_eq(entries("."), 1);
	cr_expect_eq(entries("r.json"), 0);
}

Test(place, target_became_a_link)
{
	struct report_place *p = opened("r.json");

	begun(p, "begun");
	cr_assert_eq(rename("r.json", "moved"), 0);
	cr_assert_eq(symlink("moved", "r.json"), 0);
	saved(p, "saved");
	report_place_free(p);
	cr_expect(S_ISLNK(mode_of("r.json")));
	expect_content("moved", "saved");
}

Test(place, a_fifo_gets_one_report)
{
	char text[64] = "";
	struct report_place *p;
	int fd;

	cr_assert_eq(mkfifo("f", 0600), 0);
	fd = open("f", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	p = opened("f");
	begun(p, "begun");
	saved(p, "saved");
	report_place_free(p);
	cr_expect_eq(read(fd, text, sizeof(text) - 1), 5);
	cr_expect_str_eq(text, "saved");
	cr_expect(S_ISFIFO(mode_of("f")), "the fifo was replaced");
	fd_close(&fd);
}

/* A reader that was there before the run sees no end before the report. */
Test(place, a_waiting_reader_gets_all_of_a_large_report)
{
	enum {
		SIZE = 1 << 20
	};
	char *bytes = xmalloc(SIZE);
	struct report_place *p;
	struct error err = ERROR_INIT;
	pid_t reader;
	int status;

	memset(bytes, 'x', SIZE);
	cr_assert_eq(mkfifo("f", 0600), 0);
	reader = fork();
	cr_assert_geq(reader, 0);
	if (reader == 0) {
		char chunk[4096];
		size_t all = 0;
		ssize_t got;
		int fd = open("f", O_RDONLY | O_CLOEXEC);

		while ((got = read(fd, chunk, sizeof(chunk))) > 0)
			all += (size_t)got;
		_exit(all == SIZE ? 0 : 1);
	}
	p = opened("f");
	begun(p, "begun");
	cr_expect_eq(report_place_save(p, bytes, SIZE, &err), 0, "%s", err.text);
	report_place_free(p);
	cr_assert_eq(waitpid(reader, &status, 0), reader);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	free(bytes);
}

Test(place, a_fifo_that_nobody_reads_hangs_nothing)
{
	struct report_place *p;
	int64_t start = clock_now_ms();

	cr_assert_eq(mkfifo("f", 0600), 0);
	p = opened("f");
	begun(p, "begun");
	expect_not_saved(p, "saved", 5, "report f", "nobody reads");
	cr_expect_lt(clock_now_ms() - start, 10000);
	report_place_free(p);
}

Test(place, a_reader_that_stands_still_hangs_nothing)
{
	enum {
		SIZE = 1 << 20
	};
	char *bytes = xcalloc(1, SIZE);
	struct report_place *p;
	int fd;

	cr_assert_eq(mkfifo("f", 0600), 0);
	fd = open("f", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	p = opened("f");
	expect_not_saved(p, bytes, SIZE, "report f", "timed out");
	report_place_free(p);
	fd_close(&fd);
	free(bytes);
}

Test(place, devices_are_written_in_place)
{
	struct report_place *p = opened("/dev/null");

	begun(p, "begun");
	saved(p, "saved");
	report_place_free(p);
	cr_expect(S_ISCHR(mode_of("/dev/null")), "the device was replaced");
	cr_assert_eq(symlink("/dev/null", "null"), 0);
	p = opened("null");
	saved(p, "saved");
	report_place_free(p);
	cr_expect(S_ISCHR(mode_of("/dev/null")) && S_ISLNK(mode_of("null")));
	p = opened("/dev/full");
	begun(p, "begun");
	expect_not_saved(p, "saved", 5, "report /dev/full", "No space left");
	report_place_free(p);
}

/* As /dev/stdout, when stdout goes to a file: what was printed must stay. */
Test(place, an_open_file_under_proc_is_appended_to)
{
	char path[64];
	struct report_place *p;
	int fd;

	put("out", "");
	fd = open("out", O_WRONLY | O_CLOEXEC);
	cr_assert_eq(fd_write(fd, "lines\n", 6), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p = opened(path);
	begun(p, "begun");
	saved(p, "saved\n");
	report_place_free(p);
	fd_close(&fd);
	expect_content("out", "lines\nsaved\n");
	cr_expect_eq(entries("."), 1);
}

Test(place, who_reads_the_old_report_reads_it_whole)
{
	char text[16] = "";
	struct report_place *p = opened("r.json");
	int fd;

	begun(p, "begun");
	fd = open("r.json", O_RDONLY | O_CLOEXEC);
	saved(p, "saved");
	report_place_free(p);
	cr_expect_eq(read(fd, text, sizeof(text) - 1), 5);
	cr_expect_str_eq(text, "begun", "the file was written in place");
	fd_close(&fd);
}

/* Whenever the writer is killed, one report or the other stands, whole. */
Test(place, killed_at_any_instant, .timeout = 60)
{
	enum {
		SIZE = 50000,
		ROUNDS = 40
	};
	struct buf b = BUF_INIT;
	struct error err = ERROR_INIT;

	for (int i = 0; i < ROUNDS; i++) {
		int ready[2], status;
		pid_t pid;
		char c;

		cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
		pid = fork();
		cr_assert_geq(pid, 0);
		if (pid == 0) {
			char *bytes = xmalloc(SIZE);
			struct report_place *p = opened("d/r.json");

			for (int k = 0;; k++) {
				memset(bytes, 'a' + k % 2, SIZE);
				if (report_place_save(p, bytes, SIZE, &err) < 0)
					_exit(1);
				(void)!write(ready[1], "", 1);
			}
		}
		fd_close(&ready[1]);
		for (int k = 0; k <= i % 5; k++)
			cr_assert_eq(read(ready[0], &c, 1), 1);
		cr_assert_eq(kill(pid, SIGKILL), 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		fd_close(&ready[0]);
		cr_assert_eq(file_read("d/r.json", SIZE, &b, &err), 0, "%s", err.text);
		cr_assert_eq(b.len, SIZE, "round %d", i);
		cr_assert(b.data[0] == 'a' || b.data[0] == 'b');
		cr_assert_eq(b.data[0], b.data[SIZE - 1], "round %d", i);
	}
	buf_release(&b);
}
