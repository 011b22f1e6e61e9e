/* SPDX-License-Identifier: MIT */
#include "supervisor/project/yaml.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	YAML_BYTES_MAX = 4 << 20,
	YAML_DEPTH_MAX = 100,
};

struct yaml {
	yaml_document_t document;
};

/* 1: one level more, -1: one less. */
static int
event_depth(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return 1;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return -1;
	default:
		return 0;
	}
}

/* libyaml takes the square of the depth, so that of a hostile file is read first. */
static int
yml_check_depth(const char *path, const char *text, size_t n, struct error *err)
{
	yaml_parser_t parser;
	yaml_mark_t at = { 0 };
	bool is_over = false;
	int depth = 0;

	if (yaml_parser_initialize(&parser) == 0)
		return error_set(err, ERROR_SYSTEM, "%s: out of memory", path);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	while (!is_over && depth <= YAML_DEPTH_MAX) {
		yaml_event_t event;

		/* What is wrong there is said by who loads it. */
		if (yaml_parser_parse(&parser, &event) == 0)
			break;
		depth += event_depth(&event);
		at = event.start_mark;
		is_over = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	if (depth > YAML_DEPTH_MAX)
		(void)error_set(err, ERROR_DATA, "%s:%zu:%zu: nested past %d levels",
				path, at.line + 1, at.column + 1, YAML_DEPTH_MAX);
	yaml_parser_delete(&parser);
	return depth > YAML_DEPTH_MAX ? -1 : 0;
}

static int
yml_load(const char *path, const char *text, size_t n, yaml_document_t *document,
	 struct error *err)
{
	yaml_parser_t parser;
	int rc = 0;

	if (yml_check_depth(path, text, n, err) < 0)
		return -1;
	if (yaml_parser_initialize(&parser) == 0)
		return error_set(err, ERROR_SYSTEM, "%s: out of memory", path);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	if (yaml_parser_load(&parser, document) == 0)
		rc = error_set(
		    err, ERROR_DATA, "%s:%zu:%zu: not valid YAML: %s", path,
		    parser.problem_mark.line + 1, parser.problem_mark.column + 1,
		    parser.problem != NULL ? parser.problem : "it cannot be read");
	yaml_parser_delete(&parser);
	return rc;
}

static const char *
yaml_scalar(const yaml_node_t *n)
{
	if (n == NULL || n->type != YAML_SCALAR_NODE)
		return NULL;
	/* libyaml ends its scalars with a NUL; one that holds another is no name. */
	if (strlen((const char *)n->data.scalar.value) != n->data.scalar.length)
		return NULL;
	return (const char *)n->data.scalar.value;
}

static yaml_node_t *
yml_member(struct yaml *y, const yaml_node_t *in, const char *key)
{
	const yaml_node_pair_t *pair;

	if (in == NULL || in->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = in->data.mapping.pairs.start; pair < in->data.mapping.pairs.top;
	     pair++) {
		const char *name =
		    yaml_scalar(yaml_document_get_node(&y->document, pair->key));

		if (name != NULL && strcmp(name, key) == 0)
			return yaml_document_get_node(&y->document, pair->value);
	}
	return NULL;
}

static yaml_node_t *
yml_find(struct yaml *y, const char *key)
{
	return yml_member(y, yaml_document_get_root_node(&y->document), key);
}

int
yml_parse(const char *name, const char *text, size_t n, struct yaml **ret_yaml,
	  struct error *err)
{
	struct yaml *y = xcalloc(1, sizeof(*y));
	const yaml_node_t *top;

	if (yml_load(name, text, n, &y->document, err) < 0) {
		free(y);
		return -1;
	}
	top = yaml_document_get_root_node(&y->document);
	if (top != NULL && top->type != YAML_MAPPING_NODE) {
		yml_free(y);
		return error_set(err, ERROR_DATA, "%s:1:1: not a mapping of keys", name);
	}
	*ret_yaml = y;
	return 0;
}

int
yml_read(const char *path, struct yaml **ret_yaml, struct error *err)
{
	struct buf text = BUF_INIT;
	int rc = file_read(path, YAML_BYTES_MAX, &text, err);

	if (rc == 0)
		rc = yml_parse(path, buf_text(&text), text.len, ret_yaml, err);
	buf_release(&text);
	return rc;
}

bool
yml_has(struct yaml *y, const char *key)
{
	return yml_find(y, key) != NULL;
}

int
yml_list_count(struct yaml *y, const char *key)
{
	const yaml_node_t *n = yml_find(y, key);
	const yaml_node_item_t *item;

	if (n == NULL)
		return 0;
	if (n->type != YAML_SEQUENCE_NODE)
		return -1;
	for (item = n->data.sequence.items.start; item < n->data.sequence.items.top;
	     item++)
		if (yaml_scalar(yaml_document_get_node(&y->document, *item)) == NULL)
			return -1;
	return (int)(n->data.sequence.items.top - n->data.sequence.items.start);
}

const char *
yml_list_item(struct yaml *y, const char *key, size_t i)
{
	const yaml_node_t *n = yml_find(y, key);

	return yaml_scalar(
	    yaml_document_get_node(&y->document, n->data.sequence.items.start[i]));
}

const char *
yml_string(struct yaml *y, const char *const *keys, size_t nkeys)
{
	const yaml_node_t *n = yaml_document_get_root_node(&y->document);
	size_t i;

	for (i = 0; i < nkeys; i++)
		n = yml_member(y, n, keys[i]);
	return yaml_scalar(n);
}

void
yml_each(struct yaml *y, const char *key,
	 void (*pair)(void *ctx, const char *key, const char *value), void *ctx)
{
	const yaml_node_t *n = yml_find(y, key);
	const yaml_node_pair_t *p;

	if (n == NULL || n->type != YAML_MAPPING_NODE)
		return;
	for (p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
		const char *name =
		    yaml_scalar(yaml_document_get_node(&y->document, p->key));
		const char *value =
		    yaml_scalar(yaml_document_get_node(&y->document, p->value));

		if (name != NULL && value != NULL)
			pair(ctx, name, value);
	}
}

void
yml_free(struct yaml *y)
{
	if (y == NULL)
		return;
	yaml_document_delete(&y->document);
	free(y);
}
