/* SPDX-License-Identifier: MIT */
/*
 * The usual cases need no git: HEAD is at the tip, or a few commits past it.  There the
 * tip is the merge-base, whatever else the history holds.
 */
#include "git/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/ask.h"
#include "git/commit.h"
#include "ipc/mem.h"

enum {
	WALK_MAX = 64 /* commits that are read before git is asked */
};

struct walk {
	uint8_t ids[WALK_MAX][OBJECT_ID_MAX];
	size_t n, next;
};

/* Note a commit to be looked at; one that was noted, or is one too many, is not. */
static void
walk_add(struct walk *w, const uint8_t id[OBJECT_ID_MAX])
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (memcmp(w->ids[i], id, OBJECT_ID_MAX) == 0)
			return;
	if (w->n < WALK_MAX)
		memcpy(w->ids[w->n++], id, OBJECT_ID_MAX);
}

/*
 * Is `old` found among the nearest ancestors of `from`?  Commits made before it are not
 * looked behind.  False proves nothing.
 */
static bool
is_near_ancestor(const struct repository *r, const uint8_t *old, int64_t date,
		 const uint8_t *from)
{
	struct walk w = { .n = 0 };

	walk_add(&w, from);
	for (; w.next < w.n; w.next++) {
		struct commit c = COMMIT_INIT;
		size_t i;

		if (memcmp(w.ids[w.next], old, OBJECT_ID_MAX) == 0)
			return true;
		if (commit_peek(r, w.ids[w.next], &c) != 1)
			continue;
		for (i = 0; c.date >= date && i < c.nparents; i++)
			walk_add(&w, c.parents[i]);
		commit_release(&c);
	}
	return false;
}

/* Ask git; both commits are there. */
static void
base_ask(const struct repository *r, const char *tip, struct base *b)
{
	const char *arguments[] = { "merge-base", r->key->head, tip, NULL };
	struct buf answer = BUF_INIT;
	uint8_t id[OBJECT_ID_MAX];
	int code;

	if (ask_git_code(r->place.root, arguments, 0, &answer, &code, &b->why) < 0)
		return;
	if (answer.len > 0)
		answer.data[strcspn(answer.data, "\n")] = '\0';
	if (code == 0 && commit_parse(r, buf_text(&answer), id) == 0) {
		(void)snprintf(b->commit, sizeof(b->commit), "%s", answer.data);
		b->state = BASE_FOUND;
	} else if (code == 1 && r->is_shallow) {
		(void)error_set(&b->why, ERROR_REPO,
				"the history here is shallow and ends before a commit "
				"that HEAD and %s have in common",
				tip);
	} else if (code == 1) {
		b->state = BASE_UNRELATED;
		(void)error_set(&b->why, ERROR_REPO,
				"HEAD and %s have no commit in common", tip);
	} else {
		(void)error_wrap(&b->why, "merge-base of HEAD and %s", tip);
	}
	buf_release(&answer);
}

/* Both ids are sound and differ. */
static void
base_seek(const struct repository *r, const uint8_t *head, const uint8_t *tip,
	  struct base *b)
{
	struct commit c = COMMIT_INIT;

	if (commit_read(r, tip, &c, &b->why) != 1)
		return;
	if (is_near_ancestor(r, tip, c.date, head)) {
		(void)snprintf(b->commit, sizeof(b->commit), "%s", b->tip);
		b->state = BASE_FOUND;
	} else {
		base_ask(r, b->tip, b);
	}
	commit_release(&c);
}

void
base_find(const struct repository *r, const char *tip, struct base *ret_base)
{
	struct base b = BASE_INIT;
	uint8_t head_id[OBJECT_ID_MAX], tip_id[OBJECT_ID_MAX];

	if (commit_parse(r, tip, tip_id) < 0) {
		(void)error_set(&b.why, ERROR_REPO, "'%s' is no commit id", tip);
	} else if (commit_parse(r, r->key->head, head_id) < 0) {
		b.state = BASE_UNRELATED;
		(void)error_set(&b.why, ERROR_REPO, "there is no commit yet");
	} else {
		(void)snprintf(b.tip, sizeof(b.tip), "%s", tip);
		if (memcmp(head_id, tip_id, OBJECT_ID_MAX) == 0) {
			(void)snprintf(b.commit, sizeof(b.commit), "%s", tip);
			b.state = BASE_FOUND;
		} else {
			base_seek(r, head_id, tip_id, &b);
		}
	}
	b.has_head = b.state == BASE_FOUND && strcmp(b.commit, r->key->head) == 0;
	*ret_base = b;
}

int
base_find_main(const struct repository *r, struct base *ret_base)
{
	static const char *const names[] = { "refs/heads/main",
					     "refs/remotes/origin/main" };
	char hex[DIGEST_HEX_SIZE];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct base b = BASE_INIT;
		int rc = commit_of_ref(r, names[i], hex, &b.why);

		if (rc == 0)
			continue;
		if (rc == 1)
			base_find(r, hex, &b);
		*ret_base = b;
		return 1;
	}
	return 0;
}
