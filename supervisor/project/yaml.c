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
	YAML_BYTES_MAX = 4 << 20
};

struct yaml {
	yaml_document_t document;
};

static int
yml_load(const char *path, const struct buf *text, yaml_document_t *document,
	 struct error *err)
{
	yaml_parser_t parser;
	int rc = 0;

	if (yaml_parser_initialize(&parser) == 0)
		return error_set(err, ERROR_SYSTEM, "%s: out of memory", path);
	yaml_parser_set_input_string(&parser, (const unsigned char *)buf_text(text),
				     text->len);
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
yml_find(struct yaml *y, const char *key)
{
	const yaml_node_t *top = yaml_document_get_root_node(&y->document);
	const yaml_node_pair_t *pair;

	if (top == NULL || top->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = top->data.mapping.pairs.start; pair < top->data.mapping.pairs.top;
	     pair++) {
		const char *name =
		    yaml_scalar(yaml_document_get_node(&y->document, pair->key));

		if (name != NULL && strcmp(name, key) == 0)
			return yaml_document_get_node(&y->document, pair->value);
	}
	return NULL;
}

int
yml_read(const char *path, struct yaml **ret_yaml, struct error *err)
{
	struct buf text = BUF_INIT;
	struct yaml *y = NULL;
	const yaml_node_t *top;
	int rc = -1;

	if (file_read(path, YAML_BYTES_MAX, &text, err) < 0)
		return -1;
	y = xcalloc(1, sizeof(*y));
	if (yml_load(path, &text, &y->document, err) < 0) {
		free(y);
		goto out;
	}
	top = yaml_document_get_root_node(&y->document);
	if (top != NULL && top->type != YAML_MAPPING_NODE) {
		(void)error_set(err, ERROR_DATA, "%s:1:1: not a mapping of keys", path);
		yml_free(y);
		goto out;
	}
	*ret_yaml = y;
	rc = 0;
out:
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

void
yml_free(struct yaml *y)
{
	if (y == NULL)
		return;
	yaml_document_delete(&y->document);
	free(y);
}
