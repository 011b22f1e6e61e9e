/* SPDX-License-Identifier: MIT */
/* Files and directories: what ipc/fd.h promises of their content. */
#include "ipc/fd.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
enter(void)
{
	(void)scratch_enter();
	children_adopt();
}

static void
leave(void)
{
	children_end();
	scratch_leave();
}

TestSuite(file, .init = enter, .fini = leave);
TestSuite(dir, .init = enter, .fini = leave);

/* Where a process is to be killed within file_save; a number of calls seen. */
enum moment {
	NEVER,
	BEFORE_FSYNC,
	AFTER_FSYNC,
	BEFORE_RENAME,
	AFTER_RENAME,
};

static enum moment death = NEVER;
static int fsyncs, renames, fsyncs_at_rename;

static void
die_at(enum moment now)
{
	if (now == death)
		(void)kill(getpid(), SIGKILL);
}

/* In place of the C library's, so that a test can stand between two steps. */
int
fsync(int fd)
{
	int rc;

	die_at(BEFORE_FSYNC);
	fsyncs++;
	rc = (int)syscall(SYS_fsync, fd);
	die_at(AFTER_FSYNC);
	return rc;
}

int
rename(const char *from, const char *to)
{
	int rc;

	die_at(BEFORE_RENAME);
	renames++;
	fsyncs_at_rename = fsyncs;
	rc = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	die_at(AFTER_RENAME);
	return rc;
}

struct size_case {
	size_t size;
	size_t max;
	bool is_ok;
};

static const struct size_case sizes[] = {
	{ 0, 0, true },
	{ 0, 1, true },
	{ 1, 0, false },
	{ 1, 1, true },
	{ 65535, 65535, true },
	{ 65536, 65536, true },
	{ 65537, 65536, false },
	{ 65537, 65537, true },
	{ 200000, 199999, false },
	{ 200000, SIZE_MAX, true },
};

Test(file, read_up_to_its_limit)
{
	char *bytes = calloc(1, 200000);

	memset(bytes + 1000, 'x', 1000);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const struct size_case *c = &sizes[i];
		struct buf b = BUF_INIT;
		struct error err = ERROR_INIT;
		int fd = open("f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		cr_assert_eq(fd_write(fd, bytes, c->size), 0);
		(void)close(fd);
		buf_puts(&b, "before");
		cr_expect_eq(file_read("f", c->max, &b, &err), c->is_ok ? 0 : -1,
			     "%zu of %zu: %s", c->size, c->max, err.text);
		if (c->is_ok) {
			cr_expect_eq(b.len, c->size);
			cr_expect_eq(memcmp(buf_text(&b), bytes, c->size), 0);
			cr_expect_eq(err.kind, ERROR_NONE);
		} else {
			cr_expect_str_eq(buf_text(&b), "before", "written on failure");
			cr_expect_eq(err.kind, ERROR_DATA);
			cr_expect_eq(strncmp(err.text, "f: ", 3), 0, "%s", err.text);
		}
		buf_release(&b);
	}
	free(bytes);
}

static void
make_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	(void)close(fd);
}

struct refuse_case {
	const char *path;
	enum error_kind kind;
	int errnum;
};

static const struct refuse_case refused[] = {
	{ "missing", ERROR_SYSTEM, ENOENT }, { "dangling", ERROR_SYSTEM, ENOENT },
	{ "loop", ERROR_SYSTEM, ELOOP },     { "plain/below", ERROR_SYSTEM, ENOTDIR },
	{ "", ERROR_SYSTEM, ENOENT },	     { "directory", ERROR_DATA, 0 },
	{ "fifo", ERROR_DATA, 0 },	     { "to-fifo", ERROR_DATA, 0 },
	{ "socket", ERROR_DATA, 0 },	     { "/dev/zero", ERROR_DATA, 0 },
	{ "/dev/null", ERROR_DATA, 0 },
};

/* A fifo that nobody writes must not hang. */
Test(file, read_refuses_what_is_no_file, .timeout = 10)
{
	scratch_write("plain", "x");
	cr_assert_eq(mkdir("directory", 0700) | mkfifo("fifo", 0600), 0);
	cr_assert_eq(symlink("nowhere", "dangling") | symlink("loop", "loop"), 0);
	cr_assert_eq(symlink("fifo", "to-fifo"), 0);
	make_socket("socket");
	for (size_t i = 0; i < COUNT(refused); i++) {
		const struct refuse_case *c = &refused[i];
		struct error err = ERROR_INIT;
		struct buf b = BUF_INIT;

		cr_expect_eq(file_read(c->path, 1000, &b, &err), -1, "%s", c->path);
		cr_expect_eq(err.kind, c->kind, "%s: kind %d: %s", c->path, (int)err.kind,
			     err.text);
		cr_expect_eq(err.errnum, c->errnum, "%s: %s", c->path, err.text);
		cr_expect_eq(strncmp(err.text, c->path, strlen(c->path)), 0, "%s",
			     err.text);
		cr_expect_null(b.data);
		buf_release(&b);
	}
}

/* stat says 0 bytes of those. */
Test(file, read_what_the_kernel_makes_up)
{
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;

	cr_expect_eq(file_read("/proc/self/status", 1 << 20, &b, &err), 0, "%s",
		     err.text);
	cr_expect_not_null(strstr(buf_text(&b), "Name:"));
	buf_release(&b);
}

Test(file, read_leaves_no_descriptor)
{
	int lowest = dup(2);

	(void)close(lowest);
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct error err = ERROR_INIT;
		struct buf b = BUF_INIT;

		(void)file_read(refused[i].path, 1000, &b, &err);
		buf_release(&b);
	}
	cr_expect_eq(dup(2), lowest);
	(void)close(lowest);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void
expect_content(const char *path, const char *want)
{
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;

	cr_expect_eq(file_read(path, 1 << 26, &b, &err), 0, "%s", err.text);
	cr_expect_str_eq(buf_text(&b), want, "%s", path);
	buf_release(&b);
}

static int
save(const char *path, const char *text, struct error *err)
{
	*err = (struct error)ERROR_INIT;
	return file_save(path, text, strlen(text), err);
}

Test(file, save_makes_and_replaces)
{
	struct error err;

	cr_expect_eq(save("f", "one", &err), 0, "%s", err.text);
	expect_content("f", "one");
	cr_expect_eq(save("f", "", &err), 0, "%s", err.text);
	expect_content("f", "");
	cr_expect_eq(save("./f", "three", &err), 0, "%s", err.text);
	expect_content("f", "three");
	cr_assert_eq(mkdir("d", 0700), 0);
	cr_expect_eq(save("d/with space\nand line", "x", &err), 0, "%s", err.text);
	expect_content("d/with space\nand line", "x");
	cr_expect_eq(save("-rf", "x", &err), 0, "%s", err.text);
	cr_expect_eq(save(".hidden", "x", &err), 0, "%s", err.text);
	cr_expect_eq(scratch_count("."), 4, "nothing else is left");
	cr_expect_eq(scratch_count("d"), 1);
	cr_expect_eq(renames, 6);
	cr_expect_eq(fsyncs, 6);
}

Test(file, save_syncs_before_it_renames)
{
	struct error err;

	cr_expect_eq(save("f", "x", &err), 0);
	cr_expect_eq(fsyncs_at_rename, 1);
}

struct mode_case {
	mode_t mask;
	mode_t before; /* 0: no file */
	mode_t after;
};

static const struct mode_case modes[] = {
	{ 0022, 0, 0644 },    { 0002, 0, 0644 },    { 0077, 0, 0600 },
	{ 0077, 0644, 0644 }, { 0022, 0600, 0600 }, { 0022, 0666, 0666 },
	{ 0022, 0400, 0400 }, { 0022, 0755, 0755 }, { 0777, 0640, 0640 },
};

/* `0644 less the umask`: a file is not for every member of a group to write. */
Test(file, save_modes)
{
	struct error err;

	for (size_t i = 0; i < COUNT(modes); i++) {
		const struct mode_case *c = &modes[i];
		mode_t saved;

		(void)unlink("f");
		if (c->before != 0) {
			scratch_write("f", "before");
			cr_assert_eq(chmod("f", c->before), 0);
		}
		saved = umask(c->mask);
		cr_expect_eq(save("f", "x", &err), 0, "%s", err.text);
		(void)umask(saved);
		cr_expect_eq(mode_of("f"), c->after, "mask %o, before %o: %o",
			     (unsigned)c->mask, (unsigned)c->before,
			     (unsigned)mode_of("f"));
	}
}

Test(file, save_leaves_other_names_of_the_file_alone)
{
	struct error err;

	scratch_write("f", "old");
	cr_assert_eq(link("f", "other"), 0);
	cr_expect_eq(save("f", "new", &err), 0, "%s", err.text);
	expect_content("f", "new");
	expect_content("other", "old");
}

Test(file, save_over_a_link_can_be_read_back)
{
	struct error err;

	cr_assert_eq(symlink("nowhere/at/all", "link"), 0);
	cr_expect_eq(save("link", "new", &err), 0, "%s", err.text);
	expect_content("link", "new");
}

/* A reader that has the file open reads on in what it opened. */
Test(file, save_does_not_touch_an_open_file)
{
	struct error err;
	char got[8] = "";
	int fd;

	scratch_write("f", "old");
	fd = open("f", O_RDONLY | O_CLOEXEC);
	cr_expect_eq(save("f", "newer", &err), 0, "%s", err.text);
	cr_expect_eq(read(fd, got, sizeof(got)), 3);
	cr_expect_str_eq(got, "old");
	(void)close(fd);
}

Test(file, save_fails_and_leaves_nothing)
{
	struct error err;

	cr_assert_eq(mkdir("d", 0700), 0);
	scratch_write("d/inside", "x");
	cr_expect_eq(save("d", "new", &err), -1, "a directory is no file");
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	cr_expect_eq(strncmp(err.text, "d: ", 3), 0, "%s", err.text);
	expect_content("d/inside", "x");
	cr_expect_eq(save("no/such/directory", "new", &err), -1);
	cr_expect_eq(err.errnum, ENOENT);
	cr_expect_eq(save("d/inside/f", "new", &err), -1);
	cr_expect_eq(err.errnum, ENOTDIR);
	cr_expect_eq(save("", "new", &err), -1);
	cr_expect_eq(scratch_count("."), 1, "a temporary file is left");
	cr_expect_eq(scratch_count("d"), 1);
}

/* The temporary file's name is not made of the target's. */
Test(file, save_under_a_name_as_long_as_names_can_be)
{
	char name[NAME_MAX + 1];
	struct error err = ERROR_INIT;

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	cr_expect_eq(save(name, "new", &err), 0, "%s", err.text);
	expect_content(name, "new");
	cr_expect_eq(scratch_count("."), 1);
}

/* What a killed process left, empties the directory but for "f". */
static void
remove_left_over(void)
{
	DIR *dir = opendir(".");
	struct dirent *e;

	cr_assert_not_null(dir);
	while ((e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, ".geonosis-", 10) == 0)
			(void)unlink(e->d_name);
	(void)closedir(dir);
}

Test(file, save_on_a_full_disk_keeps_the_old)
{
	struct error err = ERROR_INIT;
	char *big = calloc(1, 1 << 20);

	if (!scratch_mount("small", 128 * 1024))
		cr_skip_test("no mount here");
	cr_expect_eq(save("small/f", "old", &err), 0, "%s", err.text);
	cr_expect_eq(file_save("small/f", big, 1 << 20, &err), -1);
	cr_expect_eq(err.errnum, ENOSPC, "%s", err.text);
	cr_expect_eq(strncmp(err.text, "small/f: ", 9), 0, "%s", err.text);
	expect_content("small/f", "old");
	cr_expect_eq(scratch_count("small"), 1, "a temporary file is left");
	cr_expect_eq(file_save("small/new", big, 1 << 20, &err), -1);
	cr_expect_eq(scratch_count("small"), 1);
	free(big);
}

Test(file, save_past_a_size_limit_keeps_the_old)
{
	struct rlimit few = { 1000, RLIM_INFINITY };
	struct error err;
	char big[5000];

	memset(big, 'x', sizeof(big));
	(void)signal(SIGXFSZ, SIG_IGN);
	cr_expect_eq(save("f", "old", &err), 0);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	cr_expect_eq(file_save("f", big, sizeof(big), &err), -1);
	few.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	cr_expect_eq(err.errnum, EFBIG, "%s", err.text);
	expect_content("f", "old");
	cr_expect_eq(scratch_count("."), 1);
}

struct death_case {
	enum moment moment;
	const char *stands;
	int entries; /* where a file can be made without a name */
};

static const struct death_case deaths[] = {
	{ BEFORE_FSYNC, "old", 1 },
	{ AFTER_FSYNC, "old", 1 },
	{ BEFORE_RENAME, "old", 2 },
	{ AFTER_RENAME, "new", 1 },
};

static bool
can_be_nameless(void)
{
	int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	bool can = fd >= 0;

	fd_close(&fd);
	return can;
}

Test(file, save_killed_between_two_steps)
{
	bool can = can_be_nameless();
	struct error err;

	for (size_t i = 0; i < COUNT(deaths); i++) {
		const struct death_case *c = &deaths[i];
		pid_t pid;

		cr_assert_eq(save("f", "old", &err), 0);
		pid = fork();
		if (pid == 0) {
			death = c->moment;
			(void)save("f", "new", &err);
			_exit(0);
		}
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
		expect_content("f", c->stands);
		cr_expect_eq(scratch_count("."),
			     can || c->moment == AFTER_RENAME ? c->entries : 2,
			     "case %zu", i);
		remove_left_over();
		cr_expect_eq(scratch_count("."), 1, "case %zu", i);
	}
}

enum {
	BULK = 1 << 20
};

/* All of it one letter: whole. */
static char
bulk_letter(void)
{
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;
	char letter = '?';

	if (file_read("f", 2 * BULK, &b, &err) == 0 && b.len == BULK) {
		letter = b.data[0];
		for (size_t i = 0; i < BULK; i++)
			if (b.data[i] != letter)
				letter = '?';
	}
	buf_release(&b);
	return letter;
}

/* Killed wherever it happens to be. */
Test(file, save_killed_at_any_instant, .timeout = 60)
{
	_Atomic int *saves = mmap(NULL, sizeof(*saves), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *bulk = malloc(BULK);
	struct error err = ERROR_INIT;

	memset(bulk, 'A', BULK);
	cr_assert_eq(file_save("f", bulk, BULK, &err), 0, "%s", err.text);
	for (int round = 0; round < 25; round++) {
		int before = *saves;
		char letter;
		pid_t pid = fork();

		while (pid == 0) {
			memset(bulk, 'A' + *saves % 26, BULK);
			(void)file_save("f", bulk, BULK, &err);
			++*saves;
		}
		while (*saves < before + 1 + round % 3)
			(void)usleep(50);
		(void)usleep((useconds_t)(round * 37 % 1000));
		(void)kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
		letter = bulk_letter();
		cr_assert(letter >= 'A' && letter <= 'Z', "round %d: a mixture", round);
	}
	free(bulk);
}

/* Another process reads all the while: it never sees a half. */
Test(file, save_is_whole_for_a_reader, .timeout = 60)
{
	char *bulk = malloc(BULK);
	struct error err = ERROR_INIT;
	pid_t pid;

	memset(bulk, 'A', BULK);
	cr_assert_eq(file_save("f", bulk, BULK, &err), 0);
	pid = fork();
	while (pid == 0) {
		memset(bulk, bulk[0] == 'Z' ? 'A' : bulk[0] + 1, BULK);
		(void)file_save("f", bulk, BULK, &err);
	}
	for (int i = 0; i < 200; i++)
		cr_assert_neq(bulk_letter(), '?', "look %d", i);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	free(bulk);
}

struct make_case {
	const char *path;
	const char *made;
};

static const struct make_case makes[] = {
	{ "a", "a" },
	{ "b/c/d", "b/c/d" },
	{ "b/c/d", "b/c/d" },
	{ "e//f///g/", "e/f/g" },
	{ "./h/./i", "h/i" },
	{ "a/../j/k", "j/k" },
	{ ".", "." },
	{ "/", "/" },
	{ "to-a/below", "a/below" },
	{ "sp ace/\xff\n/x", "sp ace/\xff\n/x" },
	{ "to-a", "a" },
	{ "b/c/new", "b/c/new" },
};

Test(dir, make)
{
	struct stat st;

	cr_assert_eq(symlink("a", "to-a"), 0);
	for (size_t i = 0; i < COUNT(makes); i++) {
		struct error err = ERROR_INIT;

		cr_expect_eq(dir_make(makes[i].path, &err), 0, "%s: %s", makes[i].path,
			     err.text);
		cr_expect(stat(makes[i].made, &st) == 0 && S_ISDIR(st.st_mode), "%s",
			  makes[i].path);
	}
}

struct block_case {
	const char *path;
	const char *names; /* what the text must begin with */
};

static const struct block_case blocks[] = {
	{ "file", "file: " },
	{ "file/below", "file: " },
	{ "d/file/below/that", "d/file: " },
	{ "dangling/x", "dangling: " },
	{ "d/fifo/x", "d/fifo: " },
	{ "/proc/geonosis/x", "/proc/geonosis: " },
	{ "loop/x", "loop: " },
};

Test(dir, make_names_what_is_in_the_way)
{
	scratch_write("file", "x");
	cr_assert_eq(mkdir("d", 0700), 0);
	scratch_write("d/file", "x");
	cr_assert_eq(mkfifo("d/fifo", 0600), 0);
	cr_assert_eq(symlink("nowhere", "dangling") | symlink("loop", "loop"), 0);
	for (size_t i = 0; i < COUNT(blocks); i++) {
		const struct block_case *c = &blocks[i];
		struct error err = ERROR_INIT;

		cr_expect_eq(dir_make(c->path, &err), -1, "%s", c->path);
		cr_expect_eq(strncmp(err.text, c->names, strlen(c->names)), 0, "%s: %s",
			     c->path, err.text);
	}
	cr_expect_eq(access("nowhere", F_OK), -1, "made through a dangling link");
}

Test(dir, make_a_name_that_is_too_long)
{
	struct error err = ERROR_INIT;
	char path[NAME_MAX + 20];

	memset(path, 'n', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	cr_expect_eq(dir_make(path, &err), -1);
	cr_expect_eq(err.errnum, ENAMETOOLONG);
}
