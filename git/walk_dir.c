/* SPDX-License-Identifier: MIT */
/*
 * One directory: its entries in the index become children, its names on disk are looked
 * up among them (a hash table, reused), and what is left on either side is a change.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "git/walk_part.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	LISTING_SIZE = 1 << 16
};

enum child_kind {
	CHILD_PATH, /* a file, link or submodule, with all its stages */
	CHILD_DIR,
	CHILD_SPARSE /* a directory that is one entry */
};

struct walk_child {
	const char *name; /* inside the index, not NUL-terminated for directories */
	uint32_t len;
	enum child_kind kind;
	size_t from, to;
	bool is_seen;
	unsigned char type; /* DT_*, when seen */
};

struct linux_dirent64_view {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

/* Below the root, through no link, wherever it is moved meanwhile. */
static int
dir_open(const struct walk *w, const struct walk_dir *dir)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	const char *path = dir->len == 0 ? "." : dir->path;
	long fd;

	do
		fd = syscall(SYS_openat2, w->root_fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(w->root_fd, path, (int)how.flags);
	return (int)fd;
}

/* The first entry past the directory that `len` bytes of the path at `from` name. */
static size_t
dir_end(const struct index *x, size_t from, size_t to, size_t len)
{
	const char *path = x->entries[from].path;
	size_t step = 1, at = from;

	/* Gallop, then halve: most directories are small. */
	while (at + step < to && x->entries[at + step].len > len &&
	       memcmp(x->entries[at + step].path, path, len + 1) == 0) {
		at += step;
		step *= 2;
	}
	if (at + step < to)
		to = at + step;
	while (at + 1 < to) {
		size_t mid = at + (to - at) / 2;
		const struct index_entry *e = &x->entries[mid];

		if (e->len > len && memcmp(e->path, path, len + 1) == 0)
			at = mid;
		else
			to = mid;
	}
	return at + 1;
}

static size_t
stages_end(const struct index *x, size_t from, size_t to)
{
	const struct index_entry *e = &x->entries[from];
	size_t i = from + 1;

	while (i < to && x->entries[i].len == e->len &&
	       memcmp(x->entries[i].path, e->path, e->len) == 0)
		i++;
	return i;
}

static void
children_list(struct walk_thread *t, const struct walk_dir *dir)
{
	const struct index *x = t->w->index;
	size_t skip = dir->len == 0 ? 0 : dir->len + 1, i;

	t->nchildren = 0;
	for (i = dir->from; i < dir->to;) {
		const struct index_entry *e = &x->entries[i];
		const char *slash = memchr(e->path + skip, '/', e->len - skip);
		struct walk_child c = { .name = e->path + skip, .from = i };

		if (slash == NULL) {
			c.len = e->len - (uint32_t)skip;
			c.to = stages_end(x, i, dir->to);
		} else {
			c.len = (uint32_t)(slash - c.name);
			c.kind = e->mode == INDEX_MODE_TREE && slash[1] == '\0'
				     ? CHILD_SPARSE
				     : CHILD_DIR;
			c.to = dir_end(x, i, dir->to, (size_t)(slash - e->path));
		}
		i = c.to;
		t->children =
		    xgrow(t->children, t->nchildren + 1, &t->children_room, sizeof(c));
		t->children[t->nchildren++] = c;
	}
}

static uint32_t
name_hash(const char *name, size_t n)
{
	uint32_t h = 2166136261u;

	while (n-- > 0)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return h ^ h >> 15;
}

/* Slots hold child + 1; there are at least twice as many as children, a power of 2. */
static void
slots_fill(struct walk_thread *t)
{
	size_t want = 16, i;

	while (want < 2 * t->nchildren)
		want *= 2;
	if (want > t->slots_room) {
		t->slots = xreallocarray(t->slots, want, sizeof(*t->slots));
		t->slots_room = want;
	}
	t->nslots = want;
	memset(t->slots, 0, want * sizeof(*t->slots));
	for (i = 0; i < t->nchildren; i++) {
		size_t at = name_hash(t->children[i].name, t->children[i].len);

		while (t->slots[at &= t->nslots - 1] != 0)
			at++;
		t->slots[at] = (uint32_t)i + 1;
	}
}

/* Mark the children of this name; false when there are none. */
static bool
child_see(struct walk_thread *t, const char *name, size_t len, unsigned char type)
{
	size_t at = name_hash(name, len);
	bool is_known = false;

	for (; t->slots[at &= t->nslots - 1] != 0; at++) {
		struct walk_child *c = &t->children[t->slots[at] - 1];

		if (c->len != len || memcmp(c->name, name, len) != 0)
			continue;
		c->is_seen = true;
		c->type = type;
		is_known = true;
	}
	return is_known;
}

static unsigned char
type_find(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return S_ISREG(st.st_mode)   ? DT_REG
	       : S_ISDIR(st.st_mode) ? DT_DIR
	       : S_ISLNK(st.st_mode) ? DT_LNK
				     : DT_FIFO;
}

static void
untracked_keep(struct walk_thread *t, unsigned char type, const char *name, size_t len)
{
	buf_putc(&t->names, (char)type);
	buf_append(&t->names, name, len);
	buf_putc(&t->names, '\0');
}

static bool
is_dot_git(const struct walk *w, const char *name)
{
	return w->settings->ignore_case ? strcasecmp(name, ".git") == 0
					: strcmp(name, ".git") == 0;
}

static void
install_dir_add(struct walk_thread *t, const struct walk_dir *dir)
{
	t->install_dirs = xgrow(t->install_dirs, t->ninstall_dirs + 1,
				&t->install_dirs_room, sizeof(*t->install_dirs));
	t->install_dirs[t->ninstall_dirs++] = xstrdup(dir->path);
}

static void
name_take(struct walk_thread *t, struct walk_dir *dir, int fd, const char *name,
	  unsigned char type)
{
	size_t len = strlen(name);

	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return;
	if (type == DT_UNKNOWN)
		type = type_find(fd, name);
	if (name[0] == '.') {
		if (is_dot_git(t->w, name) ||
		    (type == DT_DIR && strcmp(name, ".geonosis") == 0))
			return;
		dir->has_ignore |= type == DT_REG && strcmp(name, ".gitignore") == 0;
		if (strcmp(name, ".gitattributes") == 0) {
			t->attribute_dirs =
			    xgrow(t->attribute_dirs, t->nattribute_dirs + 1,
				  &t->attribute_dirs_room, sizeof(*t->attribute_dirs));
			t->attribute_dirs[t->nattribute_dirs++] = xstrdup(dir->path);
		}
	}
	if ((type == DT_DIR || type == DT_LNK) && strcmp(name, "node_modules") == 0)
		install_dir_add(t, dir);
	if (!child_see(t, name, len, type) &&
	    (type == DT_REG || type == DT_LNK || type == DT_DIR))
		untracked_keep(t, type, name, len);
}

/* 0, or -1 with errno. */
static int
names_read(struct walk_thread *t, struct walk_dir *dir, int fd)
{
	if (t->listing == NULL)
		t->listing = xmalloc(LISTING_SIZE);
	for (;;) {
		long n = syscall(SYS_getdents64, fd, t->listing, LISTING_SIZE);
		long at;

		if (n <= 0)
			return n < 0 ? -1 : 0;
		for (at = 0; at < n;) {
			const struct linux_dirent64_view *d =
			    (const void *)(t->listing + at);

			name_take(t, dir, fd, d->name, d->type);
			at += d->reclen;
		}
	}
}

static struct walk_dir *
dir_push(struct walk_thread *t, struct walk_dir *dir, const char *name, size_t len,
	 size_t from, size_t to)
{
	struct walk_dir *below = walk_dir_new(dir, name, len, from, to);

	below->is_unlisted = dir->is_unlisted;
	t->found = xgrow(t->found, t->nfound + 1, &t->found_room, sizeof(below));
	t->found[t->nfound++] = below;
	return below;
}

static bool
is_ours(const struct walk_child *c)
{
	return c->len == 9 && memcmp(c->name, ".geonosis", 9) == 0;
}

/*
 * A directory in an entry's place: files in it are untracked; where a submodule is to
 * be, they count but git lists them not.  A repository there is the entry's affair.
 */
static void
place_enter(struct walk_thread *t, struct walk_dir *dir, int fd,
	    const struct walk_child *c)
{
	bool is_submodule = t->w->index->entries[c->from].mode == INDEX_MODE_GITLINK;
	char *name = xstrndup(c->name, c->len);

	if (walk_is_repository(t->w, dir, fd, name)) {
		free(name);
		return;
	}
	free(name);
	if (is_submodule)
		dir_push(t, dir, c->name, c->len, c->from, c->from)->is_unlisted = true;
	else
		untracked_keep(t, c->type, c->name, c->len);
}

/* A child of the index against what was seen under its name. */
static void
child_check(struct walk_thread *t, struct walk_dir *dir, int fd,
	    const struct walk_child *c)
{
	if (c->kind == CHILD_PATH) {
		if (!c->is_seen) {
			walk_entries_gone(t, c->from, c->to);
			return;
		}
		walk_entry_check(t, dir, fd, c->name, c->from, c->to - c->from);
		if (c->type == DT_DIR)
			place_enter(t, dir, fd, c);
		return;
	}
	if (is_ours(c)) {
		memset(t->w->states + c->from, WALK_OURS, c->to - c->from);
	} else if (c->is_seen && c->type == DT_DIR) {
		t->wants_expansion |= c->kind == CHILD_SPARSE;
		if (c->kind == CHILD_DIR)
			(void)dir_push(t, dir, c->name, c->len, c->from, c->to);
	} else {
		walk_entries_gone(t, c->from, c->to);
		if (c->is_seen && (c->type == DT_REG || c->type == DT_LNK))
			untracked_keep(t, c->type, c->name, c->len);
	}
}

/* Files that hold rules, in the index but not on disk. */
static void
rules_find(struct walk_thread *t, struct walk_dir *dir)
{
	size_t i;

	for (i = 0; i < t->nchildren; i++) {
		const struct walk_child *c = &t->children[i];

		if (c->kind != CHILD_PATH || c->is_seen || c->name[0] != '.')
			continue;
		if (c->len == 10 && memcmp(c->name, ".gitignore", 10) == 0 &&
		    (t->w->index->entries[c->from].flags & INDEX_SKIP_WORKTREE))
			dir->ignore_entry = (uint32_t)c->from;
		t->hidden_attributes |=
		    c->len == 14 && memcmp(c->name, ".gitattributes", 14) == 0;
	}
}

static void
untracked_take(struct walk_thread *t, struct walk_dir *dir, int fd, unsigned char type,
	       const char *name)
{
	size_t n = strlen(name), at;

	buf_clear(&t->path);
	if (dir->len > 0) {
		buf_append(&t->path, dir->path, dir->len);
		buf_putc(&t->path, '/');
	}
	at = t->path.len;
	buf_append(&t->path, name, n);
	if (walk_is_ignored(t->w, dir, t->path.data, t->path.len, t->path.data + at,
			    type == DT_DIR))
		return;
	if (type != DT_DIR)
		walk_untracked_add(t, dir, fd, name, t->path.data, t->path.len);
	else if (walk_is_repository(t->w, dir, fd, name))
		walk_repository_add(t, dir, t->path.data, t->path.len);
	else
		(void)dir_push(t, dir, name, n, dir->to, dir->to);
}

static void
untracked_read(struct walk_thread *t, struct walk_dir *dir, int fd)
{
	const char *p = t->names.data, *end = p + t->names.len;

	walk_dir_prepare(t->w, dir);
	for (; p < end && !dir->is_ignored; p += strlen(p + 1) + 2)
		untracked_take(t, dir, fd, (unsigned char)*p, p + 1);
}

void
walk_dir_read(struct walk_thread *t, struct walk_dir *dir)
{
	int fd = dir_open(t->w, dir);
	size_t i;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
		walk_entries_gone(t, dir->from, dir->to);
		return;
	}
	if (fd < 0) {
		walk_opaque_dir_add(t, dir);
		return;
	}
	buf_clear(&t->names);
	children_list(t, dir);
	slots_fill(t);
	if (names_read(t, dir, fd) < 0)
		walk_opaque_dir_add(t, dir);
	rules_find(t, dir);
	for (i = 0; i < t->nchildren; i++)
		child_check(t, dir, fd, &t->children[i]);
	if (t->names.len > 0)
		untracked_read(t, dir, fd);
	fd_close(&fd);
}
