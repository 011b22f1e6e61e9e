/* SPDX-License-Identifier: MIT */
#include "supervisor/report/events.h"

#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/base/json.h"
#include "tests/supervisor/sample.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct report rep = {
	.tier = "full",
	.started_ms = INT64_C(1791972723000),
	.finished_ms = INT64_C(1791972723001),
	.ok = true,
	.budget_ms = 5,
	.inputs = "3f2a",
};

static void
expect_line(struct buf *out, const char *want)
{
	cr_expect_str_eq(buf_text(out), want);
	buf_clear(out);
}

Test(events, start)
{
	struct buf out = BUF_INIT;

	events_start(&out, &rep, sample_plan(), 2);
	expect_line(&out, "{\"event\":\"start\",\"tier\":\"full\","
			  "\"startedAt\":\"2026-10-14T10:12:03.000Z\",\"budgetMs\":5,"
			  "\"inputs\":\"3f2a\",\"jobs\":2,\"steps\":["
			  "{\"id\":\"fast/1\",\"command\":\"pnpm typecheck\"},"
			  "{\"id\":\"fast/2\",\"command\":\"pnpm lint\"},"
			  "{\"id\":\"full/1@1/2\",\"command\":\"pnpm e2e --shard=1/2\"},"
			  "{\"id\":\"full/1@2/2\",\"command\":\"pnpm e2e --shard=2/2\"},"
			  "{\"id\":\"full/2\",\"command\":\"pnpm build\"}]}\n");
	buf_release(&out);
}

Test(events, of_a_step)
{
	const struct job *job = &sample_plan()->jobs[SAMPLE_LINT];
	const struct result r = { .state = RESULT_DONE,
				  .exit_code = 1,
				  .ms = 3,
				  .tail = (char[]){ "a\nverify PASS" },
				  .lines = 2,
				  .tail_from = 1,
				  .tail_lines = 2,
				  .slot_wait_ms = -1 };
	const struct result none = RESULT_INIT;
	struct buf out = BUF_INIT;

	events_wait(&out, job, "a slot, held by pid 12");
	expect_line(&out, "{\"event\":\"wait\",\"id\":\"fast/2\","
			  "\"reason\":\"a slot, held by pid 12\"}\n");
	events_wait(&out, NULL, "pid 13");
	expect_line(&out, "{\"event\":\"wait\",\"reason\":\"pid 13\"}\n");
	events_step_start(&out, job, 0);
	expect_line(&out, "{\"event\":\"step-start\",\"id\":\"fast/2\","
			  "\"command\":\"pnpm lint\"}\n");
	events_step_start(&out, job, 2);
	expect_line(&out, "{\"event\":\"step-start\",\"id\":\"fast/2\","
			  "\"command\":\"pnpm lint\",\"retried\":2}\n");
	events_step_end(&out, job, &r);
	expect_line(&out, "{\"event\":\"step-end\",\"id\":\"fast/2\","
			  "\"command\":\"pnpm lint\",\"ok\":false,\"exitCode\":1,"
			  "\"ms\":3,\"tail\":\"a\\nverify PASS\"}\n");
	events_step_end(&out, job, &none);
	expect_line(&out, "{\"event\":\"step-end\",\"id\":\"fast/2\","
			  "\"command\":\"pnpm lint\",\"ok\":false,\"exitCode\":-1,"
			  "\"ms\":0,\"tail\":\"\",\"skipped\":true}\n");
	buf_release(&out);
}

/* The last event is the report itself, between "event" and "report". */
Test(events, end_carries_the_report)
{
	struct result results[SAMPLE_JOBS];
	struct buf out = BUF_INIT, want = BUF_INIT;
	struct json_object *o;

	sample_results(results);
	events_end(&out, &rep, sample_plan(), results, "/r/a \"b\".json");
	o = report_to_json(&rep, sample_plan(), results);
	js_write(o, JS_LINE, &want);
	json_object_put(o);
	cr_assert_gt(want.len, 2);
	want.data[want.len - 2] = '\0'; /* without `}` and the newline */
	cr_expect_eq(strncmp(buf_text(&out), "{\"event\":\"end\",", 15), 0);
	cr_expect_eq(strncmp(buf_text(&out) + 15, want.data + 1, want.len - 3), 0, "%s",
		     buf_text(&out));
	cr_expect_str_eq(buf_text(&out) + 15 + want.len - 3,
			 ",\"report\":\"/r/a \\\"b\\\".json\"}\n");
	buf_release(&out);
	buf_release(&want);
}

Test(events, each_is_one_line_of_json)
{
	struct result results[SAMPLE_JOBS];
	struct buf out = BUF_INIT;
	struct error err = ERROR_INIT;
	const char *s, *end;
	size_t n = 0;

	sample_results(results);
	events_start(&out, &rep, sample_plan(), 1);
	events_wait(&out, NULL, "a\nb\xff");
	events_step_start(&out, &sample_plan()->jobs[0], 0);
	events_step_end(&out, &sample_plan()->jobs[0], &results[0]);
	events_end(&out, &rep, sample_plan(), results, "r.json");
	for (s = buf_text(&out); (end = strchr(s, '\n')) != NULL; s = end + 1, n++) {
		struct json_object *o = NULL;

		cr_assert_eq(js_parse("line", s, (size_t)(end - s), &o, &err), 0, "%s",
			     err.text);
		cr_expect_not_null(js_get_string(o, "event"), "line %zu", n);
		json_object_put(o);
	}
	cr_expect_eq(n, 5);
	cr_expect_eq(*s, '\0');
	buf_release(&out);
}
