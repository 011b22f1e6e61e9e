/* SPDX-License-Identifier: MIT */
#include "supervisor/report/status.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "ipc/clock.h"
#include "supervisor/base/json.h"
#include "supervisor/base/text.h"

/* Slots that are taken from the machine itself; what is held inside a hold is not taken
 * again. */
static unsigned
list_held(const struct slot_list *list)
{
	unsigned held = 0;
	size_t i;

	for (i = 0; i < list->nitems; i++)
		if (list->items[i].is_held && list->items[i].outer == 0)
			held += list->items[i].held;
	return held;
}

/* None while somebody has the machine alone, however many that were when it began. */
static unsigned
list_free(const struct slot_list *list, unsigned budget)
{
	unsigned held = list_held(list);
	size_t i;

	for (i = 0; i < list->nitems; i++)
		if (list->items[i].is_held && list->items[i].outer == 0 &&
		    list->items[i].is_exclusive)
			return 0;
	return held < budget ? budget - held : 0;
}

/* Names are what directories and commands are called: anything at all. */
static void
add_info(struct buf *out, const struct slot_info *info)
{
	struct buf raw = BUF_INIT;
	char *clean;

	slot_info_to_text(info, &raw);
	clean = text_clean(buf_text(&raw), raw.len);
	buf_puts(out, clean);
	free(clean);
	buf_release(&raw);
}

void
status_lines(struct buf *out, const struct slot_list *list, unsigned budget)
{
	size_t i;

	if (list->budget > 0 && !list->is_idle)
		budget = list->budget;
	buf_printf(out, "budget: %u slot%s, %u free\n", budget, budget == 1 ? "" : "s",
		   list_free(list, budget));
	for (i = 0; i < list->nitems; i++) {
		const struct slot_info *info = &list->items[i];

		buf_puts(out, info->is_held ? "held    " : "waiting ");
		add_info(out, info);
		if (info->outer != 0)
			buf_puts(out, ", inside another");
		buf_putc(out, '\n');
	}
}

static struct json_object *
info_to_json(const struct slot_info *info)
{
	struct json_object *o = js_object();
	char text[CLOCK_TEXT_SIZE];

	js_add_int(o, "pid", info->pid);
	js_add_string(o, "directory", info->directory);
	js_add_string(o, "label", info->label);
	js_add_int(o, "slots", info->is_held ? info->held : info->want);
	if (info->is_exclusive)
		js_add_bool(o, "exclusive", true);
	if (info->outer != 0)
		js_add_bool(o, "nested", true);
	if (info->is_stopped)
		js_add_bool(o, "stopped", true);
	if (info->is_foreign)
		js_add_bool(o, "otherNamespace", true);
	if (info->since_ms > 0)
		js_add_string(o, "since", clock_to_text(info->since_ms, text));
	return o;
}

void
status_json(struct buf *out, const struct slot_list *list, unsigned budget, bool is_line)
{
	struct json_object *o = js_object();
	struct json_object *held = js_array();
	struct json_object *waiting = js_array();
	size_t i;

	if (list->budget > 0 && !list->is_idle)
		budget = list->budget;
	for (i = 0; i < list->nitems; i++)
		js_push(list->items[i].is_held ? held : waiting,
			info_to_json(&list->items[i]));
	js_add_int(o, "budget", budget);
	js_add_int(o, "free", list_free(list, budget));
	js_add(o, "held", held);
	js_add(o, "waiting", waiting);
	js_write(o, is_line ? JS_LINE : JS_PRETTY, out);
	(void)json_object_put(o);
}
