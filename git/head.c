/* SPDX-License-Identifier: MIT */
#include "git/head.h"

#include "git/ask.h"
#include "git/ref.h"
#include "ipc/buf.h"

int
head_read(const struct place *p, const struct settings *s, struct head *ret_head)
{
	struct head h = { .is_unborn = false };

	switch (ref_read(p, s, "HEAD", h.id)) {
	case REF_FOUND:
		break;
	case REF_DANGLING:
		h.is_unborn = true;
		break;
	case REF_NONE:
	case REF_ODD:
	default:
		return 0;
	}
	*ret_head = h;
	return 1;
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
