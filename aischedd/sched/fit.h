/*
 * fit.h - one node: how many tasks fit, and which devices each gets
 *
 * GPUs: whole devices from the fewest link groups, with the least damage to
 * what is left (fit_devices.h); a fraction goes to the fullest device that has
 * room for it.  CPUs, where the node has a slice of them: whole CPUs are whole
 * cores of one NUMA node as far as possible, near the GPUs; the fraction of a
 * request goes to the fullest CPU that is shared already and has room for it.
 *
 * --numa: CPUs, GPUs and memory of a task come from a set of NUMA nodes, as
 * small as possible (fit_align.h).  strict counts only tasks that can have one,
 * tight those that can have as few as on the empty node, prefer counts all.
 * --links: the GPUs that the job has on the node, those of the tasks to come
 * included, are in as few link groups as possible; strict counts only tasks for
 * which there are as few as on the empty node.  work.loose ignores either.
 * Where CPUs are not in a slice, only GPUs and memory are aligned.
 */
#ifndef AISCHEDD_SCHED_FIT_H
#define AISCHEDD_SCHED_FIT_H

#include "aischedd/sched/work.h"

/*
 * How many more tasks of the request fit on the node, at most max; own are
 * there already of the same job, with work.own_gpus.  Looks at what is free
 * only, not at whether the job may run there.
 */
int64_t fit_count(struct work *w, uint32_t req, uint32_t node, int64_t own,
                  int64_t max);

/* How far a job falls short of its wishes: NUMA nodes above the fewest, summed
 * up over its tasks, and link groups above the fewest. */
struct fit_excess {
	int64_t numas, links;
};

static inline bool fit_excess_is_less(const struct fit_excess *a,
                                      const struct fit_excess *b)
{
	return a->numas != b->numas ? a->numas < b->numas : a->links < b->links;
}

/* Whether the request has wishes that a node may not meet. */
bool fit_has_wishes(const struct work *w, uint32_t req);

/* The shortfall of n more tasks on the node, where they fit. */
struct fit_excess fit_excess_of(struct work *w, uint32_t req, uint32_t node,
                                int64_t n);

/* Wholly free GPUs and CPUs, and the free memory, of the NUMA node with the
 * most; CPUs or memory are -1 if the node only counts them. */
struct fit_numa {
	int64_t gpus, cpus, mem;
};

/* Whether a has more GPUs than b, else more CPUs or memory. */
bool fit_numa_is_more(const struct fit_numa *a, const struct fit_numa *b);

struct fit_numa fit_best_numa(const struct work *w, uint32_t req,
                              uint32_t node);

/* Wholly free GPUs in the link group with the most, and in all; and the fewest
 * groups for one task. */
int64_t fit_best_links(const struct work *w, uint32_t req, uint32_t node,
                       int64_t *ret_groups, int64_t *ret_all);

/* The most CPUs of a slice that one task can hold. */
static inline size_t fit_max_cpus(const struct snap *s, uint32_t req)
{
	return (size_t)(s->req.cpus[req] / 1000) + 1;
}

/*
 * Choose devices for one of `left` tasks that the job still gets on the node,
 * on which they fit, and take all that it holds; its GPUs become own_gpus. The
 * caller sets cpu_first; use must hold fit_max_cpus() entries.  Returns how
 * many were filled.
 */
uint32_t fit_task(struct work *w, uint32_t req, uint32_t node, int64_t left,
                  struct snap_task *ret, struct snap_cpu_use *use);

/* Whether enough CPUs for a suspended task are free on its node again; and take
 * CPUs: its old ones if they are free, else others. */
bool fit_cpus_again(const struct work *w, uint32_t req,
                    const struct snap_task *had);
uint32_t fit_resume(struct work *w, uint32_t req, const struct snap_task *had,
                    struct snap_cpu_use *use);

#endif
