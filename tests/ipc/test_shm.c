/* SPDX-License-Identifier: MIT */
#include "ipc/shm.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/fd.h"

static char name[64];
static char path[96];

static void
name_make(void)
{
	(void)snprintf(name, sizeof(name), "/gn-shm-%ld", (long)getpid());
	(void)snprintf(path, sizeof(path), "/dev/shm%s", name);
}

static void
name_remove(void)
{
	(void)unlink(path);
	(void)rmdir(path);
}

TestSuite(shm, .init = name_make, .fini = name_remove);

Test(shm, names_are_one_path_segment)
{
	static const struct {
		const char *name;
		bool is_good;
	} cases[] = {
		{ "/geonosis-0", true }, { "/a", true },	{ "", false },
		{ "a", false },		 { "/", false },	{ "/.", false },
		{ "/..", false },	 { "/a/b", false },	{ "//a", false },
		{ "/...", true },	 { "/\xc3\xa9", true },
	};
	struct error err = ERROR_INIT;
	char longest[300] = "/";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int rc = shm_name_check(cases[i].name, &err);

		cr_expect_eq(rc, cases[i].is_good ? 0 : -1, "%s", cases[i].name);
		if (!cases[i].is_good)
			cr_expect_eq(err.kind, ERROR_USAGE);
	}
	memset(longest + 1, 'x', 250);
	cr_expect_eq(shm_name_check(longest, &err), 0);
	longest[251] = 'x';
	cr_expect_eq(shm_name_check(longest, &err), -1);
}

Test(shm, is_made_for_its_user_alone_whatever_the_umask)
{
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	struct error err = ERROR_INIT;
	struct stat st;
	int fd = -1;

	cr_assert_eq(shm_attach(name, false, &fd, &err), 0, "there is none");
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		(void)umask(masks[i]);
		cr_assert_eq(shm_attach(name, true, &fd, &err), 1, "%s", err.text);
		cr_assert_eq(umask(masks[i]), masks[i], "the umask stays");
		cr_assert_eq(fstat(fd, &st), 0);
		cr_expect_eq(st.st_mode & 07777, 0600, "umask %o", masks[i]);
		cr_expect_neq(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
		cr_assert_eq(shm_attach(name, false, &fd, &err), 1);
		(void)unlink(path);
	}
}

enum squat {
	SQUAT_LINK,
	SQUAT_DANGLING,
	SQUAT_DIRECTORY,
	SQUAT_FIFO,
	SQUAT_MODE,
	SQUAT_SETUID,
	SQUAT_NAMES,
	SQUAT_OWNER,
};

static void
squat(enum squat kind)
{
	char other[128];
	int fd;

	(void)snprintf(other, sizeof(other), "%s.other", path);
	(void)unlink(other);
	if (kind == SQUAT_LINK || kind == SQUAT_DANGLING) {
		if (kind == SQUAT_LINK)
			fd_close(&(int){ open(other, O_CREAT | O_WRONLY, 0600) });
		cr_assert_eq(symlink(other, path), 0);
		return;
	}
	if (kind == SQUAT_DIRECTORY) {
		cr_assert_eq(mkdir(path, 0700), 0);
		return;
	}
	if (kind == SQUAT_FIFO) {
		cr_assert_eq(mkfifo(path, 0600), 0);
		return;
	}
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	if (kind == SQUAT_MODE)
		cr_assert_eq(fchmod(fd, 0644), 0);
	if (kind == SQUAT_SETUID)
		cr_assert_eq(fchmod(fd, 04600), 0);
	if (kind == SQUAT_NAMES)
		cr_assert_eq(link(path, other), 0);
	if (kind == SQUAT_OWNER)
		cr_assert_eq(fchown(fd, 65534, 65534), 0);
	fd_close(&fd);
}

Test(shm, what_is_not_ours_is_refused_by_name, .timeout = 20)
{
	static const struct {
		enum squat kind;
		const char *says;
	} cases[] = {
		{ SQUAT_LINK, "symbolic link" },  { SQUAT_DANGLING, "symbolic link" },
		{ SQUAT_DIRECTORY, "directory" }, { SQUAT_FIFO, "regular file" },
		{ SQUAT_MODE, "mode 0644" },	  { SQUAT_SETUID, "mode 4600" },
		{ SQUAT_NAMES, "2 names" },	  { SQUAT_OWNER, "user 65534" },
	};
	char other[128];

	(void)snprintf(other, sizeof(other), "%s.other", path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = ERROR_INIT;
		struct stat st;
		int fd = -1;

		if (cases[i].kind == SQUAT_OWNER && geteuid() != 0)
			continue;
		squat(cases[i].kind);
		cr_expect_eq(shm_attach(name, true, &fd, &err), -1, "%s", cases[i].says);
		cr_expect_eq(err.kind, ERROR_DATA, "%s", cases[i].says);
		cr_expect_not_null(strstr(err.text, cases[i].says), "%s", err.text);
		cr_expect_not_null(strstr(err.text, name), "%s", err.text);
		if (cases[i].kind == SQUAT_DANGLING)
			cr_expect_neq(stat(other, &st), 0, "it was followed");
		name_remove();
		(void)unlink(other);
	}
}

Test(shm, locks_belong_to_descriptions, .timeout = 20)
{
	struct error err = ERROR_INIT;
	int a = -1, b, copy;

	cr_assert_eq(shm_attach(name, true, &a, &err), 1);
	b = shm_reopen(name, a, shm_inode(a));
	cr_assert_geq(b, 0);
	cr_assert_eq(shm_lock(a, 7), 0);
	cr_assert_eq(shm_lock(b, 7), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(shm_lock(b, 8), 0);
	cr_assert(shm_is_locked(b, 7, 1) && shm_is_locked(b, 0, 100));
	cr_assert_not(shm_is_locked(b, 8, 100), "one's own are not seen");
	cr_assert_eq(shm_lock_patient(b, 7, 5), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(shm_lock_owner(b, 7), getpid());
	cr_assert_eq(shm_lock_owner(b, 9), 0);
	copy = dup(a);
	fd_close(&a);
	cr_assert(shm_is_locked(b, 7, 1), "a copy is as good");
	fd_close(&copy);
	cr_assert_not(shm_is_locked(b, 7, 1));
	fd_close(&b);
}

Test(shm, seats_are_shared_and_seen, .timeout = 20)
{
	struct error err = ERROR_INIT;
	int a = -1, b, c;

	cr_assert_eq(shm_private(&a, &err), 0);
	b = shm_reopen(NULL, a, shm_inode(a));
	c = shm_reopen(NULL, a, shm_inode(a));
	cr_assert(b >= 0 && c >= 0);
	cr_assert_eq(shm_lock_shared(a, 1), 0);
	cr_assert_eq(shm_lock_shared(b, 1), 0);
	cr_assert(shm_is_locked(c, 1, 1));
	cr_assert_eq(shm_lock(c, 1), -1);
	shm_unlock(a, 1);
	shm_unlock(b, 1);
	cr_assert_eq(shm_lock(c, 1), 0);
}

Test(shm, a_name_that_stands_for_another_is_noticed, .timeout = 20)
{
	struct error err = ERROR_INIT;
	int a = -1, b = -1;

	cr_assert_eq(shm_attach(name, true, &a, &err), 1);
	cr_assert_not(shm_is_unlinked(a));
	cr_assert_eq(unlink(path), 0);
	cr_assert(shm_is_unlinked(a));
	cr_assert_eq(shm_reopen(name, a, shm_inode(a)), -1);
	cr_assert_eq(errno, ESTALE);
	cr_assert_eq(shm_attach(name, true, &b, &err), 1);
	cr_assert_eq(shm_reopen(name, a, shm_inode(a)), -1);
	cr_assert_eq(errno, ESTALE);
}
