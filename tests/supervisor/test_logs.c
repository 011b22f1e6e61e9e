/* SPDX-License-Identifier: MIT */
#include "supervisor/run/logs.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "supervisor/run/local.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
enter(void)
{
	(void)scratch_enter();
}

TestSuite(logs, .init = enter, .fini = scratch_leave);

static int
shell(const char *command)
{
	return system(command);
}

/* Opens, checks what it gives, and gives it back. */
static void
expect_open(const char *tier)
{
	struct error err = ERROR_INIT;
	char *path = NULL;
	struct stat a, b;
	int fd = -1;

	cr_assert_eq(logs_open(tier, &path, &fd, &err), 0, "%s: %s", tier, err.text);
	cr_expect_eq(strncmp(path, ".geonosis/logs/", 15), 0);
	cr_expect_str_eq(path + 15, tier);
	cr_expect_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	cr_expect_eq(scratch_count(path), 0, "it is not empty");
	cr_assert_eq(stat(path, &a) | fstat(fd, &b), 0);
	cr_expect_eq(a.st_ino, b.st_ino, "the descriptor is of another directory");
	fd_close(&fd);
	free(path);
}

static void
expect_failure(const char *tier, const char *names)
{
	struct error err = ERROR_INIT;
	char *path = NULL;
	int fd = -1;

	cr_expect_eq(logs_open(tier, &path, &fd, &err), -1);
	cr_expect_eq(strncmp(err.text, names, strlen(names)), 0, "%s", err.text);
	cr_expect_null(path);
	cr_expect_eq(fd, -1);
}

Test(logs, made_and_made_again)
{
	expect_open("fast");
	expect_open("fast");
	expect_open("a.b-c_D1");
}

Test(logs, emptied)
{
	cr_assert_eq(
	    shell("mkdir -p .geonosis/logs/fast/a/b/c .geonosis/logs/full .geonosis/keep;"
		  "cd .geonosis/logs; touch fast/fast-1.log fast/.hidden fast/a/x "
		  "fast/a/b/c/y full/full-1.log; mkfifo fast/fifo;"
		  "touch 'fast/with space' fast/-rf; chmod 000 fast/fast-1.log"),
	    0);
	expect_open("fast");
	cr_expect_eq(scratch_count(".geonosis/logs/full"), 1, "another tier's are left");
	cr_expect_eq(scratch_count(".geonosis/keep"), 0);
	cr_expect_eq(scratch_count(".geonosis"), 2);
}

/* Links go; what they lead to stays. */
Test(logs, links_in_it_are_not_followed)
{
	cr_assert_eq(shell("mkdir -p .geonosis/logs/fast/sub precious; touch precious/x;"
			   "ln -s \"$PWD/precious\" .geonosis/logs/fast/dir;"
			   "ln -s \"$PWD/precious\" .geonosis/logs/fast/sub/dir;"
			   "ln -s \"$PWD/precious/x\" .geonosis/logs/fast/file;"
			   "ln precious/x .geonosis/logs/fast/hard"),
		     0);
	expect_open("fast");
	cr_expect_eq(scratch_count("precious"), 1);
}

Test(logs, link_in_its_place_is_not_followed)
{
	cr_assert_eq(shell("mkdir -p .geonosis/logs precious; touch precious/x;"
			   "ln -s \"$PWD/precious\" .geonosis/logs/fast"),
		     0);
	expect_failure("fast", ".geonosis/logs/fast: ");
	cr_expect_eq(scratch_count("precious"), 1);
	cr_assert_eq(
	    shell("rm -r .geonosis/logs; mkdir precious/fast; touch precious/fast/y;"
		  "ln -s \"$PWD/precious\" .geonosis/logs"),
	    0);
	expect_failure("fast", ".geonosis/logs: ");
	cr_expect_eq(scratch_count("precious/fast"), 1);
}

/* The directory itself may be a link to where its owner wants it. */
Test(logs, geonosis_itself_may_be_a_link)
{
	cr_assert_eq(shell("mkdir elsewhere; ln -s elsewhere .geonosis"), 0);
	expect_open("fast");
	cr_expect_eq(scratch_count("elsewhere/logs"), 1);
}

Test(logs, what_is_in_the_way_stays_and_is_named)
{
	scratch_write(".geonosis", "x");
	expect_failure("fast", ".geonosis: ");
	cr_assert_eq(unlink(".geonosis"), 0);
	cr_assert_eq(shell("mkdir .geonosis; echo x >.geonosis/logs"), 0);
	expect_failure("fast", ".geonosis/logs: ");
	cr_assert_eq(shell("rm .geonosis/logs; mkdir .geonosis/logs;"
			   "echo x >.geonosis/logs/fast"),
		     0);
	expect_failure("fast", ".geonosis/logs/fast: ");
	cr_expect_eq(shell("test \"$(cat .geonosis/logs/fast)\" = x"), 0);
}

/* Deeper than one would descend: it ends, and leaves at worst a rest. */
Test(logs, deep_directories, .timeout = 30)
{
	struct error err = ERROR_INIT;
	char *path = NULL;
	int fd = -1;

	cr_assert_eq(shell("mkdir -p .geonosis/logs/fast; cd .geonosis/logs/fast;"
			   "for i in $(seq 300); do mkdir d; cd d || exit 1; done"),
		     0);
	if (logs_open("fast", &path, &fd, &err) == 0)
		fd_close(&fd);
	free(path);
	cr_assert_eq(shell("rm -rf .geonosis"), 0);
}

struct name_case {
	const char *id;
	const char *log;
};

static const struct name_case names[] = {
	{ "fast/1", "fast-1.log" },
	{ "fast/12", "fast-12.log" },
	{ "a-b.c_D/3", "a-b.c_D-3.log" },
	{ "fast/2@packages/a", "fast-2@packages%2Fa.log" },
	{ "full/4@1/2", "full-4@1%2F2.log" },
	{ "fast/2@a%b", "fast-2@a%25b.log" },
	{ "fast/2@a%2Fb", "fast-2@a%252Fb.log" },
	{ "fast/2@a-b", "fast-2@a-b.log" },
	{ "fast/2@a/b/c", "fast-2@a%2Fb%2Fc.log" },
	{ "fast/2@@scope/x", "fast-2@@scope%2Fx.log" },
	{ "fast/2@a@b/c", "fast-2@a@b%2Fc.log" },
	{ "fast/2@with space\nline", "fast-2@with space\nline.log" },
	{ "fast/2@\xff", "fast-2@\xff.log" },
	{ "fast/2@.", "fast-2@..log" },
	{ "fast/2@../..", "fast-2@..%2F...log" },
};

Test(logs, names_of_files)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		char *log = local_log_name(names[i].id);

		cr_expect_str_eq(log, names[i].log, "%s: %s", names[i].id, log);
		cr_expect_null(strchr(log, '/'));
		free(log);
	}
}
