/* SPDX-License-Identifier: MIT */
#include "supervisor/pipeline_part.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/clock.h"
#include "supervisor/base/json.h"
#include "supervisor/green/moves.h"
#include "supervisor/green/record.h"
#include "supervisor/report/report.h"

const char *
pipeline_flags(const struct pipeline *p)
{
	const struct pipeline_request *rq = p->request;

	if (rq->affected && rq->require_work)
		return "--affected --require-work";
	if (rq->affected)
		return "--affected";
	return rq->require_work ? "--require-work" : "";
}

static void
warn_wrapped(const struct pipeline *p, struct error *why, const char *consequence)
{
	(void)error_wrap(why, "%s", consequence);
	pipeline_warn(p, why->text);
}

static void
key_of_tree(const struct pipeline *p, struct key *ret_key)
{
	struct error why = ERROR_INIT;

	key_release(ret_key);
	if (key_compute(&p->config, p->tier->name, pipeline_flags(p), p->request->version,
			ret_key, &why) < 0) {
		warn_wrapped(p, &why, "no record of this run can be kept");
	} else if (ret_key->tree.state == TREE_DUBIOUS) {
		(void)error_set(&why, ERROR_REPO, "%s", ret_key->why);
		warn_wrapped(p, &why, "no record of this run can be kept");
	}
}

void
pipeline_compute_key(struct pipeline *p)
{
	key_of_tree(p, &p->key);
}

/* A part of a tier, or one held against another ref, is no answer for the tier. */
static bool
request_is_whole(const struct pipeline_request *rq)
{
	return rq->only == NULL && rq->since == NULL;
}

/* The record of this very key; released by the caller. */
static bool
find_green(const struct pipeline *p, struct record *ret_record)
{
	if (!p->key.is_there || !record_read(p->tier->name, ret_record))
		return false;
	if (strcmp(ret_record->inputs, p->key.hex) == 0)
		return true;
	record_release(ret_record);
	return false;
}

/* The record that answers this request. */
static bool
find_answer(const struct pipeline *p, struct record *ret_record)
{
	return !p->request->fresh && request_is_whole(p->request) &&
	       find_green(p, ret_record);
}

bool
pipeline_is_green(const struct pipeline *p)
{
	struct record record = RECORD_INIT;
	bool is_green = find_answer(p, &record);

	record_release(&record);
	return is_green;
}

/* `k` was computed after the run, or is what the record was found by. */
static void
move_mark(const struct pipeline *p, const struct key *k)
{
	struct error why = ERROR_INIT;

	if (moves_to_head(&p->config, p->tier->name, k, &why) < 0)
		warn_wrapped(p, &why, "the mark of this tier is not moved");
}

int
pipeline_replay(struct pipeline *p, struct error *err)
{
	struct record record = RECORD_INIT;
	struct buf text = BUF_INIT;
	int rc;

	if (!find_answer(p, &record))
		return 0;
	js_add_bool(record.report, "replayed", true);
	js_write(record.report, JS_PRETTY, &text);
	rc = report_place_save(p->place, buf_text(&text), text.len, err) < 0 ? -1 : 1;
	if (rc == 1 && record.moves_mark)
		move_mark(p, &p->key);
	if (rc == 1 && p->observer->green != NULL)
		p->observer->green(p->observer->ctx, &p->view, &record);
	buf_release(&text);
	record_release(&record);
	return rc;
}

/*
 * A run that left workspaces out over a base that no green of this tier stands for says
 * nothing of those: the mark would stand for more than was seen.
 */
static bool
run_moves_mark(const struct pipeline *p)
{
	return !p->scope.leaves_out || p->scope.base_is_verified;
}

static void
write_record(const struct pipeline *p)
{
	struct error why = ERROR_INIT;
	char finished_at[CLOCK_TEXT_SIZE];
	char *inputs = strdup(p->key.hex);
	char *flags = strdup(pipeline_flags(p));
	struct record record = {
		.inputs = inputs,
		.flags = flags,
		.finished_at = finished_at,
		.moves_mark = run_moves_mark(p),
		.report = report_to_json(&p->report, &p->plan, p->results),
	};

	(void)clock_to_text(p->report.finished_ms, finished_at);
	if (record_write(p->tier->name, &record, &why) < 0)
		warn_wrapped(p, &why, "this green is not recorded");
	js_put(record.report);
	free(inputs);
	free(flags);
}

/* Is there a record of this very tree, whatever flags it was made with? */
static bool
has_green_of_tree(const struct pipeline *p)
{
	struct record record = RECORD_INIT;
	struct error ignored = ERROR_INIT;
	char hex[DIGEST_HEX_SIZE];
	bool is_of_tree;

	if (!p->key.is_there || !record_read(p->tier->name, &record))
		return false;
	is_of_tree = key_with_flags(&p->key, p->tier->name, record.flags,
				    p->request->version, hex, &ignored) == 0 &&
		     strcmp(record.inputs, hex) == 0;
	record_release(&record);
	return is_of_tree;
}

void
pipeline_contradict(const struct pipeline *p, enum contradiction by)
{
	struct record record = RECORD_INIT;
	struct error why = ERROR_INIT;
	bool has_green;

	if (by == CONTRADICTION_STEP) {
		has_green = has_green_of_tree(p);
	} else {
		has_green = find_green(p, &record);
		record_release(&record);
	}
	if (!has_green)
		return;
	if (record_remove(p->tier->name, &why) < 0)
		warn_wrapped(p, &why, "a green that no longer holds stays recorded");
}

void
pipeline_keep(struct pipeline *p, const struct run_outcome *o)
{
	struct key after = KEY_INIT;

	if (!o->ok || !p->key.is_there || !request_is_whole(p->request))
		return;
	/* What was run on must be what there is now: steps may have changed it. */
	key_of_tree(p, &after);
	if (after.is_there && strcmp(after.hex, p->key.hex) == 0) {
		write_record(p);
		if (run_moves_mark(p))
			move_mark(p, &after);
	}
	key_release(&after);
}
