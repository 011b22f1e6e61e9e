/* SPDX-License-Identifier: MIT */
#include "git/commit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "git/ask.h"
#include "git/ref.h"
#include "ipc/mem.h"

enum {
	TAGS_MAX = 16 /* of tags of tags */
};

static size_t
id_size(const struct repository *r)
{
	return object_format_size(r->settings.format);
}

/* A line `<word> <hex id>` at *p, which is moved behind it. */
static bool
id_line(const struct repository *r, const char **p, const char *word, uint8_t *ret_id)
{
	size_t n = strlen(word), size = id_size(r);

	if (strncmp(*p, word, n) != 0 || strnlen(*p + n, 2 * size + 1) <= 2 * size ||
	    (*p)[n + 2 * size] != '\n' || hex_decode(*p + n, size, ret_id) < 0)
		return false;
	*p += n + 2 * size + 1;
	return true;
}

/* Seconds of a line `committer <name> <address> <seconds> <zone>`; 0: none. */
static int64_t
date_parse(const char *text)
{
	const char *line = strstr(text, "\ncommitter "), *end, *at;

	if (line == NULL)
		return 0;
	end = strchrnul(line + 1, '\n');
	at = memrchr(line, '>', (size_t)(end - line));
	return at == NULL ? 0 : strtoll(at + 1, NULL, 10);
}

/* The content ends in a NUL, and has none before that can mislead: 1, 0 not sound. */
static int
content_parse(const struct repository *r, const struct buf *content,
	      struct commit *ret_commit)
{
	const char *p = buf_text(content);
	struct commit c = COMMIT_INIT;
	uint8_t id[OBJECT_ID_MAX] = { 0 };
	size_t room = 0;

	if (!id_line(r, &p, "tree ", c.tree))
		return 0;
	while (id_line(r, &p, "parent ", id)) {
		c.parents = xgrow(c.parents, c.nparents + 1, &room, sizeof(*c.parents));
		memcpy(c.parents[c.nparents++], id, sizeof(id));
	}
	c.date = date_parse(p == buf_text(content) ? p : p - 1);
	*ret_commit = c;
	return 1;
}

int
commit_peek(const struct repository *r, const uint8_t id[OBJECT_ID_MAX],
	    struct commit *ret_commit)
{
	struct buf content = BUF_INIT;
	enum object_kind kind;
	int rc = object_read(r->objects, id, &kind, &content);

	if (rc == 1)
		rc = kind == OBJECT_COMMIT && content_parse(r, &content, ret_commit) == 1;
	buf_release(&content);
	return rc;
}

int
commit_read(const struct repository *r, const uint8_t id[OBJECT_ID_MAX],
	    struct commit *ret_commit, struct error *err)
{
	char hex[DIGEST_HEX_SIZE];
	const char *arguments[] = { "cat-file", "commit", hex, NULL };
	struct buf content = BUF_INIT;
	int rc;

	if (commit_peek(r, id, ret_commit) == 1)
		return 1;
	hex_encode(id, id_size(r), hex);
	rc = ask_git(r->place.root, arguments, &content, err);
	if (rc == 1)
		rc = content_parse(r, &content, ret_commit);
	if (rc == 0)
		(void)error_set(err, ERROR_REPO, "%s: no such commit here", hex);
	buf_release(&content);
	return rc;
}

void
commit_release(struct commit *c)
{
	free(c->parents);
	*c = (struct commit)COMMIT_INIT;
}

int
commit_parse(const struct repository *r, const char *hex, uint8_t ret_id[OBJECT_ID_MAX])
{
	memset(ret_id, 0, OBJECT_ID_MAX);
	if (strlen(hex) != 2 * id_size(r))
		return -1;
	return hex_decode(hex, id_size(r), ret_id);
}

/* What an id leads to, through tags: 1 a commit, 0 not known here. */
static int
commit_peel(const struct repository *r, uint8_t id[OBJECT_ID_MAX])
{
	unsigned depth;

	for (depth = 0; depth < TAGS_MAX; depth++) {
		struct buf content = BUF_INIT;
		enum object_kind kind;
		bool is_tag = false;
		const char *p;

		if (object_read(r->objects, id, &kind, &content) != 1)
			return 0;
		p = buf_text(&content);
		if (kind == OBJECT_TAG)
			is_tag = id_line(r, &p, "object ", id);
		buf_release(&content);
		if (!is_tag)
			return kind == OBJECT_COMMIT;
	}
	return 0;
}

/* git's answer for a name: 1; 0 where it gives none, -1. */
static int
name_ask(const struct repository *r, const char *name, const char *suffix,
	 char ret_hex[DIGEST_HEX_SIZE], struct error *err)
{
	char *whole = xasprintf("%s%s", name, suffix);
	const char *arguments[] = { "rev-parse",	"--verify", "-q",
				    "--end-of-options", whole,	    NULL };
	struct buf answer = BUF_INIT;
	uint8_t id[OBJECT_ID_MAX];
	int rc;

	rc = ask_git(r->place.root, arguments, &answer, err);
	if (rc == 1) {
		if (answer.len > 0 && answer.data[answer.len - 1] == '\n')
			answer.data[--answer.len] = '\0';
		rc = commit_parse(r, buf_text(&answer), id) == 0;
	}
	if (rc == 1)
		hex_encode(id, id_size(r), ret_hex);
	buf_release(&answer);
	free(whole);
	return rc;
}

int
commit_of_ref(const struct repository *r, const char *name, char ret_hex[DIGEST_HEX_SIZE],
	      struct error *err)
{
	enum ref_answer a;
	uint8_t id[OBJECT_ID_MAX] = { 0 };
	int rc;

	a = ref_read(&r->place, &r->settings, name, id);
	if (a == REF_NONE)
		return 0;
	if (a == REF_FOUND && commit_peel(r, id) == 1) {
		hex_encode(id, id_size(r), ret_hex);
		return 1;
	}
	rc = name_ask(r, name, "^{commit}", ret_hex, err);
	if (rc != 0)
		return rc;
	/* In a table, a ref that is not there is seen only now. */
	if (r->settings.has_reftable && name_ask(r, name, "", ret_hex, err) == 0)
		return 0;
	return error_set(err, ERROR_REPO, "%s: leads to no commit that is here", name);
}

int
commit_of_name(const struct repository *r, const char *name,
	       char ret_hex[DIGEST_HEX_SIZE], struct error *err)
{
	uint8_t id[OBJECT_ID_MAX];
	char hex[DIGEST_HEX_SIZE];
	int rc;

	/* The name alone first: some (`:/text`) reach to their end. */
	rc = *name == '\0' ? 0 : name_ask(r, name, "", hex, err);
	if (rc != 1)
		return rc;
	if (commit_parse(r, hex, id) < 0 || commit_peel(r, id) != 1)
		return name_ask(r, hex, "^{commit}", ret_hex, err);
	hex_encode(id, id_size(r), ret_hex);
	return 1;
}
