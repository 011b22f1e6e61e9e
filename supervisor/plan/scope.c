/* SPDX-License-Identifier: MIT */
/*
 * In order: the workspaces, the mark, the base, what differs from it, and what of that
 * reaches which workspace.  At every point where something is not known the answer is
 * "all", with the reason; nothing is left out by an error.
 */
#include "supervisor/plan/scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "git/base.h"
#include "git/changed.h"
#include "git/commit.h"
#include "git/repository.h"
#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/plan/cuts.h"
#include "supervisor/plan/hidden.h"
#include "supervisor/plan/scope_part.h"

void
scope_run_all(struct scope *s, const char *reason)
{
	if (s->reason == NULL)
		s->reason = xstrdup(reason);
}

static void
finder_add_commit(struct finder *f, const char *hex)
{
	size_t n = f->ncommits;

	if (n == 1 && strcmp(f->commits[0], hex) == 0)
		return;
	(void)snprintf(f->commits[n], sizeof(f->commits[n]), "%s", hex);
	f->commit_list[n] = f->commits[n];
	f->ncommits++;
}

/* --- the base --- */

/* The tier's own mark: what GEONOSIS_BASE says, whatever the run is held against. */
static void
finder_read_mark(struct finder *f, struct base *ret_base)
{
	struct scope *s = f->s;

	s->mark_name = mark_name(f->rq->tier, f->subdir);
	mark_read(&f->repository, s->mark_name, &s->mark);
	if (s->mark.state != MARK_FOUND)
		return;
	base_find(&f->repository, s->mark.commit, ret_base);
	if (ret_base->state == BASE_FOUND)
		(void)snprintf(s->mark_base, sizeof(s->mark_base), "%s",
			       ret_base->commit);
}

static void
finder_use_mark(struct finder *f, const struct base *b)
{
	struct scope *s = f->s;
	struct error ignored = ERROR_INIT;
	char *reason;

	if (s->mark.state == MARK_FOUND && b->state == BASE_FOUND) {
		finder_add_commit(f, b->commit);
		finder_add_commit(f, s->mark.commit);
		f->known_parts = mark_parts_read(&f->repository, s->mark_name,
						 s->mark.commit, &f->parts, &ignored);
		s->base_is_verified = true;
		s->against = xasprintf("%s (%.12s)", s->mark_name, s->mark.commit);
		return;
	}
	reason = xasprintf("the mark %s is no base: %s", s->mark_name,
			   s->mark.state == MARK_GONE ? s->mark.why.text : b->why.text);
	scope_run_all(s, reason);
	free(reason);
}

/* With no mark, `fast` is held against main, of which nobody here has said that it is
 * green. */
static void
finder_use_main(struct finder *f)
{
	struct base b = BASE_INIT;
	char *reason;

	if (strcmp(f->rq->tier, "fast") != 0) {
		reason = xasprintf("there is no mark %s yet", f->s->mark_name);
	} else if (base_find_main(&f->repository, &b) == 0) {
		reason =
		    xasprintf("there is no mark %s yet, and no main", f->s->mark_name);
	} else if (b.state != BASE_FOUND) {
		reason = xasprintf("there is no mark %s yet, and main is no base: %s",
				   f->s->mark_name, b.why.text);
	} else if (b.has_head) {
		reason = xasprintf("there is no mark %s yet, and HEAD is in main",
				   f->s->mark_name);
	} else {
		finder_add_commit(f, b.commit);
		f->s->against =
		    xasprintf("main (%.12s), which was not verified here", b.commit);
		return;
	}
	scope_run_all(f->s, reason);
	free(reason);
}

static int
finder_use_since(struct finder *f)
{
	char tip[DIGEST_HEX_SIZE];
	struct base b = BASE_INIT;
	int rc = commit_of_name(&f->repository, f->rq->since, tip, f->err);

	if (rc < 0)
		return error_wrap(f->err, "--since %s", f->rq->since);
	if (rc == 0)
		return error_set(f->err, ERROR_USAGE,
				 "--since: \"%s\" names no commit here", f->rq->since);
	base_find(&f->repository, tip, &b);
	if (b.state == BASE_FOUND)
		finder_add_commit(f, b.commit);
	finder_add_commit(f, tip);
	f->s->against = xasprintf("%s (%.12s)", f->rq->since, tip);
	return 0;
}

static int
finder_find_base(struct finder *f)
{
	struct base b = BASE_INIT;

	finder_read_mark(f, &b);
	if (f->rq->since != NULL)
		return finder_use_since(f);
	if (f->rq->tree->head[0] == '\0')
		scope_run_all(f->s, "there is no commit yet");
	else if (f->s->mark.state == MARK_NONE)
		finder_use_main(f);
	else
		finder_use_mark(f, &b);
	return 0;
}

/* --- what differs --- */

/* What a document or a version cut says elsewhere too is still no more than that. */
static void
finder_find_aliases(struct finder *f, const struct changed *c)
{
	struct alias_list *l = &f->aliases;
	size_t i, n = 0;

	aliases_find(f->rq->tree, (const char *const *)c->paths, c->npaths, l);
	for (i = 0; i < l->nitems; i++) {
		struct alias a = l->items[i];
		char *path = a.path;

		if (!f->s->is_cut[a.changed] &&
		    !config_is_document(f->rq->config, f->s->changes[a.changed])) {
			a.path = path_from(f->subdir, path);
			l->items[n++] = a;
		}
		free(path);
	}
	l->nitems = n;
}

static void
finder_find_gone(struct finder *f)
{
	struct scope *s = f->s;
	struct stat st;
	size_t i;

	s->is_gone = xcalloc(s->nchanges, sizeof(*s->is_gone));
	for (i = 0; i < s->nchanges; i++)
		s->is_gone[i] = lstat(s->changes[i], &st) < 0 &&
				(errno == ENOENT || errno == ENOTDIR);
}

static int
finder_find_cuts(struct finder *f)
{
	f->s->is_cut = xcalloc(f->s->nchanges, sizeof(*f->s->is_cut));
	return cuts_find(
	    &(struct cuts_question){
		.repository = &f->repository,
		.subdir = f->subdir,
		.commits = f->commit_list,
		.ncommits = f->ncommits,
		.version_files = &f->rq->config->version_files,
		.paths = (const char *const *)f->s->changes,
		.npaths = f->s->nchanges,
	    },
	    f->s->is_cut, f->err);
}

static int
finder_find_changes(struct finder *f)
{
	struct changed c = CHANGED_INIT;
	struct error why = ERROR_INIT;
	int rc = 0;
	size_t i;

	if (f->ncommits == 0)
		return 0;
	if (changed_find(&f->repository, f->commit_list, f->ncommits, &c, &why) < 0) {
		(void)error_wrap(&why, "what changed cannot be read");
		scope_run_all(f->s, why.text);
		return 0;
	}
	if (f->known_parts == 1)
		hidden_add(&f->parts, f->rq->parts, &c);
	f->s->changes = xcalloc(c.npaths, sizeof(*f->s->changes));
	for (i = 0; i < c.npaths; i++)
		f->s->changes[i] = path_from(f->subdir, c.paths[i]);
	f->s->nchanges = c.npaths;
	f->s->has_changes = true;
	if (f->rq->needs_workspaces) {
		finder_find_gone(f);
		rc = finder_find_cuts(f);
		if (rc == 0)
			finder_find_aliases(f, &c);
	}
	changed_release(&c);
	return rc;
}

/* --- the whole --- */

static bool
request_is_narrowing(const struct scope_request *rq)
{
	return rq->affected || rq->since != NULL;
}

/*
 * A tree without a repository has no past: asking what changed is refused.  Where there
 * is one that cannot be read all run.
 */
static int
scope_without_repository(const struct scope_request *rq, struct error *err)
{
	const char *flag = rq->since != NULL ? "--since" : "--affected";
	const char *why =
	    rq->tree->why != NULL ? rq->tree->why : "this is not in a git repository";

	if (!request_is_narrowing(rq) || rq->unreadable != NULL)
		return 0;
	return error_set(err, ERROR_USAGE, "%s: nothing says what changed: %s", flag,
			 why);
}

static int
finder_open(struct finder *f)
{
	if (repository_open(f->rq->tree, &f->repository, f->err) < 0)
		return -1;
	f->subdir = repository_subdir(&f->repository, ".", f->err);
	return f->subdir != NULL ? 0 : -1;
}

static int
finder_run(struct finder *f)
{
	bool narrowing = request_is_narrowing(f->rq);

	if (finder_open(f) < 0 || finder_find_base(f) < 0 || finder_find_changes(f) < 0)
		return -1;
	if (!narrowing || !f->rq->needs_workspaces || !f->s->has_changes)
		return 0;
	return finder_narrow(f);
}

static int
scope_load_workspaces(struct scope *s, struct error *err)
{
	size_t i;

	if (workspace_list_load(".", &s->workspaces, err) < 0)
		return -1;
	graph_build(&s->workspaces, &s->graph);
	s->is_selected = xcalloc(s->workspaces.nitems, sizeof(*s->is_selected));
	s->why = xcalloc(s->workspaces.nitems, sizeof(*s->why));
	for (i = 0; i < s->workspaces.nitems; i++)
		s->is_selected[i] = true;
	return 0;
}

int
scope_find(const struct scope_request *rq, struct scope *ret_scope, struct error *err)
{
	struct scope s = SCOPE_INIT;
	struct error why = ERROR_INIT;
	struct finder f = {
		.rq = rq,
		.s = &s,
		.repository = REPOSITORY_INIT,
		.parts = MARK_PARTS_INIT,
		.err = &why,
	};
	int rc = 0;

	if (rq->needs_workspaces)
		rc = scope_load_workspaces(&s, err);
	if (rc == 0 && rq->unreadable != NULL)
		scope_run_all(&s, rq->unreadable);
	if (rc == 0 && rq->tree->state != TREE_FOUND) {
		rc = scope_without_repository(rq, err);
	} else if (rc == 0 && finder_run(&f) < 0) {
		/* A plain run needs no history: what cannot be read costs it a variable.
		 */
		if (request_is_narrowing(rq)) {
			*err = why;
			rc = -1;
		}
	}
	mark_parts_release(&f.parts);
	alias_list_release(&f.aliases);
	repository_release(&f.repository);
	free(f.subdir);
	if (rc < 0) {
		scope_release(&s);
		return -1;
	}
	*ret_scope = s;
	return 0;
}

void
scope_release(struct scope *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; s->why != NULL && i < s->workspaces.nitems; i++)
		free(s->why[i]);
	for (i = 0; i < s->nchanges; i++)
		free(s->changes[i]);
	free(s->why);
	free(s->is_selected);
	free(s->changes);
	free(s->is_cut);
	free(s->is_gone);
	free(s->against);
	free(s->reason);
	free(s->mark_name);
	graph_release(&s->graph);
	workspace_list_release(&s->workspaces);
	*s = (struct scope)SCOPE_INIT;
}
