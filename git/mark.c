/* SPDX-License-Identifier: MIT */
#include "git/mark.h"

#include <stdio.h>
#include <string.h>

#include "git/ask.h"
#include "git/commit.h"
#include "git/ref.h"
#include "ipc/buf.h"

enum {
	COMPONENT_MAX = 180, /* bytes of a directory's name as written */
	PREFIX_LEN = 100     /* of one that is longer: what stays of it */
};

/* What git's names of refs must not hold, where it stands. */
static bool
is_forbidden(const char *path, size_t i)
{
	char c = path[i];

	if ((unsigned char)c <= ' ' || c == 0x7f || strchr("~^:?*[\\/%", c) != NULL)
		return true;
	if (c == '{')
		return i > 0 && path[i - 1] == '@';
	if (c != '.')
		return false;
	return i == 0 || path[i - 1] == '.' || strcmp(path + i, ".lock") == 0;
}

/* The directory as one component. */
static void
component_append(struct buf *b, const char *subdir)
{
	struct buf whole = BUF_INIT;
	uint8_t sum[DIGEST_SIZE];
	char hex[DIGEST_HEX_SIZE];
	struct digest d;
	size_t i;

	for (i = 0; subdir[i] != '\0'; i++) {
		if (is_forbidden(subdir, i))
			buf_printf(&whole, "%%%02X", (unsigned char)subdir[i]);
		else
			buf_putc(&whole, subdir[i]);
	}
	if (whole.len <= COMPONENT_MAX) {
		buf_append(b, whole.data, whole.len);
	} else {
		digest_init(&d);
		digest_add(&d, subdir, strlen(subdir));
		digest_end(&d, sum);
		hex_encode(sum, DIGEST_SIZE, hex);
		buf_append(b, whole.data, PREFIX_LEN);
		buf_printf(b, "%%-%s", hex);
	}
	buf_release(&whole);
}

char *
mark_name(const char *tier, const char *subdir)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "refs/geonosis/");
	if (*subdir != '\0') {
		buf_puts(&b, "in/");
		component_append(&b, subdir);
		buf_putc(&b, '/');
	}
	buf_puts(&b, "verified");
	if (strcmp(tier, "fast") != 0)
		buf_printf(&b, "-%s", tier);
	return buf_steal(&b);
}

void
mark_read(const struct repository *r, const char *name, struct mark *ret_mark)
{
	struct mark m = MARK_INIT;
	uint8_t id[OBJECT_ID_MAX];

	if (ref_read(&r->place, &r->settings, name, id) == REF_FOUND)
		hex_encode(id, object_format_size(r->settings.format), m.id);
	switch (commit_of_ref(r, name, m.commit, &m.why)) {
	case 1:
		m.state = MARK_FOUND;
		if (r->settings.has_reftable)
			(void)snprintf(m.id, sizeof(m.id), "%s", m.commit);
		break;
	case 0:
		m.state = MARK_NONE;
		break;
	default:
		m.state = MARK_GONE;
		m.commit[0] = '\0';
		break;
	}
	*ret_mark = m;
}

int
mark_move(const struct repository *r, const char *name, const struct mark *from,
	  const char *to, const struct mark_parts *parts, const char *message,
	  struct error *err)
{
	const char *zeros =
	    "0000000000000000000000000000000000000000000000000000000000000000";
	const char *arguments[] = { "update-ref", "--no-deref", "-m", message,
				    name,	  to,		NULL, NULL };
	struct buf answer = BUF_INIT;
	uint8_t id[OBJECT_ID_MAX];
	int rc;

	if (commit_parse(r, to, id) < 0)
		return error_set(err, ERROR_REPO, "%s: '%s' is no commit id", name, to);
	if (mark_parts_write(r, name, to, parts, err) < 0)
		return -1;
	if (from->state == MARK_FOUND && strcmp(from->id, to) == 0)
		return 0;
	if (from->state == MARK_NONE)
		arguments[6] = zeros + 64 - 2 * object_format_size(r->settings.format);
	else if (from->id[0] != '\0')
		arguments[6] = from->id;
	rc = ask_git(r->place.root, arguments, &answer, err);
	buf_release(&answer);
	return rc == 1 ? 0 : error_wrap(err, "%s cannot be moved", name);
}
