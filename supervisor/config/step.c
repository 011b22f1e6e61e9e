/* SPDX-License-Identifier: MIT */
#include "supervisor/config/step.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "supervisor/config/field.h"
#include "supervisor/config/keys.h"

/* An object as it is read: where each key stands, 0 where it says nothing. */
struct step_reader {
	const struct document *d;
	size_t at[STEP_KEYS];
	struct step step;
};

static void *
step_field(struct step *s, enum step_key_id id)
{
	return (char *)s + step_keys[id].offset;
}

static int
step_read_word(struct step_reader *r, size_t value, enum step_key_id id,
	       struct error *err)
{
	const char *word = step_keys[id].word, *text = document_text(r->d, value);
	bool *flag = step_field(&r->step, id);

	if (text == NULL || strcmp(text, word) != 0)
		return document_refuse(r->d, value, err,
				       "not known: \"%s\" is the one there is", word);
	*flag = true;
	return 0;
}

static int
step_read_per(struct step_reader *r, size_t value, struct error *err)
{
	const char *text = document_text(r->d, value);

	if (text != NULL && strcmp(text, "workspace") == 0)
		r->step.per = STEP_PER_WORKSPACE;
	else if (text != NULL && strcmp(text, "shard") == 0)
		r->step.per = STEP_PER_SHARD;
	else
		return document_refuse(r->d, value, err,
				       "not known: it is \"workspace\" or \"shard\"");
	return 0;
}

static int
step_read_slots(struct step_reader *r, size_t value, struct error *err)
{
	const char *text = document_text(r->d, value);
	int64_t n;

	if (text != NULL && strcmp(text, "all") == 0) {
		r->step.slots_kind = STEP_SLOTS_ALL;
		return 0;
	}
	if (!document_whole(r->d, value, 0, SLOTS_MAX, &n))
		return document_refuse(r->d, value, err,
				       "not a number of slots: it is a whole number from "
				       "0 (a light step) to %d, or \"all\"",
				       SLOTS_MAX);
	r->step.slots_kind = STEP_SLOTS_NUMBER;
	r->step.slots = (unsigned)n;
	return 0;
}

static int
step_read_shards(struct step_reader *r, size_t value, struct error *err)
{
	int64_t n;

	if (field_number(r->d, value, 1, SHARDS_MAX, &n, err) != 0)
		return -1;
	r->step.shards = (unsigned)n;
	return 0;
}

static int
step_read_proof(struct step_reader *r, size_t member, struct error *err)
{
	const char *key = document_key(r->d, member);

	if (strcmp(key, "plant") == 0)
		return field_command(r->d, member, "a command that plants a fault",
				     &r->step.plant, err);
	if (strcmp(key, "expect") == 0)
		return field_text(r->d, member, "the text that tells the fault was seen",
				  &r->step.expect, err);
	return document_refuse_key(r->d, member, err,
				   "unknown key: proves has \"plant\" and \"expect\"");
}

static int
step_read_proves(struct step_reader *r, size_t value, struct error *err)
{
	const struct document *d = r->d;

	if (document_kind(d, value) != SCAN_OBJECT)
		return document_refuse(
		    d, value, err,
		    "%s where an object with \"plant\" and \"expect\" is due",
		    field_kind(d, value));
	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at))
		if (step_read_proof(r, at, err) != 0)
			return -1;
	if (r->step.plant == NULL)
		return document_refuse(
		    d, value, err,
		    "no \"plant\": a proof needs the command that plants a fault%s",
		    r->step.expect == NULL ? ", and \"expect\"" : "");
	if (r->step.expect == NULL)
		return document_refuse(
		    d, value, err,
		    "no \"expect\": a red for any reason would pass for a proof");
	return 0;
}

static int
step_read_text(struct step_reader *r, size_t value, enum step_key_id id,
	       struct error *err)
{
	char **text = step_field(&r->step, id);

	if (id != STEP_TURBO)
		return field_command(r->d, value, "a command", text, err);
	if (field_text(r->d, value, "the name of a turbo task", text, err) != 0)
		return -1;
	if (**text == '-')
		return document_refuse(
		    r->d, value, err,
		    "begins with \"-\": turbo would take it for an option");
	return 0;
}

static int
step_read_key(struct step_reader *r, size_t value, enum step_key_id id, struct error *err)
{
	void *field = step_field(&r->step, id);

	switch (step_keys[id].type) {
	case KEY_TEXT:
		return step_read_text(r, value, id, err);
	case KEY_REGEX:
		return field_regex(r->d, value, field, err);
	case KEY_FLAG:
		return field_flag(r->d, value, field, err);
	case KEY_WORD:
		return step_read_word(r, value, id, err);
	case KEY_PER:
		return step_read_per(r, value, err);
	case KEY_SHARDS:
		return step_read_shards(r, value, err);
	case KEY_PATHS:
		return field_list(r->d, value, FIELD_PATHS, field, err);
	case KEY_PROVES:
		return step_read_proves(r, value, err);
	case KEY_SLOTS:
		return step_read_slots(r, value, err);
	}
	return 0;
}

static int
step_refuse_key(const struct document *d, size_t member, struct error *err)
{
	const char *near = step_key_nearest(document_key(d, member));
	struct buf known = BUF_INIT;

	if (near != NULL)
		return document_refuse_key(d, member, err,
					   "unknown key; did you mean \"%s\"?", near);
	for (size_t i = 0; i < STEP_KEYS; i++)
		buf_printf(&known, "%s%s", i > 0 ? ", " : "", step_keys[i].name);
	(void)document_refuse_key(d, member, err, "unknown key: a step has %s",
				  buf_text(&known));
	buf_release(&known);
	return -1;
}

static int
step_read_members(struct step_reader *r, size_t object, struct error *err)
{
	const struct document *d = r->d;

	for (size_t at = document_first(d, object); at != 0; at = document_next(d, at)) {
		enum step_key_id id = step_key_find(document_key(d, at));

		if (id == STEP_KEYS)
			return step_refuse_key(d, at, err);
		if (step_read_key(r, at, id, err) != 0)
			return -1;
		/* A flag that says false says what its absence says. */
		if (document_kind(d, at) != SCAN_FALSE)
			r->at[id] = at;
	}
	return 0;
}

/* Is the key there, with that value where one is named? */
static bool
step_has(const struct step_reader *r, enum step_key_id id, const char *value)
{
	const char *text;

	if (r->at[id] == 0 || value == NULL)
		return r->at[id] != 0;
	text = document_text(r->d, r->at[id]);
	return text != NULL && strcmp(text, value) == 0;
}

static int
step_check_rules(const struct step_reader *r, struct error *err)
{
	for (size_t i = 0; i < nstep_rules; i++) {
		const struct step_rule *rule = step_rules + i;
		const char *value = rule->needs_value;

		if (!step_has(r, rule->key, rule->value) ||
		    step_has(r, rule->needs, value))
			continue;
		return document_refuse_key(
		    r->d, r->at[rule->key], err, "means nothing without \"%s\"%s%s%s: %s",
		    step_keys[rule->needs].name, value != NULL ? ": \"" : "",
		    value != NULL ? value : "", value != NULL ? "\"" : "", rule->why);
	}
	return 0;
}

static int
step_check_light(const struct step_reader *r, struct error *err)
{
	if (r->step.slots_kind != STEP_SLOTS_NUMBER || r->step.slots != 0)
		return 0;
	for (size_t i = 0; i < nstep_light_rules; i++)
		if (step_has(r, step_light_rules[i].key, NULL))
			return document_refuse_key(r->d, r->at[step_light_rules[i].key],
						   err,
						   "means nothing with \"slots\": 0: %s",
						   step_light_rules[i].why);
	return 0;
}

int
step_read(const struct document *d, size_t object, struct step *ret_step,
	  struct error *err)
{
	struct step_reader r = { .d = d };

	if (step_read_members(&r, object, err) != 0)
		goto fail;
	if (r.at[STEP_COMMAND] == 0) {
		(void)document_refuse(
		    d, object, err,
		    "no \"command\": a step is a command, the name of a "
		    "tier, or an object with \"command\" or \"parallel\"");
		goto fail;
	}
	if (step_check_rules(&r, err) != 0 || step_check_light(&r, err) != 0)
		goto fail;
	r.step.path = document_path(d, object);
	r.step.place = d->scan.values[object].place;
	*ret_step = r.step;
	return 0;
fail:
	step_release(&r.step);
	return -1;
}

struct step
step_plain(const struct document *d, size_t value, char *command)
{
	return (struct step){
		.path = document_path(d, value),
		.place = d->scan.values[value].place,
		.command = command,
	};
}

void
step_release(struct step *s)
{
	free(s->id);
	free(s->path);
	free(s->command);
	string_list_release(&s->exclude);
	free(s->batch);
	string_list_release(&s->also);
	free(s->turbo);
	free(s->plant);
	free(s->expect);
	free(s->failure_mark);
	*s = (struct step){ .id = NULL };
}
