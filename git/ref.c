/* SPDX-License-Identifier: MIT */
#include "git/ref.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/error.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	REF_MAX = 4096, /* bytes of a loose ref */
	PACKED_MAX = 256 << 20,
	SYMBOLIC_MAX = 5
};

/* What the text of a ref says. */
enum ref_text {
	TEXT_ODD = -1, /* not known here */
	TEXT_NONE,     /* no such ref */
	TEXT_ID,
	TEXT_NAME /* another ref's */
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

static enum ref_text
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
			return TEXT_ODD;
		memcpy(name, text, n);
		name[n] = '\0';
		return name_is_plain(name) ? TEXT_NAME : TEXT_ODD;
	}
	if (strspn(text, "0123456789abcdefABCDEF") != 2 * id_size ||
	    (text[2 * id_size] != '\0' && strchr(" \t\r\n", text[2 * id_size]) == NULL) ||
	    hex_decode(text, id_size, id) < 0)
		return TEXT_ODD;
	return TEXT_ID;
}

/* Old repositories have symbolic refs that are links of the file system. */
static enum ref_text
link_parse(const char *path, char name[REF_MAX])
{
	ssize_t n = readlink(path, name, REF_MAX - 1);

	if (n < 0)
		return TEXT_NONE;
	name[n] = '\0';
	return name_is_plain(name) ? TEXT_NAME : TEXT_ODD;
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum ref_text
loose_read(const struct place *p, size_t id_size, const char *ref, uint8_t *id,
	   char name[REF_MAX])
{
	char *path =
	    xasprintf("%s/%s", name_is_own(ref) ? p->git_dir : p->common_dir, ref);
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT;
	enum ref_text a;

	a = link_parse(path, name);
	if (a == TEXT_NONE) {
		if (file_read(path, REF_MAX, &text, &e) == 0)
			a = text_parse(buf_text(&text), id_size, id, name);
		else if (e.errnum != ENOENT && e.errnum != ENOTDIR && !is_directory(path))
			a = TEXT_ODD;
	}
	buf_release(&text);
	free(path);
	return a;
}

/* Lines `<id> <ref>`; others begin with '#' or '^'. */
static enum ref_text
packed_read(const struct place *p, size_t id_size, const char *ref, uint8_t *id)
{
	char *path = xasprintf("%s/packed-refs", p->common_dir);
	char *wanted = xasprintf(" %s\n", ref);
	struct error e = ERROR_INIT;
	struct buf text = BUF_INIT;
	enum ref_text a = TEXT_NONE;
	const char *at;

	if (file_read(path, PACKED_MAX, &text, &e) < 0) {
		a = e.errnum == ENOENT ? TEXT_NONE : TEXT_ODD;
		goto out;
	}
	at = text.len == 0 ? NULL : memmem(text.data, text.len, wanted, strlen(wanted));
	if (at == NULL)
		goto out;
	a = TEXT_ODD;
	if ((size_t)(at - text.data) >= 2 * id_size) {
		at -= 2 * id_size;
		if ((at == text.data || at[-1] == '\n') &&
		    hex_decode(at, id_size, id) == 0)
			a = TEXT_ID;
	}
out:
	buf_release(&text);
	free(wanted);
	free(path);
	return a;
}

enum ref_answer
ref_read(const struct place *p, const struct settings *s, const char *name,
	 uint8_t ret_id[OBJECT_ID_MAX])
{
	size_t id_size = object_format_size(s->format);
	char at[REF_MAX], next[REF_MAX];
	unsigned depth;

	if (s->has_reftable || strlen(name) >= REF_MAX)
		return REF_ODD;
	memcpy(at, name, strlen(name) + 1);
	for (depth = 0; depth <= SYMBOLIC_MAX; depth++) {
		enum ref_text t = loose_read(p, id_size, at, ret_id, next);

		if (t == TEXT_NONE)
			t = packed_read(p, id_size, at, ret_id);
		if (t == TEXT_ODD)
			return REF_ODD;
		if (t == TEXT_ID)
			return REF_FOUND;
		if (t == TEXT_NONE)
			return depth == 0 ? REF_NONE : REF_DANGLING;
		memcpy(at, next, sizeof(at));
	}
	return REF_ODD;
}
