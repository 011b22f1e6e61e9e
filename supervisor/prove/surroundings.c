/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/surroundings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/prove/history.h"

static const char pnpm_variable[] = "pnpm_config_verify_deps_before_run";

char *
surroundings_lead(const char *text, const char *root, const char *to)
{
	struct buf b = BUF_INIT;

	for (;;) {
		size_t n = strcspn(text, ":");
		char *item = xstrndup(text, n);

		if (path_lies_in(item, root)) {
			buf_puts(&b, to);
			buf_puts(&b, item + strlen(root));
		} else {
			buf_puts(&b, item);
		}
		free(item);
		if (text[n] == '\0')
			return buf_steal(&b);
		buf_putc(&b, ':');
		text += n + 1;
	}
}

/* Git is not to look above the copy for a repository that it does not have. */
static void
surroundings_set_ceiling(struct environment *e, const struct copy *c)
{
	const char *old = environment_get(e, "GIT_CEILING_DIRECTORIES");
	const char *slash = strrchr(c->root, '/');
	char *above = slash == c->root ? xstrdup("/")
				       : xstrndup(c->root, (size_t)(slash - c->root));
	char *all =
	    old != NULL && *old != '\0' ? xasprintf("%s:%s", above, old) : xstrdup(above);

	environment_set(e, "GIT_CEILING_DIRECTORIES", all);
	free(all);
	free(above);
}

/* pnpm reads a copied install as a workspace that has changed. */
static void
surroundings_set_pnpm(struct environment *e)
{
	static const char *const names[] = {
		"pnpm_config_verify_deps_before_run",
		"npm_config_verify_deps_before_run",
	};
	size_t i, k;

	for (i = 0; i < e->nvars;) {
		size_t n = strcspn(e->vars[i], "=");
		char *name = xstrndup(e->vars[i], n);
		bool is = false;

		for (k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			is = is || strcasecmp(name, names[k]) == 0;
		if (is)
			environment_unset(e, name);
		else
			i++;
		free(name);
	}
	environment_set(e, pnpm_variable, "false");
	environment_set(e, "PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN", "false");
}

static bool
variable_stays(const char *name)
{
	return strcmp(name, "TMPDIR") == 0 ||
	       strcmp(name, "GIT_CEILING_DIRECTORIES") == 0 ||
	       strncmp(name, "GEONOSIS_", 9) == 0;
}

static void
surroundings_lead_all(struct environment *e, const char *root, const char *to)
{
	size_t i;

	for (i = 0; i < e->nvars; i++) {
		size_t n = strcspn(e->vars[i], "=");
		char *name = xstrndup(e->vars[i], n);
		char *value;

		if (!variable_stays(name) && strstr(e->vars[i] + n, root) != NULL) {
			value = surroundings_lead(e->vars[i] + n + 1, root, to);
			environment_set(e, name, value);
			free(value);
		}
		free(name);
	}
}

/* Nothing of the host's git but what says how to reach out. */
static void
surroundings_set_history(struct environment *e)
{
	const char *const *v;
	size_t i;

	for (i = 0; i < e->nvars;) {
		char *name = xstrndup(e->vars[i], strcspn(e->vars[i], "="));

		if (strncmp(name, "GIT_", 4) == 0 &&
		    strcmp(name, "GIT_CEILING_DIRECTORIES") != 0)
			environment_unset(e, name);
		else
			i++;
		free(name);
	}
	for (v = history_variables(); *v != NULL; v += 2)
		environment_set(e, v[0], v[1]);
}

void
surroundings_fill(struct environment *e, const struct copy *c, char *const *caller)
{
	environment_fill(e, caller);
	if (c->kind == COPY_PORTABLE)
		surroundings_lead_all(e, c->ground->root, c->root);
	surroundings_set_pnpm(e);
	if (c->has_history)
		surroundings_set_history(e);
	surroundings_set_ceiling(e, c);
	/* Where it would lead into the tree that nobody can write to. */
	if (path_lies_in(c->ground->tmp, c->ground->root))
		environment_set(e, "TMPDIR", c->store);
	environment_set(e, "PWD", c->dir);
}
