/* SPDX-License-Identifier: MIT */
#include "ipc/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fd.h"

int
lock_open(const char *path, int *ret_fd, struct error *err)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);

	if (fd < 0)
		return error_system(err, "%s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_close(&fd);
		return error_set(err, ERROR_DATA, "%s: not a regular file", path);
	}
	*ret_fd = fd;
	return 0;
}

int
lock_try(int fd, struct error *err)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &fl) == 0)
		return 1;
	if (errno == EAGAIN || errno == EACCES)
		return 0;
	return error_system(err, "lock");
}

void
lock_write_note(int fd, const char *note)
{
	char text[LOCK_NOTE_MAX];
	int n = snprintf(text, sizeof(text), "%s", note);

	/* One write over the old text, padded: a reader never sees an empty file. */
	if (n >= 0 && n < (int)sizeof(text))
		memset(text + n, '\n', sizeof(text) - (size_t)n);
	(void)!pwrite(fd, text, sizeof(text), 0);
}

void
lock_read_note(int fd, char note[LOCK_NOTE_MAX])
{
	ssize_t n = pread(fd, note, LOCK_NOTE_MAX - 1, 0);

	note[n > 0 ? n : 0] = '\0';
	note[strcspn(note, "\n")] = '\0';
}
