/* SPDX-License-Identifier: MIT */
/*
 * The threads of a walk share a stack of directories; each takes the last pushed, so
 * that the walk goes deep first and the stack stays small.  A thread with nothing to
 * take waits for one that is in a directory; when none is, the walk is over.
 */
#include "git/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/walk_part.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	THREADS_MAX = 8,
	ENTRIES_PER_THREAD = 2000, /* fewer are not worth a thread's start */
	RACY_SLACK_NSEC = 10000000 /* two ticks of the clock that files are stamped by */
};

struct walk_dir *
walk_dir_new(struct walk_dir *parent, const char *name, size_t n, size_t from, size_t to)
{
	size_t before = parent == NULL || parent->len == 0 ? 0 : parent->len + 1;
	struct walk_dir *d = xcalloc(1, sizeof(*d) + before + n + 1);

	d->parent = parent;
	d->from = from;
	d->to = to;
	d->ignore_entry = WALK_NO_ENTRY;
	d->len = (uint32_t)(before + n);
	if (before > 0) {
		memcpy(d->path, parent->path, parent->len);
		d->path[parent->len] = '/';
	}
	memcpy(d->path + before, name, n);
	return d;
}

struct walk_item *
walk_item_add(struct walk_thread *t, const char *path, size_t len, uint32_t entry,
	      enum tree_change_kind kind)
{
	struct walk_item *item;

	t->items = xgrow(t->items, t->nitems + 1, &t->items_room, sizeof(*t->items));
	item = &t->items[t->nitems++];
	memset(item, 0, sizeof(*item));
	item->path = xstrndup(path, len);
	item->len = (uint32_t)len;
	item->entry = entry;
	item->kind = kind;
	return item;
}

bool
walk_is_repository(const struct walk *w, const struct walk_dir *dir, int fd,
		   const char *name)
{
	struct place place = PLACE_INIT;
	struct error ignored = ERROR_INIT;
	struct stat st;
	char *path = xasprintf("%s/.git", name);
	bool is_one;

	is_one = fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	free(path);
	if (!is_one)
		return false;
	path = xasprintf("%s/%s%s%s", w->root, dir->path, dir->len > 0 ? "/" : "", name);
	is_one = place_at(path, &place, &ignored) == 1;
	place_release(&place);
	free(path);
	return is_one;
}

/* Take a directory, waiting for one; NULL when the walk is over. Lock held. */
static struct walk_dir *
dir_take(struct walk *w)
{
	while (w->nstack == 0) {
		if (w->nbusy == 0)
			return NULL;
		(void)pthread_cond_wait(&w->has_work, &w->lock);
	}
	w->nbusy++;
	return w->stack[--w->nstack];
}

static void
dirs_give(struct walk *w, struct walk_thread *t)
{
	size_t i;

	w->stack = xgrow(w->stack, w->nstack + t->nfound + 1, &w->stack_room,
			 sizeof(struct walk_dir *));
	for (i = 0; i < t->nfound; i++) {
		t->found[i]->next = w->all;
		w->all = t->found[i];
		w->stack[w->nstack++] = t->found[i];
	}
	w->nbusy--;
	if (t->nfound > 1 || (w->nbusy == 0 && w->nstack == 0))
		(void)pthread_cond_broadcast(&w->has_work);
	t->nfound = 0;
}

static void *
thread_run(void *context)
{
	struct walk_thread *t = context;
	struct walk *w = t->w;
	struct walk_dir *dir;

	(void)pthread_mutex_lock(&w->lock);
	while ((dir = dir_take(w)) != NULL) {
		(void)pthread_mutex_unlock(&w->lock);
		walk_dir_read(t, dir);
		(void)pthread_mutex_lock(&w->lock);
		dirs_give(w, t);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

static size_t
threads_count(size_t wanted, size_t nentries)
{
	cpu_set_t set;
	size_t n = 1;

	if (wanted > 0)
		return wanted > THREADS_MAX ? THREADS_MAX : wanted;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = (size_t)CPU_COUNT(&set);
	if (n > nentries / ENTRIES_PER_THREAD + 1)
		n = nentries / ENTRIES_PER_THREAD + 1;
	return n > THREADS_MAX ? THREADS_MAX : n;
}

/* One thread is ourselves; where another cannot be started, fewer do the same work. */
static void
threads_run(struct walk_thread *threads, size_t n)
{
	pthread_t ids[THREADS_MAX];
	size_t started = 1;

	for (; started < n; started++)
		if (pthread_create(&ids[started], NULL, thread_run, &threads[started]) !=
		    0)
			break;
	(void)thread_run(&threads[0]);
	while (--started > 0)
		(void)pthread_join(ids[started], NULL);
}

static int
item_compare(const void *a, const void *b)
{
	const struct walk_item *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	if (c != 0)
		return c;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void
paths_take(char ***into, size_t *n, char *const *paths, size_t npaths)
{
	if (npaths == 0)
		return;
	*into = xreallocarray(*into, *n + npaths, sizeof(**into));
	memcpy(*into + *n, paths, npaths * sizeof(**into));
	*n += npaths;
}

static int
path_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
thread_collect(struct walk_thread *t, struct walk_result *r)
{
	if (t->nitems > 0) {
		r->items =
		    xreallocarray(r->items, r->nitems + t->nitems, sizeof(*r->items));
		memcpy(r->items + r->nitems, t->items, t->nitems * sizeof(*r->items));
		r->nitems += t->nitems;
	}
	paths_take(&r->attribute_dirs, &r->nattribute_dirs, t->attribute_dirs,
		   t->nattribute_dirs);
	paths_take(&r->install_dirs, &r->ninstall_dirs, t->install_dirs,
		   t->ninstall_dirs);
	r->nstale += t->nstale;
	r->hidden_attributes |= t->hidden_attributes;
	r->wants_expansion |= t->wants_expansion;
	free(t->items);
	free(t->attribute_dirs);
	free(t->install_dirs);
	free(t->children);
	free(t->slots);
	buf_release(&t->names);
	buf_release(&t->path);
	free(t->listing);
	free(t->found);
}

static void
walk_begin(struct walk *w, const struct place *place)
{
	struct walk_dir *top = walk_dir_new(NULL, "", 0, 0, w->index->nentries);
	char *path = xasprintf("%s/info/exclude", place->common_dir);

	w->exclude = walk_ignore_load(path, "", w->settings->ignore_case);
	free(path);
	w->user_exclude =
	    walk_ignore_load(w->settings->excludes_file, "", w->settings->ignore_case);
	blob_id(w->settings->format, "", 0, w->empty_id);
	w->racy = w->index->written;
	w->racy.tv_nsec -= RACY_SLACK_NSEC;
	if (w->racy.tv_nsec < 0) {
		w->racy.tv_nsec += 1000000000;
		w->racy.tv_sec--;
	}
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->has_work, NULL);
	w->stack = xgrow(NULL, 64, &w->stack_room, sizeof(struct walk_dir *));
	w->stack[w->nstack++] = top;
	w->all = top;
}

static void
walk_end(struct walk *w)
{
	while (w->all != NULL) {
		struct walk_dir *d = w->all;

		w->all = d->next;
		ignore_free(d->ignore);
		free(d);
	}
	free(w->stack);
	ignore_free(w->exclude);
	ignore_free(w->user_exclude);
	(void)pthread_mutex_destroy(&w->lock);
	(void)pthread_cond_destroy(&w->has_work);
}

int
walk_tree(const struct walk_source *source, struct walk_result *ret_result,
	  struct error *err)
{
	const char *root = source->place->root;
	struct walk w = { .settings = source->settings,
			  .index = source->index,
			  .objects = source->objects,
			  .root = strcmp(root, "/") == 0 ? "" : root };
	size_t n = threads_count(source->threads, source->index->nentries), i;
	struct walk_result r = WALK_RESULT_INIT;
	struct walk_thread *all;

	w.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w.root_fd < 0)
		return error_system(err, "%s", root);
	r.states = xcalloc(source->index->nentries + 1, 1);
	r.sizes = xcalloc(source->index->nentries + 1, sizeof(*r.sizes));
	if (!source->settings->file_mode)
		r.odd_modes = xcalloc(source->index->nentries + 1, 1);
	w.states = r.states;
	w.odd_modes = r.odd_modes;
	w.sizes = r.sizes;
	all = xcalloc(n, sizeof(*all));
	for (i = 0; i < n; i++)
		all[i].w = &w;
	walk_begin(&w, source->place);
	threads_run(all, n);
	for (i = 0; i < n; i++)
		thread_collect(&all[i], &r);
	walk_end(&w);
	free(all);
	fd_close(&w.root_fd);
	if (r.nitems > 1)
		qsort(r.items, r.nitems, sizeof(*r.items), item_compare);
	if (r.ninstall_dirs > 1)
		qsort(r.install_dirs, r.ninstall_dirs, sizeof(*r.install_dirs),
		      path_compare);
	*ret_result = r;
	return 0;
}

void
walk_result_release(struct walk_result *r)
{
	size_t i;

	for (i = 0; i < r->nitems; i++)
		free(r->items[i].path);
	for (i = 0; i < r->nattribute_dirs; i++)
		free(r->attribute_dirs[i]);
	for (i = 0; i < r->ninstall_dirs; i++)
		free(r->install_dirs[i]);
	free(r->install_dirs);
	free(r->items);
	free(r->attribute_dirs);
	free(r->states);
	free(r->sizes);
	free(r->odd_modes);
	free(r->raws);
	*r = (struct walk_result)WALK_RESULT_INIT;
}
