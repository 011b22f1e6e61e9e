/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as geonosis.json: refused with a text, or read into a configuration that
 * prints as one which reads the same again, to the same plan or refusal of every tier.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/config/config.h"
#include "supervisor/config/print.h"
#include "supervisor/plan/plan.h"
#include "supervisor/plan/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two workspaces, one of them with a name that must be quoted; the second needs the
 * first. */
static void
scope_make(struct scope *s)
{
	static const char *const paths[] = { "packages/a", "packages/it's b" };
	static const struct edge edge = { .from = 1, .to = 0 };
	size_t i;

	*s = (struct scope)SCOPE_INIT;
	s->workspaces.nitems = 2;
	s->workspaces.items = xcalloc(2, sizeof(*s->workspaces.items));
	s->is_selected = xcalloc(2, sizeof(*s->is_selected));
	s->why = xcalloc(2, sizeof(*s->why));
	for (i = 0; i < 2; i++) {
		s->workspaces.items[i].path = xstrdup(paths[i]);
		s->workspaces.items[i].name = xstrdup(paths[i]);
		s->is_selected[i] = true;
	}
	graph_from_edges(2, &edge, 1, &s->graph);
}

/* Every tier's plan as text, or that it is refused. */
static void
plans_print(const struct config *c, struct buf *out)
{
	struct scope scope;
	size_t i, k;

	scope_make(&scope);
	for (i = 0; i < c->ntiers; i++) {
		struct error err = ERROR_INIT;
		struct plan plan = PLAN_INIT;

		if (plan_build(c, &c->tiers[i], &scope, NULL, &plan, &err) < 0) {
			if (err.text[0] == '\0')
				abort();
			buf_puts(out, "refused\n");
			continue;
		}
		for (k = 0; k < plan.njobs; k++)
			buf_printf(out, "%s %s\n", plan.jobs[k].id, plan.jobs[k].command);
		plan_release(&plan);
	}
	scope_release(&scope);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT;
	struct config c = CONFIG_INIT, again = CONFIG_INIT;
	struct buf first = BUF_INIT, second = BUF_INIT;

	if (config_parse("geonosis.json", (const char *)data, size, &c, &err) < 0) {
		if (err.text[0] == '\0' || err.kind == ERROR_NONE)
			abort();
		return 0;
	}
	config_print(&c, &first);
	if (config_parse("printed", first.data, first.len, &again, &err) < 0)
		abort();
	config_print(&again, &second);
	if (strcmp(buf_text(&first), buf_text(&second)) != 0)
		abort();
	buf_clear(&first);
	buf_clear(&second);
	plans_print(&c, &first);
	plans_print(&again, &second);
	if (strcmp(buf_text(&first), buf_text(&second)) != 0)
		abort();
	config_release(&c);
	config_release(&again);
	buf_release(&first);
	buf_release(&second);
	return 0;
}
