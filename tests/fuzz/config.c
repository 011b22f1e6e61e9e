/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as geonosis.json: refused with a text, or read into a configuration that
 * prints as one which reads the same again, and of which every tier becomes a plan or
 * a refusal.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/config/config.h"
#include "supervisor/config/print.h"
#include "supervisor/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
plans_build(const struct config *c)
{
	for (size_t i = 0; i < c->ntiers; i++) {
		struct error err = ERROR_INIT;
		struct plan plan = PLAN_INIT;

		if (plan_build(c, &c->tiers[i], NULL, &plan, &err) == 0)
			plan_release(&plan);
		else if (err.text[0] == '\0')
			abort();
	}
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
	plans_build(&c);
	config_release(&c);
	config_release(&again);
	buf_release(&first);
	buf_release(&second);
	return 0;
}
