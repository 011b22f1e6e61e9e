/* SPDX-License-Identifier: MIT */
#include "ipc/fd.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/geonosis-fd-XXXXXX";

static void
enter(void)
{
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
}

static void
leave(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(fd, .init = enter, .fini = leave);

static void
save(const char *path, const char *text)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(file_save(path, text, strlen(text), &err), 0, "%s", err.text);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return st.st_mode & 0777;
}

Test(fd, close_forgets_the_number_and_keeps_errno)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int old = fd;

	errno = EPIPE;
	fd_close(&fd);
	cr_expect_eq(fd, -1);
	cr_expect_eq(fcntl(old, F_GETFD), -1);
	errno = EPIPE;
	fd_close(&fd);
	cr_expect_eq(errno, EPIPE);
}

Test(fd, saves_whole_and_leaves_nothing_beside)
{
	struct buf b = BUF_INIT;
	struct error err = ERROR_INIT;

	save("a", "first");
	save("a", "second\n");
	cr_assert_eq(file_read("a", 7, &b, &err), 0, "%s", err.text);
	cr_expect_str_eq(buf_text(&b), "second\n");
	cr_expect_eq(system("test \"$(ls -A)\" = a"), 0, "no temporary file stays");
	buf_release(&b);
}

Test(fd, save_keeps_the_mode_of_the_file_replaced)
{
	(void)umask(077);
	save("new", "x");
	cr_expect_eq(mode_of("new"), 0600);
	cr_assert_eq(chmod("new", 0664), 0);
	save("new", "y");
	cr_expect_eq(mode_of("new"), 0664);
}

Test(fd, a_save_that_fails_leaves_the_old_file)
{
	struct error err = ERROR_INIT;

	cr_expect_eq(file_save("no/such/dir/a", "x", 1, &err), -1);
	cr_expect_eq(err.errnum, ENOENT);
	cr_assert_not_null(strstr(err.text, "no/such/dir/a"));
	cr_assert_eq(mkdir("d", 0777), 0);
	cr_expect_eq(file_save("d", "x", 1, &err), -1, "a directory is no file");
	cr_expect_eq(system("test \"$(ls -A)\" = d"), 0, "no temporary file stays");
}

Test(fd, reads_refuse_what_is_no_file_or_too_large)
{
	struct buf b = BUF_INIT;
	struct error err = ERROR_INIT;

	buf_puts(&b, "kept");
	cr_expect_eq(file_read("none", 10, &b, &err), -1);
	cr_expect_eq(err.kind, ERROR_SYSTEM);
	cr_expect_eq(err.errnum, ENOENT);
	save("five", "12345");
	cr_expect_eq(file_read("five", 4, &b, &err), -1);
	cr_expect_eq(err.kind, ERROR_DATA);
	cr_expect_eq(file_read(".", 10, &b, &err), -1);
	cr_expect_eq(err.kind, ERROR_DATA);
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_expect_eq(file_read("fifo", 10, &b, &err), -1, "a fifo does not hang");
	cr_expect_eq(err.kind, ERROR_DATA);
	cr_expect_str_eq(buf_text(&b), "kept", "failure leaves the output alone");
	buf_release(&b);
}

Test(fd, makes_directories_and_names_what_is_in_the_way)
{
	struct error err = ERROR_INIT;

	cr_expect_eq(dir_make("a/b//c/", &err), 0, "%s", err.text);
	cr_expect_eq(dir_make("a/b/c", &err), 0, "twice is fine");
	cr_expect_eq(mode_of("a/b/c") & 0700, 0700);
	save("a/file", "x");
	cr_expect_eq(dir_make("a/file/d", &err), -1);
	cr_expect_not_null(strstr(err.text, "a/file"));
	cr_expect_null(strstr(err.text, "a/file/d"));
}

Test(fd, write_goes_on_through_a_full_pipe, .timeout = 10)
{
	int fds[2];
	char *bytes = calloc(1, 1 << 20);
	char chunk[4096];
	size_t total = 0;
	ssize_t got;
	pid_t pid;
	int status;

	cr_assert_not_null(bytes);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		fd_close(&fds[0]);
		_exit(fd_write(fds[1], bytes, 1 << 20) == 0 ? 0 : 1);
	}
	fd_close(&fds[1]);
	while ((got = read(fds[0], chunk, sizeof(chunk))) > 0)
		total += (size_t)got;
	fd_close(&fds[0]);
	cr_expect_eq(total, 1 << 20);
	free(bytes);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}
