/*
 * fit.h - one node: how many tasks fit, and which devices each gets
 *
 * GPUs: whole devices come from the fewest link groups, with the least damage
 * to the devices that are left (fit_devices.h); a fraction goes to the fullest
 * device that has room for it. CPUs, if the snapshot lists those of the node
 * one by one: whole CPUs are whole cores of one NUMA node as far as possible,
 * near the GPUs; a fraction goes to the fullest CPU that is shared already and
 * has room for it.
 *
 * --numa: a task gets its CPUs, GPUs and memory from as few NUMA nodes as
 * possible (fit_align.h). fit_count() counts only tasks that meet the option:
 * with strict, those that get a single NUMA node; with tight, those that get no
 * more NUMA nodes than on the empty node; with prefer, all. --links: all GPUs
 * that the job gets on the node are in as few link groups as possible; with
 * strict, only tasks count that need no more groups than on the empty node.
 * work.loose can turn off each of these two options. If CPUs are not listed,
 * only GPUs and memory are aligned.
 */
#ifndef AISCHEDD_SCHED_FIT_H
#define AISCHEDD_SCHED_FIT_H

#include "aischedd/sched/work.h"

/*
 * Returns how many more tasks of the request fit on the node, at most max. The
 * job already has `own` tasks there, with the GPUs in work.own_gpus. Only what
 * is free counts, not whether the job may run there.
 */
int64_t fit_count(struct work *w, uint32_t req, uint32_t node, int64_t own,
                  int64_t max);

/* Whether n more tasks fit, n > 0: costs less than counting them. */
bool fit_has(struct work *w, uint32_t req, uint32_t node, int64_t own,
             int64_t n);

/* How far a placement falls short of what the job prefers: NUMA nodes above the
 * fewest, summed up over its tasks, and link groups above the fewest. */
struct fit_excess {
	int64_t numas, links;
};

static inline bool fit_excess_is_less(const struct fit_excess *a,
                                      const struct fit_excess *b)
{
	return a->numas != b->numas ? a->numas < b->numas : a->links < b->links;
}

/* Whether the request has preferences for NUMA nodes or links that a node may
 * not be able to meet. */
bool fit_has_wishes(const struct work *w, uint32_t req);

/* Returns by how much the job falls short of its preferences if n more tasks,
 * which fit, are placed on the node. */
struct fit_excess fit_excess_of(struct work *w, uint32_t req, uint32_t node,
                                int64_t n);

/* Free amounts of the NUMA node that has the most: whole GPUs, whole CPUs,
 * memory. CPUs or memory are -1 if they are not counted by NUMA node. */
struct fit_numa {
	int64_t gpus, cpus, mem;
};

/* Whether a has more GPUs than b; if as many, more CPUs; if as many of both,
 * more memory. */
bool fit_numa_is_more(const struct fit_numa *a, const struct fit_numa *b);

struct fit_numa fit_best_numa(const struct work *w, uint32_t req,
                              uint32_t node);

/* Returns the largest number of wholly free GPUs in one link group. *ret_all:
 * how many all groups have together; *ret_groups: the fewest groups that one
 * task needs. */
int64_t fit_best_links(const struct work *w, uint32_t req, uint32_t node,
                       int64_t *ret_groups, int64_t *ret_all);

/* Returns how many CPUs one task can use at most, wholly or in part. */
static inline size_t fit_max_cpus(const struct snap *s, uint32_t req)
{
	return (size_t)(s->req.cpus[req] / 1000) + 1;
}

/*
 * Choose devices for one task, subtract all that it holds from the counters,
 * and add its GPUs to own_gpus. left: how many tasks, including this one, the
 * job still gets on the node; all of them must fit. The caller sets
 * ret->cpu_first. The array `use` must have room for fit_max_cpus() entries.
 * Returns how many of these were filled.
 */
uint32_t fit_task(struct work *w, uint32_t req, uint32_t node, int64_t left,
                  struct snap_task *ret, struct snap_cpu_use *use);

/* fit_cpus_again(): whether enough CPUs for a suspended task are free on its
 * node. fit_resume(): take CPUs for it, the old ones if they are free, else
 * others; returns how many entries of `use` were filled. */
bool fit_cpus_again(const struct work *w, uint32_t req,
                    const struct snap_task *had);
uint32_t fit_resume(struct work *w, uint32_t req, const struct snap_task *had,
                    struct snap_cpu_use *use);

#endif
