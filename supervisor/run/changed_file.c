/* SPDX-License-Identifier: MIT */
#include "supervisor/run/changed_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "git/changed.h"
#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

int
changed_file_write(const char *tier, const struct scope *s, char **ret_path,
		   struct error *err)
{
	struct buf text = BUF_INIT;
	char *here, *path;
	size_t i;
	int rc;

	*ret_path = NULL;
	if (!s->has_changes)
		return 0;
	here = getcwd(NULL, 0);
	if (here == NULL)
		return error_system(err, "GEONOSIS_CHANGED_FILES");
	for (i = 0; i < s->nchanges; i++) {
		char *line = path_quote(s->changes[i]);

		buf_printf(&text, "%s\n", line);
		free(line);
	}
	path = xasprintf("%s/.geonosis/%s.changed", here, tier);
	free(here);
	rc = file_save(path, buf_text(&text), text.len, err);
	buf_release(&text);
	if (rc < 0) {
		free(path);
		return -1;
	}
	*ret_path = path;
	return 0;
}

void
changed_file_remove(char *path)
{
	if (path != NULL)
		(void)unlink(path);
	free(path);
}
