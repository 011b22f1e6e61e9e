/* SPDX-License-Identifier: MIT */
#include "supervisor/run/enclosing.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "ipc/mem.h"
#include "ipc/process.h"
#include "ipc/slot.h"
#include "ipc/slot_list.h"

enum {
	ENCLOSING_DEPTH_MAX = 4096, /* /proc is read without a lock: no endless walk */
};

static bool
token_is_live(const char *segment, const char *token)
{
	return *token != '\0' && slot_token_check(segment, token).is_live;
}

/* Who asked for it cannot be told by a number: it lives elsewhere, or not any more. */
static bool
holder_is_unknown(const struct slot_info *info)
{
	return info->is_foreign || info->pid <= 0 ||
	       (kill(info->pid, 0) < 0 && errno == ESRCH);
}

static bool
holders_have(const struct slot_list *list, pid_t pid)
{
	size_t i;

	for (i = 0; i < list->nitems && list->items[i].is_held; i++)
		if (list->items[i].pid == pid)
			return true;
	return false;
}

/*
 * May we be inside of one of the holds?  Who asked for it is around us then, which is
 * quickly seen.
 */
static bool
holders_may_enclose(const struct slot_list *list)
{
	pid_t pid = getpid();
	size_t i;
	int n;

	/* Holders come first. */
	for (i = 0; i < list->nitems && list->items[i].is_held; i++)
		if (holder_is_unknown(&list->items[i]))
			return true;
	if (i == 0)
		return false;
	for (n = 0; n < ENCLOSING_DEPTH_MAX && pid > 0; n++, pid = process_parent(pid))
		if (holders_have(list, pid))
			return true;
	return false;
}

static bool
segment_may_enclose(const char *segment)
{
	struct error ignored = ERROR_INIT;
	struct slot_list list = { 0 };
	bool may;

	if (slots_look(segment, &list, &ignored) < 0)
		return false;
	may = holders_may_enclose(&list);
	slot_list_release(&list);
	return may;
}

static char *
process_token(pid_t pid, const char *segment)
{
	char text[SLOT_TOKEN_SIZE];
	char *token;

	/* Before its environment: a worker has that of its whole run. */
	if (slot_token_of_process(segment, pid, text))
		return xstrdup(text);
	token = process_variable(pid, ENCLOSING_VARIABLE);
	if (token != NULL && token_is_live(segment, token))
		return token;
	free(token);
	return NULL;
}

char *
enclosing_token(const char *segment)
{
	const char *own = getenv(ENCLOSING_VARIABLE);
	char *token = NULL;
	pid_t pid;
	int i;

	if (own != NULL && token_is_live(segment, own))
		return xstrdup(own);
	if (!segment_may_enclose(segment))
		return NULL;
	for (i = 0, pid = getpid(); i < ENCLOSING_DEPTH_MAX && pid > 0 && token == NULL;
	     i++, pid = process_parent(pid))
		token = process_token(pid, segment);
	return token;
}
