/* SPDX-License-Identifier: MIT */
#include "git/head.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/ask.h"
#include "git/index.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	REF_MAX = 4096, /* bytes of a loose ref */
	PACKED_MAX = 256 << 20,
	SYMBOLIC_MAX = 5
};

/* What a ref says: 1 an id, 2 another ref's name, 0 no such ref, -1 not known here. */
enum ref_answer {
	REF_ODD = -1,
	REF_NONE,
	REF_ID,
	REF_NAME
};

static bool
name_is_plain(const char *name)
{
	return strncmp(name, "refs/", 5) == 0 && strstr(name, "..") == NULL &&
	       strlen(name) < REF_MAX;
}

/* Refs of one working tree only; all others are common. */
static bool
name_is_own(const char *name)
{
	return strchr(name, '/') == NULL || strncmp(name, "refs/bisect/", 12) == 0 ||
	       strncmp(name, "refs/worktree/", 14) == 0 ||
	       strncmp(name, "refs/rewritten/", 15) == 0;
}

static enum ref_answer
text_parse(const char *text, size_t id_size, uint8_t *id, char name[REF_MAX])
{
	size_t n;

	if (strncmp(text, "ref:", 4) == 0) {
		text += 4;
		text += strspn(text, " \t");
		n = strcspn(text, "\r\n");
		while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
			n--;
		if (n == 0 || n >= REF_MAX)
			return REF_ODD;
		memcpy(name, text, n);
		name[n] = '\0';
		return name_is_plain(name) ? REF_NAME : REF_ODD;
	}
	if (strspn(text, "0123456789abcdefABCDEF") != 2 * id_size ||
	    (text[2 * id_size] != '\0' && strchr(" \t\r\n", text[2 * id_size]) == NULL) ||
	    hex_decode(text, id_size, id) < 0)
		return REF_ODD;
	return REF_ID;
}

/* Old repositories have symbolic refs that are links of the file system. */
static enum ref_answer
link_parse(const char *path, char name[REF_MAX])
{
	ssize_t n = readlink(path, name, REF_MAX - 1);

	if (n < 0)
		return REF_NONE;
	name[n] = '\0';
	return name_is_plain(name) ? REF_NAME : REF_ODD;
}

static enum ref_answer
loose_read(const struct place *p, size_t id_size, const char *ref, uint8_t *id,
	   char name[REF_MAX])
{
	char *path =
	    xasprintf("%s/%s", name_is_own(ref) ? p->git_dir : p->common_dir, ref);
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT;
	enum ref_answer a;

	a = link_parse(path, name);
	if (a == REF_NONE) {
		if (file_read(path, REF_MAX, &text, &e) == 0)
			a = text_parse(buf_text(&text), id_size, id, name);
		else if (e.errnum != ENOENT && e.errnum != ENOTDIR &&
			 e.errnum != EISDIR && e.kind != ERROR_DATA)
			a = REF_ODD;
	}
	buf_release(&text);
	free(path);
	return a;
}

/* Lines `<id> <ref>`; others begin with '#' or '^'. */
static enum ref_answer
packed_read(const struct place *p, size_t id_size, const char *ref, uint8_t *id)
{
	char *path = xasprintf("%s/packed-refs", p->common_dir);
	char *wanted = xasprintf(" %s\n", ref);
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT;
	enum ref_answer a = REF_NONE;
	const char *at;

	if (file_read(path, PACKED_MAX, &text, &e) < 0) {
		a = e.errnum == ENOENT ? REF_NONE : REF_ODD;
		goto out;
	}
	at = text.len == 0 ? NULL : memmem(text.data, text.len, wanted, strlen(wanted));
	if (at == NULL)
		goto out;
	a = REF_ODD;
	if ((size_t)(at - text.data) >= 2 * id_size) {
		at -= 2 * id_size;
		if ((at == text.data || at[-1] == '\n') &&
		    hex_decode(at, id_size, id) == 0)
			a = REF_ID;
	}
out:
	buf_release(&text);
	free(wanted);
	free(path);
	return a;
}

int
head_read(const struct place *p, const struct settings *s, struct head *ret_head)
{
	struct head h = { .is_unborn = false };
	char name[REF_MAX] = "HEAD", next[REF_MAX];
	size_t id_size = object_format_size(s->format);
	unsigned depth;

	if (s->has_reftable)
		return 0;
	for (depth = 0; depth <= SYMBOLIC_MAX; depth++) {
		enum ref_answer a = loose_read(p, id_size, name, h.id, next);

		if (a == REF_NONE)
			a = packed_read(p, id_size, name, h.id);
		if (a == REF_ODD || (a == REF_NONE && depth == 0))
			return 0;
		if (a != REF_NAME) {
			h.is_unborn = a == REF_NONE;
			*ret_head = h;
			return 1;
		}
		memcpy(name, next, sizeof(name));
	}
	return 0;
}

int
head_ask(const struct place *p, const struct settings *s, struct head *ret_head,
	 struct error *err)
{
	static const char *const arguments[] = { "rev-parse", "--verify", "-q", "HEAD",
						 NULL };
	static const char *const symbolic[] = { "symbolic-ref", "-q", "HEAD", NULL };
	size_t id_size = object_format_size(s->format);
	struct head h = { .is_unborn = false };
	struct buf answer = BUF_INIT;
	int rc;

	rc = ask_git(p->root, arguments, &answer, err);
	if (rc == 0) {
		/* No commit: yet, where HEAD names a branch; else something is amiss. */
		rc = ask_git(p->root, symbolic, &answer, err);
		h.is_unborn = true;
	} else if (rc == 1 && (answer.len < 2 * id_size ||
			       hex_decode(answer.data, id_size, h.id) < 0)) {
		rc = error_set(err, ERROR_REPO, "git rev-parse HEAD: no commit id");
	}
	buf_release(&answer);
	if (rc != 1)
		return rc < 0 ? -1 : error_wrap(err, "HEAD");
	*ret_head = h;
	return 0;
}
