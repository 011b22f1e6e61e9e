/* SPDX-License-Identifier: MIT */
/*
 * Budget: how many heavy jobs the machine can carry.
 *
 * The CPUs that this process may use (affinity, and the quota of its cgroup and of
 * every cgroup around it, v1 and v2), bounded by memory (the machine's, and the
 * cgroups' limits) at 1 GiB a slot; at least 1.  What cannot be read bounds
 * nothing.
 */
#ifndef IPC_BUDGET_H
#define IPC_BUDGET_H

#include <stdint.h>

/* Of this process on this machine. */
unsigned budget_machine(void);

/*
 * The parts, on a directory that stands for `/` ("" is the real one), so that
 * other machines' files can be put there.  UINT64_MAX: no bound.
 */
/* CPUs of the smallest quota around us, rounded up. */
uint64_t budget_cgroup_cpus(const char *root);
/* Bytes of the smallest memory limit around us. */
uint64_t budget_cgroup_memory(const char *root);
/* MemTotal of /proc/meminfo in bytes. */
uint64_t budget_memory(const char *root);
/* The rule itself. */
unsigned budget_combine(uint64_t cpus, uint64_t quota_cpus, uint64_t memory_bytes);

#endif
