/* SPDX-License-Identifier: MIT */
/*
 * HEAD: which commit it stands for, and what that commit's tree holds.
 */
#ifndef GIT_HEAD_H
#define GIT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "git/digest.h"
#include "git/objects.h"
#include "git/place.h"
#include "git/settings.h"
#include "ipc/error.h"

struct head {
	bool is_unborn; /* no commit yet */
	uint8_t id[OBJECT_ID_MAX];
};

/*
 * Through symbolic refs, loose and packed. 1; 0 where its form is not known here:
 * head_ask.
 */
int head_read(const struct place *p, const struct settings *s, struct head *ret_head);
int head_ask(const struct place *p, const struct settings *s, struct head *ret_head,
	     struct error *err);

/* HEAD's tree, of which single paths are looked up: best in their order. */
struct head_tree;

/*
 * Nothing is read yet. `objects` is borrowed. For a HEAD that is unborn every path is
 * absent.
 */
struct head_tree *head_tree_new(const struct place *p, const struct settings *s,
				const struct head *h, struct objects *objects);
/*
 * What HEAD has at the path (not a directory): 1 with mode (as in the index) and id, 0
 * nothing, -1. Where an object cannot be read here git lists the whole tree, once.
 */
int head_tree_find(struct head_tree *t, const char *path, size_t len, uint32_t *ret_mode,
		   uint8_t ret_id[OBJECT_ID_MAX], struct error *err);
/* Was git asked? */
bool head_tree_asked(const struct head_tree *t);
void head_tree_free(struct head_tree *t);

#endif
