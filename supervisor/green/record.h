/* SPDX-License-Identifier: MIT */
/*
 * Record: that a tier was green on a tree: `.geonosis/green-<tier>.json`.
 *
 *   { "format": 1, "tier", "directory", "inputs", "tree", "flags", "finishedAt",
 * "report", "seal" }
 *
 * It is believed only when it is whole, this user's own file, of this directory and tier,
 * and its seal (a digest over all the rest) holds; the caller compares `inputs` with the
 * key.
 */
#ifndef SUPERVISOR_GREEN_RECORD_H
#define SUPERVISOR_GREEN_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/error.h"

struct json_object;

struct record {
	char *inputs;		    /* the key of the run */
	char *flags;		    /* that mattered, "" for none */
	char *finished_at;	    /* as the report has it */
	bool moves_mark;	    /* the run was one that may move its tier's mark */
	struct json_object *report; /* as it was written; owned */
};

#define RECORD_INIT \
	{           \
		0   \
	}

/* Is it a regular file that this user wrote, and nobody else could have? */
bool record_file_is_ours(const char *path);
/* `.geonosis/green-<tier>.json`; freed by the caller. */
char *record_path(const char *tier);
/*
 * Read the record of a tier of the working directory: true when there is one that can be
 * believed.  Anything else is no record: nothing is ever green by it.
 */
bool record_read(const char *tier, struct record *ret_record);
/* Write it, whole or not at all; everything is borrowed. */
int record_write(const char *tier, const struct record *r, struct error *err);
/* Take it away; one that is not there is fine. */
int record_remove(const char *tier, struct error *err);
void record_release(struct record *r);

#endif
