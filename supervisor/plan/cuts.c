/* SPDX-License-Identifier: MIT */
#include "supervisor/plan/cuts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "git/snapshot.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "supervisor/project/version_cut.h"

enum {
	CUT_BYTES_MAX = 16 << 20
};

/* A regular file on disk, its content and whether it can be executed. */
static bool
disk_read(const char *path, struct buf *content, bool *ret_is_exec)
{
	struct error ignored = ERROR_INIT;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_is_exec = (st.st_mode & S_IXUSR) != 0;
	return file_read(path, CUT_BYTES_MAX, content, &ignored) == 0;
}

/* Does a cut explain how the disk differs from one commit? */
static bool
commit_is_explained(struct snapshot *s, const char *path, enum cut_kind kind,
		    const struct buf *now, bool is_exec)
{
	struct error ignored = ERROR_INIT;
	struct buf before = BUF_INIT;
	enum snapshot_kind was;
	bool explained;

	explained =
	    snapshot_find(s, path, &was, &ignored) == 0 &&
	    was == (is_exec ? SNAPSHOT_EXEC : SNAPSHOT_FILE) &&
	    snapshot_read(s, path, CUT_BYTES_MAX, &before, &ignored) == 1 &&
	    cut_explains(kind, buf_text(&before), before.len, buf_text(now), now->len);
	buf_release(&before);
	return explained;
}

static bool
change_is_cut(struct snapshot *const *snapshots, size_t n, const char *path,
	      const struct version_files *files)
{
	enum cut_kind kind = cut_kind_of(path, files);
	struct buf now = BUF_INIT;
	bool is_exec = false;
	bool is_cut;
	size_t i;

	if (kind == CUT_NONE || kind == CUT_CHANGELOG)
		return kind == CUT_CHANGELOG;
	/* The snapshots begin at the working directory. */
	if (strncmp(path, "../", 3) == 0)
		return false;
	is_cut = disk_read(path, &now, &is_exec);
	for (i = 0; i < n && is_cut; i++)
		is_cut = commit_is_explained(snapshots[i], path, kind, &now, is_exec);
	buf_release(&now);
	return is_cut;
}

int
cuts_find(const struct cuts_question *q, bool *ret_is_cut, struct error *err)
{
	struct snapshot **snapshots = xcalloc(q->ncommits, sizeof(*snapshots));
	struct version_files *files = NULL;
	int rc = -1;
	size_t i;

	if (version_files_compile((const char *const *)q->version_files->items,
				  q->version_files->nitems, &files, err) < 0)
		goto out;
	for (i = 0; i < q->ncommits; i++)
		if (snapshot_open(q->repository, q->commits[i], q->subdir, &snapshots[i],
				  err) < 0)
			goto out;
	for (i = 0; i < q->npaths; i++)
		ret_is_cut[i] = change_is_cut(snapshots, q->ncommits, q->paths[i], files);
	rc = 0;
out:
	for (i = 0; i < q->ncommits; i++)
		snapshot_free(snapshots[i]);
	free(snapshots);
	version_files_free(files);
	return rc;
}
