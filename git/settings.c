/* SPDX-License-Identifier: MIT */
#include "git/settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "git/ask.h"
#include "git/conffile.h"
#include "git/variables.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	CONFIG_MAX = 8 << 20,
	INCLUDE_DEPTH_MAX = 10
};

enum scope {
	SCOPE_USER, /* system and global: safe.directory counts only there */
	SCOPE_PLACE
};

/* One file being read, on the stack of those that include it. */
struct source {
	struct settings *s;
	const char *path;
	enum scope scope;
	unsigned depth;
	bool conditional; /* included under a condition that is not judged here */
	struct error *err;
	bool failed; /* *err is set */
};

static int file_load(struct source *src);

static void
puzzle_set(struct settings *s, const char *what, const char *where)
{
	if (s->puzzle == NULL)
		s->puzzle = xasprintf("%s in %s", what, where);
}

static void
text_set(char **field, char *value)
{
	free(*field);
	*field = value;
}

/* 1, 0, or -1 for what is no boolean. */
static int
boolean_parse(const char *v)
{
	static const char *const yes[] = { "true", "yes", "on" };
	static const char *const no[] = { "false", "no", "off", "" };
	size_t i;
	char *end;
	long n;

	if (v == NULL)
		return 1;
	for (i = 0; i < 3; i++)
		if (strcasecmp(v, yes[i]) == 0)
			return 1;
	for (i = 0; i < 4; i++)
		if (strcasecmp(v, no[i]) == 0)
			return 0;
	errno = 0;
	n = strtol(v, &end, 10);
	return errno != 0 || *end != '\0' ? -1 : n != 0;
}

static char *
home_path(const char *below)
{
	const char *home = getenv("HOME");

	return home == NULL || *home == '\0' ? NULL : xasprintf("%s/%s", home, below);
}

/* ~/.config/git/<name>, or where XDG_CONFIG_HOME says. NULL without a home. */
static char *
xdg_path(const char *name)
{
	const char *dir = getenv("XDG_CONFIG_HOME");
	char *below, *path;

	if (dir != NULL && *dir != '\0')
		return xasprintf("%s/git/%s", dir, name);
	below = xasprintf(".config/git/%s", name);
	path = home_path(below);
	free(below);
	return path;
}

/*
 * A path as git's configuration writes it. NULL where it is one that is not understood
 * here (~user, %(prefix)). Relative paths stay so.
 */
static char *
path_expand(const char *v)
{
	if (strcmp(v, "~") == 0)
		return home_path("");
	if (strncmp(v, "~/", 2) == 0)
		return home_path(v + 2);
	if (*v == '~' || strncmp(v, "%(prefix)", 9) == 0)
		return NULL;
	return xstrdup(v);
}

static int
include_read(struct source *src, const char *value, bool conditional)
{
	struct source sub = *src;
	char *path = value == NULL ? NULL : path_expand(value);
	const char *slash = strrchr(src->path, '/');
	int rc;

	if (path == NULL || src->depth >= INCLUDE_DEPTH_MAX) {
		free(path);
		puzzle_set(src->s, "an include", src->path);
		return 0;
	}
	if (*path != '/' && slash != NULL)
		text_set(&path,
			 xasprintf("%.*s/%s", (int)(slash - src->path), src->path, path));
	sub.path = path;
	sub.depth++;
	sub.conditional |= conditional;
	rc = file_load(&sub);
	src->failed |= sub.failed;
	free(path);
	return rc;
}

static void
safe_add(struct settings *s, const char *value)
{
	s->safe = xgrow(s->safe, s->nsafe + 1, &s->safe_room, sizeof(*s->safe));
	s->safe[s->nsafe++] = xstrdup(value == NULL ? "" : value);
}

static void
extension_set(struct settings *s, const char *name, const char *value)
{
	static const char *const harmless[] = { "noop",
						"noop-v1",
						"partialclone",
						"preciousobjects",
						"relativeworktrees",
						"compatobjectformat" };
	const char *v = value == NULL ? "" : value;
	size_t i;

	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (strcmp(name, harmless[i]) == 0)
			return;
	if (strcmp(name, "objectformat") == 0 && strcmp(v, "sha256") == 0)
		s->format = OBJECT_FORMAT_SHA256;
	else if (strcmp(name, "objectformat") == 0 && strcmp(v, "sha1") == 0)
		s->format = OBJECT_FORMAT_SHA1;
	else if (strcmp(name, "refstorage") == 0)
		s->has_reftable = strcmp(v, "files") != 0;
	else if (strcmp(name, "worktreeconfig") == 0)
		s->has_worktree_config = boolean_parse(value) == 1;
	else
		text_set(&s->unknown, xasprintf("extensions.%s = %s", name, v));
}

/* A boolean of core: 1 it was one, 0 not, -1 the value is none. */
static int
core_boolean_set(struct settings *s, const char *name, const char *value)
{
	const struct {
		const char *name;
		bool *field;
	} booleans[] = {
		{ "filemode", &s->file_mode },	   { "symlinks", &s->symlinks },
		{ "ignorecase", &s->ignore_case }, { "bare", &s->is_bare },
		{ "autocrlf", &s->autocrlf },	   { "sparsecheckout", &s->is_sparse }
	};
	size_t i;

	for (i = 0; i < sizeof(booleans) / sizeof(booleans[0]); i++) {
		int v;

		if (strcmp(name, booleans[i].name) != 0)
			continue;
		v = boolean_parse(value);
		if (value != NULL && i == 4 && strcasecmp(value, "input") == 0)
			v = 1;
		if (v < 0)
			return -1;
		*booleans[i].field = v == 1;
		return 1;
	}
	return 0;
}

/* Keys of core that only a repository's own files can set. */
static bool
is_of_place(const char *name)
{
	return strcmp(name, "worktree") == 0 || strcmp(name, "bare") == 0 ||
	       strcmp(name, "repositoryformatversion") == 0;
}

/* 1 when the key is one of ours, 0 when not, -1 when its value puzzles. */
static int
setting_set(struct settings *s, enum scope scope, const char *key, const char *value)
{
	char *path;

	if (strncmp(key, "extensions.", 11) == 0 && scope == SCOPE_PLACE) {
		extension_set(s, key + 11, value);
		return 1;
	}
	if (strcmp(key, "safe.directory") == 0 && scope == SCOPE_USER) {
		safe_add(s, value);
		return 1;
	}
	if (strncmp(key, "core.", 5) != 0)
		return 0;
	key += 5;
	if (scope == SCOPE_USER && is_of_place(key))
		return 0;
	if (strcmp(key, "worktree") == 0) {
		if (value == NULL)
			return -1;
		text_set(&s->work_tree, xstrdup(value));
		return 1;
	}
	if (strcmp(key, "repositoryformatversion") == 0) {
		s->version = value == NULL ? -1 : atoi(value);
		return 1;
	}
	if (strcmp(key, "excludesfile") != 0 && strcmp(key, "attributesfile") != 0)
		return core_boolean_set(s, key, value);
	path = value == NULL ? NULL : path_expand(value);
	if (path == NULL)
		return -1;
	text_set(*key == 'e' ? &s->excludes_file : &s->attributes_file, path);
	return 1;
}

static int
setting_take(void *context, const char *key, const char *value)
{
	struct source *src = context;
	size_t n = strlen(key);
	int is_ours;

	if (strcmp(key, "include.path") == 0)
		return include_read(src, value, false);
	if (strncmp(key, "includeif.", 10) == 0 && n > 15 &&
	    strcmp(key + n - 5, ".path") == 0)
		return include_read(src, value, true);
	if (src->conditional) {
		struct settings probe = SETTINGS_INIT;

		is_ours = setting_set(&probe, src->scope, key, value);
		settings_release(&probe);
		if (is_ours != 0)
			puzzle_set(src->s, "a conditional include", src->path);
		return 0;
	}
	is_ours = setting_set(src->s, src->scope, key, value);
	if (is_ours < 0)
		puzzle_set(src->s, key, src->path);
	return 0;
}

/* A file that is not there has no settings. */
static int
file_load(struct source *src)
{
	struct buf text = BUF_INIT;
	struct error e = ERROR_INIT;
	int rc = 0;

	if (file_read(src->path, CONFIG_MAX, &text, &e) < 0) {
		if (e.errnum == ENOENT || e.errnum == ENOTDIR || e.errnum == EACCES ||
		    e.kind == ERROR_DATA)
			return 0;
		*src->err = e;
		src->failed = true;
		return 1;
	}
	rc = conffile_parse(buf_text(&text), text.len, setting_take, src);
	if (rc < 0) {
		puzzle_set(src->s, "syntax not known here", src->path);
		rc = 0;
	}
	buf_release(&text);
	return rc;
}

static int
scope_file_read(struct settings *s, const char *path, enum scope scope, struct error *err)
{
	struct source src = { s, path, scope, 0, false, err, false };

	if (path != NULL)
		(void)file_load(&src);
	return src.failed ? -1 : 0;
}

int
settings_read_user(struct settings *s, struct error *err)
{
	const char *system = getenv("GIT_CONFIG_SYSTEM");
	const char *nosystem = getenv("GIT_CONFIG_NOSYSTEM");
	const char *global = getenv("GIT_CONFIG_GLOBAL");
	char *xdg = NULL, *home = NULL;
	int rc = -1;

	if (nosystem == NULL || boolean_parse(nosystem) != 1) {
		if (scope_file_read(s, system == NULL ? "/etc/gitconfig" : system,
				    SCOPE_USER, err) < 0)
			goto out;
	}
	if (global != NULL) {
		rc = scope_file_read(s, global, SCOPE_USER, err);
		goto out;
	}
	xdg = xdg_path("config");
	home = home_path(".gitconfig");
	if (scope_file_read(s, xdg, SCOPE_USER, err) < 0 ||
	    scope_file_read(s, home, SCOPE_USER, err) < 0)
		goto out;
	rc = 0;
out:
	free(xdg);
	free(home);
	return rc;
}

/* Records of `git config --list -z --show-scope`: scope NUL key LF value NUL. */
static void
listing_take(struct settings *s, const struct place *place, const struct buf *answer)
{
	const char *p = buf_text(answer), *end = p + answer->len;

	while (p < end) {
		const char *scope = p, *record = scope + strlen(scope) + 1;
		const char *value;
		bool is_own;
		char *key;

		if (record >= end)
			break;
		p = record + strlen(record) + 1;
		value = strchr(record, '\n');
		key = value == NULL ? xstrdup(record)
				    : xstrndup(record, (size_t)(value - record));
		value = value == NULL ? NULL : value + 1;
		is_own = strcmp(scope, "worktree") == 0;
		if (!place->is_linked || is_own || strncmp(key, "core.", 5) != 0 ||
		    !is_of_place(key + 5))
			(void)setting_set(s,
					  is_own || strcmp(scope, "local") == 0
					      ? SCOPE_PLACE
					      : SCOPE_USER,
					  key, value);
		free(key);
	}
}

static int
settings_ask(struct settings *s, const struct place *p, struct error *err)
{
	static const char *const arguments[] = { "config",	 "--list",     "-z",
						 "--show-scope", "--includes", NULL };
	struct settings fresh = SETTINGS_INIT;
	struct buf answer = BUF_INIT;

	if (ask_git(p->root, arguments, &answer, err) != 1)
		return error_wrap(err, "git config --list (%s)", s->puzzle);
	fresh.puzzle = s->puzzle;
	s->puzzle = NULL;
	settings_release(s);
	*s = fresh;
	listing_take(s, p, &answer);
	buf_release(&answer);
	return 0;
}

/* Of the environment keys of core alone count, section and name in any case. */
static void
variable_take(void *context, const char *key, const char *value)
{
	struct settings *s = context;
	char *lower = xstrdup(key), *c;

	for (c = lower; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	if (strncmp(lower, "core.", 5) == 0)
		(void)setting_set(s, SCOPE_USER, lower, value);
	free(lower);
}

/* Relative to the working tree's top; "" is no file. */
static void
user_file_settle(char **file, const char *name, const struct place *p)
{
	if (*file == NULL)
		*file = xdg_path(name);
	else if (**file == '\0')
		text_set(file, NULL);
	else if (**file != '/')
		text_set(file, xasprintf("%s/%s", p->root, *file));
}

int
settings_read_place(struct settings *s, const struct place *p, struct error *err)
{
	char *local = xasprintf("%s/config", p->common_dir);
	char *own = xasprintf("%s/config.worktree", p->git_dir);
	int rc = -1;

	if (scope_file_read(s, local, SCOPE_PLACE, err) < 0)
		goto out;
	/* What the common file says of them is true of the main working tree only. */
	if (p->is_linked) {
		text_set(&s->work_tree, NULL);
		s->is_bare = false;
	}
	if (s->has_worktree_config && scope_file_read(s, own, SCOPE_PLACE, err) < 0)
		goto out;
	if (s->puzzle != NULL && settings_ask(s, p, err) < 0)
		goto out;
	variables_read(variable_take, s);
	if (s->version == 0)
		text_set(&s->unknown, NULL); /* extensions begin with version 1 */
	if (s->version < 0 || s->version > 1)
		text_set(&s->unknown, xstrdup("core.repositoryFormatVersion"));
	user_file_settle(&s->excludes_file, "ignore", p);
	user_file_settle(&s->attributes_file, "attributes", p);
	rc = 0;
out:
	free(local);
	free(own);
	return rc;
}

/* A value that ends in a slash and a star stands for everything below. */
static bool
safe_matches(const char *value, const char *root)
{
	char *path = path_expand(value);
	size_t n = path == NULL ? 0 : strlen(path);
	char *real;
	bool is_match = false;

	if (n > 2 && strcmp(path + n - 2, "/*") == 0) {
		is_match = strncmp(path, root, n - 1) == 0;
	} else if (n > 0) {
		real = realpath(path, NULL);
		is_match = strcmp(real == NULL ? path : real, root) == 0;
		free(real);
	}
	free(path);
	return is_match;
}

bool
settings_trust(const struct settings *s, const char *root)
{
	bool trusted = false;
	size_t i;

	for (i = 0; i < s->nsafe; i++) {
		if (*s->safe[i] == '\0')
			trusted = false;
		else if (strcmp(s->safe[i], "*") == 0 || safe_matches(s->safe[i], root))
			trusted = true;
	}
	return trusted;
}

void
settings_release(struct settings *s)
{
	size_t i;

	for (i = 0; i < s->nsafe; i++)
		free(s->safe[i]);
	free(s->safe);
	free(s->work_tree);
	free(s->excludes_file);
	free(s->attributes_file);
	free(s->unknown);
	free(s->puzzle);
	*s = (struct settings)SETTINGS_INIT;
}
