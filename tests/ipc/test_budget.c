/* SPDX-License-Identifier: MIT */
#include "ipc/budget.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/error.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/slot.h"

#define NONE UINT64_MAX
#define GIB ((uint64_t)1 << 30)

struct file {
	const char *path, *text;
};

/* A directory that stands for `/`; the caller removes it. */
static char *
root_make(const struct file files[])
{
	char *root = xstrdup("/tmp/gn-budget-XXXXXX");
	struct error err = ERROR_INIT;

	cr_assert_not_null(mkdtemp(root));
	for (; files->path != NULL; files++) {
		char *path = xasprintf("%s%s", root, files->path);
		char *slash = strrchr(path, '/');

		*slash = '\0';
		cr_assert_eq(dir_make(path, &err), 0, "%s", err.text);
		*slash = '/';
		cr_assert_eq(file_save(path, files->text, strlen(files->text), &err), 0,
			     "%s", err.text);
		free(path);
	}
	return root;
}

static void
root_remove(char *root)
{
	char *command = xasprintf("rm -rf '%s'", root);

	cr_assert_eq(system(command), 0);
	free(command);
	free(root);
}

#define V2 "/sys/fs/cgroup"
#define V1_CPU "/sys/fs/cgroup/cpu,cpuacct"
#define V1_MEMORY "/sys/fs/cgroup/memory"
#define GROUP "/proc/self/cgroup"

Test(budget, reads_the_bounds_of_its_cgroups, .timeout = 60)
{
	static const struct {
		const char *name;
		struct file files[6];
		uint64_t cpus, memory;
	} cases[] = {
		{ "nothing to read", { { NULL, NULL } }, NONE, NONE },
		{ "v2, no bound",
		  { { GROUP, "0::/a\n" },
		    { V2 "/a/cpu.max", "max 100000\n" },
		    { V2 "/a/memory.max", "max\n" } },
		  NONE,
		  NONE },
		{ "v2, own bound",
		  { { GROUP, "0::/a/b\n" },
		    { V2 "/a/b/cpu.max", "200000 100000\n" },
		    { V2 "/a/b/memory.max", "1073741824\n" } },
		  2,
		  GIB },
		{ "v2, a part of a CPU",
		  { { GROUP, "0::/a\n" }, { V2 "/a/cpu.max", "150000 100000\n" } },
		  2,
		  NONE },
		{ "v2, the bound around it is tighter",
		  { { GROUP, "0::/a/b\n" },
		    { V2 "/a/b/cpu.max", "800000 100000\n" },
		    { V2 "/a/cpu.max", "300000 100000\n" },
		    { V2 "/a/b/memory.max", "max\n" },
		    { V2 "/a/memory.max", "4294967296\n" } },
		  3,
		  4 * GIB },
		{ "v2, in a namespace of its own",
		  { { GROUP, "0::/\n" },
		    { V2 "/cpu.max", "100000 100000\n" },
		    { V2 "/memory.max", "2147483648\n" } },
		  1,
		  2 * GIB },
		{ "v1, no bound",
		  { { GROUP, "4:memory:/x\n3:cpu,cpuacct:/x\n" },
		    { V1_CPU "/x/cpu.cfs_quota_us", "-1\n" },
		    { V1_CPU "/x/cpu.cfs_period_us", "100000\n" },
		    { V1_MEMORY "/x/memory.limit_in_bytes", "9223372036854771712\n" } },
		  NONE,
		  NONE },
		{ "v1, own bound",
		  { { GROUP, "4:memory:/x\n3:cpu,cpuacct:/x\n" },
		    { V1_CPU "/x/cpu.cfs_quota_us", "250000\n" },
		    { V1_CPU "/x/cpu.cfs_period_us", "100000\n" },
		    { V1_MEMORY "/x/memory.limit_in_bytes", "3221225472\n" } },
		  3,
		  3 * GIB },
		{ "v1, the host's path, which is not there",
		  { { GROUP, "4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n" },
		    { V1_CPU "/cpu.cfs_quota_us", "50000\n" },
		    { V1_CPU "/cpu.cfs_period_us", "100000\n" },
		    { V1_MEMORY "/memory.limit_in_bytes", "536870912\n" } },
		  1,
		  GIB / 2 },
		{ "v1 and v2 beside each other",
		  { { GROUP, "3:cpu,cpuacct:/x\n0::/y\n" },
		    { V1_CPU "/x/cpu.cfs_quota_us", "200000\n" },
		    { V1_CPU "/x/cpu.cfs_period_us", "100000\n" },
		    { V2 "/y/memory.max", "1073741824\n" } },
		  2,
		  GIB },
		{ "nonsense",
		  { { GROUP, "\n::\nx\n0:a\n0::/../..\n" },
		    { V2 "/cpu.max", "a lot\n" },
		    { V2 "/memory.max", "-1\n" },
		    { V1_CPU "/cpu.cfs_quota_us", "100000\n" },
		    { V1_CPU "/cpu.cfs_period_us", "0\n" } },
		  NONE,
		  NONE },
		{ "a quota of nothing",
		  { { GROUP, "0::/\n" }, { V2 "/cpu.max", "0 100000\n" } },
		  NONE,
		  NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *root = root_make(cases[i].files);
		uint64_t cpus = budget_cgroup_cpus(root);
		uint64_t memory = budget_cgroup_memory(root);

		cr_expect_eq(cpus, cases[i].cpus, "%s: %" PRIu64, cases[i].name, cpus);
		cr_expect_eq(memory, cases[i].memory, "%s: %" PRIu64, cases[i].name,
			     memory);
		root_remove(root);
	}
}

Test(budget, reads_the_machines_memory, .timeout = 30)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "MemTotal:       16777216 kB\nMemFree: 1 kB\n", 16 * GIB },
		{ "MemFree: 1 kB\nMemTotal: 1048576 kB\n", GIB },
		{ "NoMemTotal: 1 kB\n", NONE },
		{ "MemTotal: many\n", NONE },
		{ "MemTotal: 99999999999999999999 kB\n", NONE },
		{ "", NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct file files[] = { { "/proc/meminfo", cases[i].text },
					      { NULL, NULL } };
		char *root = root_make(files);

		cr_expect_eq(budget_memory(root), cases[i].bytes, "%s", cases[i].text);
		root_remove(root);
	}
}

Test(budget, is_the_least_of_all_and_at_least_one)
{
	static const struct {
		uint64_t cpus, quota, memory;
		unsigned budget;
	} cases[] = {
		{ 8, NONE, NONE, 8 },	     { 8, 2, NONE, 2 },
		{ 8, 16, NONE, 8 },	     { 8, NONE, 4 * GIB, 4 },
		{ 8, NONE, 4 * GIB - 1, 3 }, { 8, NONE, GIB / 2, 1 },
		{ 0, NONE, NONE, 1 },	     { NONE, NONE, NONE, SLOT_BUDGET_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(
		    budget_combine(cases[i].cpus, cases[i].quota, cases[i].memory),
		    cases[i].budget, "case %zu", i);
}

Test(budget, of_this_machine_is_bounded_by_affinity)
{
	cpu_set_t set;
	unsigned budget = budget_machine();
	size_t cpu;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	cr_assert(budget >= 1 && budget <= (unsigned)CPU_COUNT(&set));
	for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++)
		;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	cr_assert_eq(sched_setaffinity(0, sizeof(set), &set), 0);
	cr_assert_eq(budget_machine(), 1);
}
