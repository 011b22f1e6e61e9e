/* SPDX-License-Identifier: MIT */
/*
 * A cgroup is bounded by all those around it, so each walk goes from our own to
 * the top.  In a container /proc/self/cgroup may show the host's path, which is not
 * there: then what lies at the mount point is ours.
 */
#include "ipc/budget.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/slot.h"

enum {
	BUDGET_FILE_BYTES = 1 << 20,
	BUDGET_DEPTH = 64,
};

#define BUDGET_GIB ((uint64_t)1 << 30)

/* A file below root as text; "" where there is none. */
static char *
budget_read(const char *root, const char *path)
{
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;
	char *full = xasprintf("%s%s", root, path);
	char *text;

	(void)file_read(full, BUDGET_FILE_BYTES, &b, &err);
	free(full);
	text = xstrdup(buf_text(&b));
	buf_release(&b);
	return text;
}

/* The first number of a text; UINT64_MAX where it does not begin with one. */
static uint64_t
budget_number(const char *text)
{
	char *end;
	unsigned long long n;

	if (text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	n = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : n;
}

/*
 * Our cgroup in the hierarchy that has this controller ("" is the unified one) as a
 * path from its mount point; "/" where that is not told.
 */
static char *
budget_group(const char *root, const char *controller)
{
	char *text = budget_read(root, "/proc/self/cgroup");
	char *save = NULL;
	char *found = NULL;

	for (char *line = strtok_r(text, "\n", &save); line != NULL && found == NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':');
		char *path = names == NULL ? NULL : strchr(names + 1, ':');
		char *rest = NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		names++;
		if (controller[0] == '\0' && names[0] == '\0')
			found = xstrdup(path);
		for (char *name = strtok_r(names, ",", &rest);
		     name != NULL && found == NULL; name = strtok_r(NULL, ",", &rest))
			if (strcmp(name, controller) == 0)
				found = xstrdup(path);
	}
	free(text);
	if (found == NULL || found[0] != '/' || strstr(found, "/../") != NULL) {
		free(found);
		return xstrdup("/");
	}
	return found;
}

/* What one cgroup directory allows; UINT64_MAX: no bound. */
typedef uint64_t budget_limit_fn(const char *root, const char *dir);

/* The least of a group and all those around it. */
static uint64_t
budget_walk(const char *root, const char *mount, const char *controller,
	    budget_limit_fn *limit)
{
	char *group = budget_group(root, controller);
	uint64_t least = UINT64_MAX;

	for (int depth = 0; depth < BUDGET_DEPTH; depth++) {
		char *dir = xasprintf("%s%s", mount, group);
		uint64_t n = limit(root, dir);
		char *slash = strrchr(group, '/');

		free(dir);
		if (n < least)
			least = n;
		if (slash == NULL || group[0] == '\0')
			break;
		*slash = '\0';
	}
	free(group);
	return least;
}

static uint64_t
budget_file(const char *root, const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	char *text = budget_read(root, path);
	uint64_t n = budget_number(text);

	free(text);
	free(path);
	return n;
}

static uint64_t
budget_divide(uint64_t quota, uint64_t period)
{
	if (quota == UINT64_MAX || period == UINT64_MAX || quota == 0 || period == 0)
		return UINT64_MAX;
	return quota / period + (quota % period != 0);
}

/* cpu.max: `<quota or "max"> <period>`, in microseconds. */
static uint64_t
budget_cpus_v2(const char *root, const char *dir)
{
	char *path = xasprintf("%s/cpu.max", dir);
	char *text = budget_read(root, path);
	const char *space = strchr(text, ' ');
	uint64_t n = UINT64_MAX;

	if (space != NULL)
		n = budget_divide(budget_number(text), budget_number(space + 1));
	free(text);
	free(path);
	return n;
}

/* A quota of -1 is none. */
static uint64_t
budget_cpus_v1(const char *root, const char *dir)
{
	return budget_divide(budget_file(root, dir, "cpu.cfs_quota_us"),
			     budget_file(root, dir, "cpu.cfs_period_us"));
}

static uint64_t
budget_memory_v2(const char *root, const char *dir)
{
	return budget_file(root, dir, "memory.max");
}

/* "No limit" is a number here, the largest multiple of a page. */
static uint64_t
budget_memory_v1(const char *root, const char *dir)
{
	uint64_t n = budget_file(root, dir, "memory.limit_in_bytes");

	return n >= (uint64_t)1 << 60 ? UINT64_MAX : n;
}

static uint64_t
budget_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
budget_cgroup_cpus(const char *root)
{
	uint64_t n = budget_walk(root, "/sys/fs/cgroup", "", budget_cpus_v2);

	n = budget_least(n,
			 budget_walk(root, "/sys/fs/cgroup/cpu", "cpu", budget_cpus_v1));
	return budget_least(
	    n, budget_walk(root, "/sys/fs/cgroup/cpu,cpuacct", "cpu", budget_cpus_v1));
}

uint64_t
budget_cgroup_memory(const char *root)
{
	return budget_least(
	    budget_walk(root, "/sys/fs/cgroup", "", budget_memory_v2),
	    budget_walk(root, "/sys/fs/cgroup/memory", "memory", budget_memory_v1));
}

uint64_t
budget_memory(const char *root)
{
	char *text = budget_read(root, "/proc/meminfo");
	const char *line = strstr(text, "MemTotal:");
	uint64_t n = UINT64_MAX;

	if (line != NULL && (line == text || line[-1] == '\n')) {
		line += strlen("MemTotal:");
		n = budget_number(line + strspn(line, " \t"));
	}
	free(text);
	return n > UINT64_MAX / 1024 ? UINT64_MAX : n * 1024;
}

unsigned
budget_combine(uint64_t cpus, uint64_t quota_cpus, uint64_t memory_bytes)
{
	uint64_t n = budget_least(cpus, quota_cpus);

	n = budget_least(n, memory_bytes / BUDGET_GIB);
	if (n < 1)
		return 1;
	return n > SLOT_BUDGET_MAX ? SLOT_BUDGET_MAX : (unsigned)n;
}

/* CPUs of our affinity, on machines with more than a cpu_set_t holds as well. */
static uint64_t
budget_affinity(void)
{
	for (int ncpus = CPU_SETSIZE; ncpus <= 1 << 20; ncpus *= 2) {
		cpu_set_t *set = CPU_ALLOC((size_t)ncpus);
		size_t size = CPU_ALLOC_SIZE((size_t)ncpus);
		int n = 0;

		if (set == NULL)
			break;
		if (sched_getaffinity(0, size, set) == 0)
			n = CPU_COUNT_S(size, set);
		CPU_FREE(set);
		if (n > 0)
			return (uint64_t)n;
	}
	return 1;
}

unsigned
budget_machine(void)
{
	return budget_combine(budget_affinity(), budget_cgroup_cpus(""),
			      budget_least(budget_memory(""), budget_cgroup_memory("")));
}
