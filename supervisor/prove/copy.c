/* SPDX-License-Identifier: MIT */
/*
 *   copy_start --fork--> maker: overlay, else the files themselves; history; guards
 *   copy_finish <-- one message: how it went, and the namespaces' descriptors -- exit
 *
 * Whatever instant the maker is killed at: its mounts go with it, and its files lie in
 * the storage, which is removed whole.
 */
#include "supervisor/prove/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/prove/copy_state.h"
#include "supervisor/prove/history.h"
#include "supervisor/prove/overlay.h"
#include "supervisor/prove/portable.h"
#include "supervisor/prove/removal.h"

struct copy_message {
	int32_t kind; /* COPY_NONE: it failed */
	int32_t is_guarded;
	int32_t nfds; /* that come with it: the mount namespace, the user namespace */
	char commit[DIGEST_HEX_SIZE];
	struct error error;
};

/* --- the maker --- */

struct making {
	struct copy *copy;
	struct history history;
	struct copy_message message;
	bool is_in; /* in a space of its own */
	bool is_user;
};

/* What is copied lies in a directory of the tree's own name: some tools print it. */
static char *
copy_portable_root(const struct copy *c)
{
	return xasprintf("%s/%s", c->store, strrchr(c->ground->root, '/') + 1);
}

static int
making_overlay(struct making *m, struct error *err)
{
	const struct copy *c = m->copy;
	const struct overlay_setup setup = {
		.ground = c->ground,
		.store = c->store,
		.mounts = &c->mounts,
	};
	int rc;

	if (c->ground->wish != GROUND_ANY && c->ground->wish != GROUND_OVERLAY)
		return 0;
	rc = overlay_make(&setup, &m->is_in, &m->is_user, err);
	if (rc == 0 && c->ground->wish == GROUND_OVERLAY)
		return -1;
	if (rc == 1) {
		m->message.kind = COPY_OVERLAY;
		m->message.is_guarded = 1;
	}
	return rc;
}

static int
guard_git(const char *dir, const struct ground *g, struct error *err)
{
	if (dir == NULL || path_lies_in(dir, g->root))
		return 0;
	return space_guard(dir, NULL, err);
}

/* Where the kernel lets us, the tree cannot be written to; else the write is found. */
static void
making_guard(struct making *m)
{
	const struct ground *g = m->copy->ground;
	const char *storage = m->copy->storage->path;
	struct error why = ERROR_INIT;

	if (g->wish == GROUND_BARE)
		return;
	if (!m->is_in && space_enter(&m->is_user, &why) < 0)
		return;
	m->is_in = true;
	m->message.is_guarded =
	    space_guard(g->root, path_lies_in(storage, g->root) ? storage : NULL, &why) ==
		0 &&
	    guard_git(g->git_dir, g, &why) == 0 && guard_git(g->common_dir, g, &why) == 0;
}

static int
making_portable(struct making *m, struct error *err)
{
	char *root = copy_portable_root(m->copy);
	int rc = portable_make(m->copy->ground, root, err);

	free(root);
	if (rc < 0)
		return -1;
	making_guard(m);
	m->message.kind = COPY_PORTABLE;
	return 0;
}

static int
making_history(struct making *m, struct error *err)
{
	struct copy *c = m->copy;
	bool is_overlay = m->message.kind == COPY_OVERLAY;
	char *root = is_overlay ? xstrdup(c->ground->root) : copy_portable_root(c);
	int rc = 0;

	if (c->has_history)
		rc = history_make(&m->history, root, c->store, m->message.commit, err);
	free(root);
	return rc;
}

static int
making_run(struct making *m, struct error *err)
{
	int rc;

	if (m->copy->has_history)
		history_read(m->copy->ground, &m->history);
	rc = making_overlay(m, err);
	if (rc == 0)
		rc = making_portable(m, err);
	return rc < 0 ? -1 : making_history(m, err);
}

/* The namespaces last as long as somebody has a descriptor of them. */
static void
making_tell(struct making *m, int sock)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * 2)];
	} control = { 0 };
	struct iovec iov = { .iov_base = &m->message, .iov_len = sizeof(m->message) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[2] = { -1, -1 };

	if (m->is_in && m->message.kind != COPY_NONE) {
		fds[0] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
		if (m->is_user)
			fds[1] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
		m->message.nfds = m->is_user ? 2 : 1;
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)m->message.nfds);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)m->message.nfds);
		memcpy(CMSG_DATA(&control.header), fds,
		       sizeof(int) * (size_t)m->message.nfds);
	}
	(void)sendmsg(sock, &msg, MSG_NOSIGNAL);
}

static _Noreturn void
maker_main(struct copy *c, int sock)
{
	struct making m = { .copy = c, .history = HISTORY_INIT };

	(void)prctl(PR_SET_NAME, "gn-copy");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	m.message.error = (struct error)ERROR_INIT;
	if (making_run(&m, &m.message.error) < 0)
		m.message.kind = COPY_NONE;
	making_tell(&m, sock);
	_exit(0);
}

/* --- the other side --- */

static int
copy_fork(struct copy *c, struct error *err)
{
	int pair[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_system(err, "copy: socket");
	c->maker = fork();
	if (c->maker == 0)
		maker_main(c, pair[1]);
	fd_close(&pair[1]);
	c->maker_fd = pair[0];
	return c->maker < 0 ? error_system(err, "copy: fork") : 0;
}

int
copy_start(const struct ground *g, const struct storage *s, unsigned n, bool history,
	   struct copy *ret_copy, struct error *err)
{
	struct copy c = {
		.ground = g,
		.storage = s,
		.has_history = history,
		.name = xasprintf("%u", n),
		.store = xasprintf("%s/%u", s->path, n),
		.maker = -1,
		.maker_fd = -1,
		.user_ns = -1,
		.mount_ns = -1,
	};
	uint64_t bytes;

	if (mkdir(c.store, 0700) < 0)
		(void)error_system(err, "copy: %s", c.store);
	else if (mounts_find(g->root, &c.mounts, err) == 0 && copy_fork(&c, err) == 0) {
		*ret_copy = c;
		return 0;
	}
	(void)copy_remove(&c, &bytes, &(struct error)ERROR_INIT);
	return -1;
}

static void
copy_reap_maker(struct copy *c)
{
	if (c->maker > 0)
		while (waitpid(c->maker, NULL, 0) < 0 && errno == EINTR)
			;
	c->maker = -1;
	fd_close(&c->maker_fd);
}

/* The descriptors of a message, in the order sent; those that have not come are -1. */
static ssize_t
copy_receive(const struct copy *c, struct copy_message *m, int fds[2])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * 2)];
	} control;
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *h;
	ssize_t n;

	do {
		n = recvmsg(c->maker_fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	h = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (h != NULL && h->cmsg_type == SCM_RIGHTS && h->cmsg_len > CMSG_LEN(0))
		memcpy(fds, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
	return n;
}

int
copy_finish(struct copy *c, struct error *err)
{
	struct copy_message m;
	int fds[2] = { -1, -1 };
	ssize_t n = copy_receive(c, &m, fds);

	c->mount_ns = fds[0];
	c->user_ns = fds[1];
	copy_reap_maker(c);
	if (n != (ssize_t)sizeof(m))
		return error_set(err, ERROR_SYSTEM, "copy: its maker was killed");
	if (m.kind == COPY_NONE) {
		*err = m.error;
		return -1;
	}
	if ((m.nfds >= 1 && c->mount_ns < 0) || (m.nfds == 2 && c->user_ns < 0))
		return error_set(err, ERROR_SYSTEM,
				 "copy: no descriptor of its namespace");
	c->kind = m.kind == COPY_OVERLAY ? COPY_OVERLAY : COPY_PORTABLE;
	c->is_guarded = m.is_guarded != 0;
	memcpy(c->commit, m.commit, sizeof(c->commit));
	if (c->kind == COPY_OVERLAY) {
		c->root = xstrdup(c->ground->root);
		c->dir = xstrdup(c->ground->dir);
	} else {
		c->root = copy_portable_root(c);
		c->dir = xasprintf("%s%s%s", c->root, *c->ground->rel != '\0' ? "/" : "",
				   c->ground->rel);
	}
	return 0;
}

int
copy_enter(const struct copy *c)
{
	/* In this order: it is the user namespace that allows the other one. */
	if (c->user_ns >= 0 && setns(c->user_ns, CLONE_NEWUSER) < 0)
		return -1;
	if (c->mount_ns >= 0 && setns(c->mount_ns, CLONE_NEWNS) < 0)
		return -1;
	return chdir(c->dir);
}

int
copy_mark(struct copy *c, struct error *err)
{
	copy_state_free(c->before);
	c->before = NULL;
	return copy_state_take(c, &c->before, err);
}

int
copy_changes(const struct copy *c, struct changes *changes, struct error *err)
{
	struct copy_state *after = NULL;

	if (copy_state_take(c, &after, err) < 0)
		return -1;
	copy_state_compare(c, c->before, after, changes);
	copy_state_free(after);
	return 0;
}

int
copy_remove(struct copy *c, uint64_t *ret_bytes, struct error *err)
{
	int rc = 0;

	if (c->maker > 0)
		(void)kill(c->maker, SIGKILL);
	copy_reap_maker(c);
	fd_close(&c->mount_ns);
	fd_close(&c->user_ns);
	*ret_bytes = 0;
	if (c->name != NULL && removal_run(c->storage->dir_fd, c->name, ret_bytes) < 0)
		rc = error_system(err, "%s: cannot be removed", c->store);
	copy_state_free(c->before);
	mounts_release(&c->mounts);
	free(c->name);
	free(c->store);
	free(c->root);
	free(c->dir);
	*c = (struct copy){ .maker = -1, .maker_fd = -1, .user_ns = -1, .mount_ns = -1 };
	return rc;
}
