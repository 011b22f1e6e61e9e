/* SPDX-License-Identifier: MIT */
#include "supervisor/config/parse.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"
#include "supervisor/config/document.h"
#include "supervisor/config/field.h"
#include "supervisor/config/keys.h"
#include "supervisor/config/names.h"
#include "supervisor/config/reach.h"
#include "supervisor/config/tiers.h"

enum {
	PARSER_WARNINGS = 10 /* are told one by one */
};

struct parser {
	const char *dir;
	const struct document *d;
	struct config *c;
	struct tier_names names;
	size_t at[ROOT_KEYS]; /* where each key's value stands, 0 where it is missing */
	size_t near_verify;   /* a key that was perhaps meant as "verify" */
	size_t nnear;	      /* keys that were perhaps meant as others */
};

/* A key of another tool's passes; one that is nearly ours is worth a line. */
static void
parser_warn(struct parser *p, size_t member)
{
	const char *key = document_key(p->d, member), *near = root_key_nearest(key);
	struct file_place place = p->d->scan.values[member].key_place;
	char *shown;

	if (near == NULL)
		return;
	if (p->near_verify == 0 && strcmp(near, "verify") == 0)
		p->near_verify = member;
	if (p->nnear++ >= PARSER_WARNINGS)
		return;
	shown = field_quote(key);
	string_list_add(&p->c->warnings,
			xasprintf("%s:%u:%u: %s: unknown key; did you mean \"%s\"?",
				  p->d->name, place.line, place.column, shown, near));
	free(shown);
}

static int
parser_find_keys(struct parser *p, struct error *err)
{
	const struct document *d = p->d;

	if (document_kind(d, 0) != SCAN_OBJECT)
		return document_refuse(d, 0, err,
				       "%s where an object with \"verify\" is due",
				       field_kind(d, 0));
	for (size_t at = document_first(d, 0); at != 0; at = document_next(d, at)) {
		enum root_key_id id = root_key_find(document_key(d, at));

		if (id == ROOT_KEYS)
			parser_warn(p, at);
		else
			p->at[id] = at;
	}
	if (p->nnear > PARSER_WARNINGS)
		string_list_add(&p->c->warnings,
				xasprintf("%s: %zu more keys like these", d->name,
					  p->nnear - PARSER_WARNINGS));
	return 0;
}

static int
parser_read_verify(struct parser *p, struct error *err)
{
	const struct document *d = p->d;

	if (p->at[ROOT_VERIFY] != 0)
		return tiers_read(d, p->at[ROOT_VERIFY], p->c, &p->names, err);
	if (p->near_verify != 0)
		return document_refuse_key(
		    d, p->near_verify, err,
		    "unknown key, and no \"verify\": was it meant?");
	return document_refuse(d, 0, err,
			       "verify: missing: it declares the tiers: "
			       "{ \"verify\": { \"fast\": [\"a command\"] } }");
}

static int
parser_read_budget(struct parser *p, size_t member, struct error *err)
{
	const char *name = document_key(p->d, member);
	size_t tier;
	char *hint;

	if (!tier_names_find(&p->names, name, &tier)) {
		hint = tier_names_hint(p->c, name);
		(void)document_refuse_key(p->d, member, err,
					  "a budget for a tier that is not declared; %s",
					  hint);
		free(hint);
		return -1;
	}
	if (document_whole(p->d, member, 1, BUDGET_MAX, &p->c->tiers[tier].budget_ms))
		return 0;
	return document_refuse(p->d, member, err,
			       "not a budget: it is a whole number of milliseconds, "
			       "at least 1");
}

static int
parser_read_budgets(struct parser *p, size_t value, struct error *err)
{
	const struct document *d = p->d;

	if (document_kind(d, value) != SCAN_OBJECT)
		return document_refuse(d, value, err,
				       "%s where an object is due: { \"fast\": 120000 }",
				       field_kind(d, value));
	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at))
		if (parser_read_budget(p, at, err) != 0)
			return -1;
	return 0;
}

static int
parser_read_caps(struct parser *p, size_t value, struct error *err)
{
	const struct document *d = p->d;
	int64_t n;

	if (document_kind(d, value) != SCAN_OBJECT)
		return document_refuse(d, value, err,
				       "%s where an object is due: { \"heavy\": 2 }",
				       field_kind(d, value));
	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at)) {
		if (strcmp(document_key(d, at), "heavy") != 0)
			return document_refuse_key(
			    d, at, err, "unknown key: \"heavy\" is the one there is");
		if (field_number(d, at, 1, HEAVY_MAX, &n, err) != 0)
			return -1;
		p->c->caps_heavy = (unsigned)n;
	}
	return 0;
}

static int
parser_read_key_files(struct parser *p, size_t value, struct error *err)
{
	const struct document *d = p->d;
	char *shown;

	if (field_list(d, value, FIELD_FILES, &p->c->key_files, err) != 0)
		return -1;
	for (size_t at = document_first(d, value); at != 0; at = document_next(d, at)) {
		if (!reach_is_outside(p->dir, document_text(d, at)))
			continue;
		shown = field_quote(document_text(d, at));
		(void)document_refuse(d, at, err,
				      "%s is outside the repository: a file within it is "
				      "due, relative to this one",
				      shown);
		free(shown);
		return -1;
	}
	return 0;
}

static void
parser_default_documents(struct string_list *l)
{
	string_list_add(l, xstrdup("**/*.md"));
	string_list_add(l, xstrdup(".changeset/**"));
}

static int
parser_read_lists(struct parser *p, struct error *err)
{
	const size_t *at = p->at;
	struct config *c = p->c;

	if (at[ROOT_DOCUMENTS] == 0)
		parser_default_documents(&c->documents);
	else if (field_list(p->d, at[ROOT_DOCUMENTS], FIELD_GLOBS, &c->documents, err) !=
		 0)
		return -1;
	if (at[ROOT_VERSION_FILES] != 0 &&
	    field_list(p->d, at[ROOT_VERSION_FILES], FIELD_GLOBS, &c->version_files,
		       err) != 0)
		return -1;
	if (at[ROOT_KEY_ENV] != 0 &&
	    field_list(p->d, at[ROOT_KEY_ENV], FIELD_NAMES, &c->key_env, err) != 0)
		return -1;
	if (at[ROOT_KEY_FILES] != 0)
		return parser_read_key_files(p, at[ROOT_KEY_FILES], err);
	return 0;
}

static int
parser_run(struct parser *p, struct error *err)
{
	if (parser_find_keys(p, err) != 0 || parser_read_verify(p, err) != 0)
		return -1;
	if (p->at[ROOT_BUDGETS] != 0 &&
	    parser_read_budgets(p, p->at[ROOT_BUDGETS], err) != 0)
		return -1;
	if (p->at[ROOT_CAPS] != 0 && parser_read_caps(p, p->at[ROOT_CAPS], err) != 0)
		return -1;
	return parser_read_lists(p, err);
}

int
config_parse_in(const char *dir, const char *name, const char *text, size_t n,
		struct config *ret_config, struct error *err)
{
	struct document d = DOCUMENT_INIT;
	struct config c = CONFIG_INIT;
	struct parser p = { .dir = dir, .d = &d, .c = &c };
	int rc = -1;

	if (document_read(name, text, n, &d, err) != 0 || parser_run(&p, err) != 0)
		goto out;
	*ret_config = c;
	c = (struct config)CONFIG_INIT;
	rc = 0;
out:
	tier_names_release(&p.names);
	document_release(&d);
	config_release(&c);
	return rc;
}

int
config_parse(const char *name, const char *text, size_t n, struct config *ret_config,
	     struct error *err)
{
	return config_parse_in(NULL, name, text, n, ret_config, err);
}
