/*
 * fit_devices.h - which GPUs and CPUs of a node a task gets
 *
 * Choose whole GPUs from as few link groups as possible, or for a fraction the
 * fullest shared GPU; choose CPUs of whole cores near the GPUs. A block is 8, 4
 * or 2 GPUs that are linked and in one NUMA node: among equal choices, break up
 * the fewest blocks, which other tasks may need; then take GPUs in the NUMA
 * node with the fewest free GPUs. The caller knows that the task fits (fit.h).
 */
#ifndef AISCHEDD_SCHED_FIT_DEVICES_H
#define AISCHEDD_SCHED_FIT_DEVICES_H

#include "aischedd/sched/work.h"

/* The part of a node to take devices from. */
struct fit_where {
	uint32_t numas; /* bit i: NUMA node i */
	uint64_t gpus;  /* bit i: device i */
};

#define ALL_NUMAS UINT32_MAX
#define ALL_GPUS  UINT64_MAX

/* Whether the request may use the device, free or not: it is of the type that
 * the request names, if any, and has partitions only if the request asks for
 * one of them. */
bool fit_devices_has_part(const struct snap *s, uint32_t req, uint32_t node,
                          uint32_t device);

static inline bool fit_devices_may(const struct snap *s, uint32_t req,
                                   uint32_t node, uint32_t device)
{
	return (s->req.gpu_type[req] == SNAP_NONE ||
	        s->gpu.type[device] == s->req.gpu_type[req]) &&
	       (!s->gpu.parts || fit_devices_has_part(s, req, node, device));
}

/* Set work.nnumas and work.nlinks of the node: one more than the highest number
 * of a NUMA node, or of a link group, on the node. The two functions below
 * return these values, and call this one if it was not called before. */
void fit_devices_look_up(const struct work *w, uint32_t node);

static inline uint32_t fit_devices_nnumas(const struct work *w, uint32_t node)
{
	if (!w->nnumas[node])
		fit_devices_look_up(w, node);
	return w->nnumas[node];
}

static inline uint32_t fit_devices_nlinks(const struct work *w, uint32_t node)
{
	if (!w->nlinks[node])
		fit_devices_look_up(w, node);
	return w->nlinks[node];
}

/* Returns the node's GPUs that the request may use, free or not, as bits. */
uint64_t fit_devices_all(const struct work *w, uint32_t req, uint32_t node);

/* Returns the GPUs in this part of the node that the request may use and that
 * are wholly free, as bits. */
uint64_t fit_devices_whole(const struct work *w, uint32_t req, uint32_t node,
                           const struct fit_where *at);

/* There are blocks of three sizes: 8, 4 and 2 linked GPUs. */
enum { NBLOCKS = 3 };

struct fit_damage {
	uint32_t awaited;         /* chosen GPUs that another job is promised */
	uint32_t blocks[NBLOCKS]; /* by size, the largest first: how many blocks
	                             the chosen GPUs break up; blocks taken as
	                             a whole do not count */
};

/* Compares like memcmp(): less damage is better. */
int fit_devices_compare(const struct fit_damage *a, const struct fit_damage *b);

/* Choose n GPUs of the set, which has enough, for a job that already has the
 * GPUs in `own`: from the fewest link groups, then with the least damage. */
uint64_t fit_devices_pick(const struct work *w, uint32_t node, uint64_t set,
                          uint64_t own, uint32_t n,
                          struct fit_damage *ret_damage);

/* Returns the damage of choosing these GPUs, all of them wholly free. */
struct fit_damage fit_devices_damage(const struct work *w, uint32_t node,
                                     uint64_t chosen);

/* Returns those GPUs of the set that are in the same link group as one of `to`.
 */
uint64_t fit_devices_linked(const struct work *w, uint32_t node, uint64_t set,
                            uint64_t to);

/* fit_devices_ngroups(): the number of link groups of these GPUs.
 * fit_devices_fewest(): the fewest link groups that can hold the GPUs of `own`
 * and n GPUs of the set. */
uint32_t fit_devices_ngroups(const struct work *w, uint32_t node,
                             uint64_t gpus);
uint32_t fit_devices_fewest(const struct work *w, uint32_t node, uint64_t set,
                            uint64_t own, uint32_t n);

/* Choose GPUs for a task on its node, and set them in *task. */
void fit_devices_gpus(const struct work *w, uint32_t req,
                      const struct fit_where *at, struct snap_task *task);

/* Choose CPUs for a task, near the GPUs that it has. Returns how many. */
uint32_t fit_devices_cpus(const struct work *w, uint32_t req,
                          const struct snap_task *task, uint32_t numas,
                          struct snap_cpu_use *use);

#endif
