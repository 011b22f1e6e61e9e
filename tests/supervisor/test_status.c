/* SPDX-License-Identifier: MIT */
#include "supervisor/report/status.h"

#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum {
	ITEMS_MAX = 4,
	SINCE = 1000
};

static char none[] = "", here[] = "/here", fast[] = "fast/1", odd[] = "/a\n\x1b[31m\xff";

#define SINCE_TEXT "1970-01-01T00:00:01.000Z"
#define ONE .want = 1, .directory = here, .label = fast, .since_ms = SINCE, .pid = 7
#define HELD .is_held = true, .held = 1, ONE

struct status_case {
	const char *name;
	unsigned list_budget, budget;
	bool is_idle;
	struct slot_info items[ITEMS_MAX];
	size_t nitems;
	const char *text;
	const char *json;
};

static const struct status_case cases[] = {
	{
	    .name = "no segment",
	    .budget = 4,
	    .text = "budget: 4 slots, 4 free\n",
	    .json = "{\"budget\":4,\"free\":4,\"held\":[],\"waiting\":[]}\n",
	},
	{
	    .name = "the segment's own budget stands",
	    .list_budget = 1,
	    .budget = 4,
	    .text = "budget: 1 slot, 1 free\n",
	    .json = "{\"budget\":1,\"free\":1,\"held\":[],\"waiting\":[]}\n",
	},
	{
	    .name = "of a segment that nobody uses it says nothing any more",
	    .list_budget = 1,
	    .is_idle = true,
	    .budget = 4,
	    .text = "budget: 4 slots, 4 free\n",
	    .json = "{\"budget\":4,\"free\":4,\"held\":[],\"waiting\":[]}\n",
	},
	{
	    .name = "exclusive in a budget that was raised since: none is free",
	    .list_budget = 9,
	    .items = { { .is_exclusive = true, HELD } },
	    .nitems = 1,
	    .text = "budget: 9 slots, 0 free\n"
		    "held    pid 7 in /here (fast/1), exclusive since " SINCE_TEXT "\n",
	},
	{
	    .name = "one holds, one waits",
	    .list_budget = 2,
	    .items = { { HELD }, { ONE, .ticket = 2 } },
	    .nitems = 2,
	    .text = "budget: 2 slots, 1 free\n"
		    "held    pid 7 in /here (fast/1), 1 slot since " SINCE_TEXT "\n"
		    "waiting pid 7 in /here (fast/1), 1 slot since " SINCE_TEXT "\n",
	    .json = "{\"budget\":2,\"free\":1,\"held\":[{\"pid\":7,\"directory\":\"/"
		    "here\",\"label\":\"fast/1\",\"slots\":1,\"since\":\"" SINCE_TEXT
		    "\"}],\"waiting\":[{\"pid\":7,\"directory\":\"/here\",\"label\":"
		    "\"fast/1\",\"slots\":1,\"since\":\"" SINCE_TEXT "\"}]}\n",
	},
	{
	    .name = "what is held inside a hold is not taken again",
	    .list_budget = 4,
	    .items = { { HELD, .ticket = 1 }, { HELD, .ticket = 2, .outer = 1 } },
	    .nitems = 2,
	    .text = "budget: 4 slots, 3 free\n"
		    "held    pid 7 in /here (fast/1), 1 slot since " SINCE_TEXT "\n"
		    "held    pid 7 in /here (fast/1), 1 slot since " SINCE_TEXT
		    ", inside another\n",
	},
	{
	    .name = "exclusive, light, stopped, of another namespace",
	    .list_budget = 3,
	    .items = { { .is_held = true,
			 .is_exclusive = true,
			 .held = 3,
			 .want = 3,
			 .pid = 8,
			 .is_stopped = true,
			 .directory = here,
			 .label = none },
		       { .is_light = true,
			 .pid = 9,
			 .is_foreign = true,
			 .directory = none,
			 .label = none } },
	    .nitems = 2,
	    .text = "budget: 3 slots, 0 free\n"
		    "held    pid 8 (stopped) in /here, exclusive\n"
		    "waiting pid 9 of another pid namespace, light\n",
	    .json = "{\"budget\":3,\"free\":0,\"held\":[{\"pid\":8,\"directory\":\"/"
		    "here\",\"label\":\"\",\"slots\":3,\"exclusive\":true,\"stopped\":"
		    "true}],\"waiting\":[{\"pid\":9,\"directory\":\"\",\"label\":\"\","
		    "\"slots\":0,\"otherNamespace\":true}]}\n",
	},
	{
	    .name = "more held than there are, as after a budget was lowered",
	    .list_budget = 1,
	    .items = { { HELD }, { HELD } },
	    .nitems = 2,
	    .text = "budget: 1 slot, 0 free\n"
		    "held    pid 7 in /here (fast/1), 1 slot since " SINCE_TEXT "\n"
		    "held    pid 7 in /here (fast/1), 1 slot since " SINCE_TEXT "\n",
	},
	{
	    .name = "a process without a name",
	    .list_budget = 2,
	    .items = { { .is_held = true,
			 .held = 2,
			 .want = 2,
			 .directory = none,
			 .label = none } },
	    .nitems = 1,
	    .text = "budget: 2 slots, 0 free\n"
		    "held    a process that gave no name, 2 slots\n",
	},
	{
	    .name = "names are anything at all",
	    .list_budget = 2,
	    .items = { { .is_held = true,
			 .held = 1,
			 .want = 1,
			 .pid = 7,
			 .directory = odd,
			 .label = odd } },
	    .nitems = 1,
	    .text = "budget: 2 slots, 1 free\n"
		    "held    pid 7 in /a\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd "
		    "(/a\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd), 1 slot\n",
	},
};

/* The list borrows the case's items, which nothing changes. */
static struct slot_list
list_of(const struct status_case *k, struct slot_info items[ITEMS_MAX])
{
	memcpy(items, k->items, sizeof(k->items));
	return (struct slot_list){
		.budget = k->list_budget,
		.is_idle = k->is_idle,
		.items = items,
		.nitems = k->nitems,
	};
}

Test(status, text)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slot_info items[ITEMS_MAX];
		struct slot_list list = list_of(&cases[i], items);
		struct buf out = BUF_INIT;

		status_lines(&out, &list, cases[i].budget);
		cr_expect_str_eq(buf_text(&out), cases[i].text, "%s: %s", cases[i].name,
				 buf_text(&out));
		buf_release(&out);
	}
}

Test(status, json_on_one_line)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slot_info items[ITEMS_MAX];
		struct slot_list list = list_of(&cases[i], items);
		struct json_object *o;
		struct buf out = BUF_INIT;

		status_json(&out, &list, cases[i].budget, true);
		if (cases[i].json != NULL)
			cr_expect_str_eq(buf_text(&out), cases[i].json, "%s: %s",
					 cases[i].name, buf_text(&out));
		cr_expect_eq(strchr(buf_text(&out), '\n') - buf_text(&out),
			     (long)out.len - 1, "%s: no line", cases[i].name);
		o = json_tokener_parse(buf_text(&out));
		cr_expect_not_null(o, "%s: %s", cases[i].name, buf_text(&out));
		(void)json_object_put(o);
		buf_release(&out);
	}
}

/* Laid out over lines, it says the same. */
Test(status, json_for_people)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slot_info items[ITEMS_MAX];
		struct slot_list list = list_of(&cases[i], items);
		struct buf one = BUF_INIT, two = BUF_INIT;
		struct json_object *a, *b;

		status_json(&one, &list, cases[i].budget, true);
		status_json(&two, &list, cases[i].budget, false);
		a = json_tokener_parse(buf_text(&one));
		b = json_tokener_parse(buf_text(&two));
		cr_expect(json_object_equal(a, b), "%s", cases[i].name);
		cr_expect_eq(strncmp(buf_text(&two), "{\n  \"budget\": ", 14), 0, "%s",
			     buf_text(&two));
		(void)json_object_put(a);
		(void)json_object_put(b);
		buf_release(&one);
		buf_release(&two);
	}
}
