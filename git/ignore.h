/* SPDX-License-Identifier: MIT */
/*
 * Ignore rules: one list of patterns, as a .gitignore file has them.
 *
 * Which lists apply, and in which order, is the walk's affair; here one list is parsed
 * and matched exactly as git does it: negation, directories only, anchoring, `**`,
 * escapes, trailing spaces, case folding.
 */
#ifndef GIT_IGNORE_H
#define GIT_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

struct ignore_list;

enum ignore_verdict {
	IGNORE_UNSAID, /* no pattern of the list matches */
	IGNORE_NO,     /* the last that matches is negated */
	IGNORE_YES
};

/*
 * Parse the text of a file that lies in the directory `base` ("" the top, else without
 * a final '/').  Never fails: what is no pattern matches nothing.
 */
struct ignore_list *ignore_parse(const char *text, size_t n, const char *base,
				 bool fold_case);
/* `path` from the top; `name` is its last component, inside it. */
enum ignore_verdict ignore_match(const struct ignore_list *list, const char *path,
				 size_t len, const char *name, bool is_dir);
void ignore_free(struct ignore_list *list);

#endif
