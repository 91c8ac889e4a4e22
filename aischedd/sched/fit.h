/*
 * fit.h - one node: how many tasks fit, and which devices each gets
 *
 * GPUs: whole devices from one link group, else from one NUMA node, with the
 * least left over; a fraction goes to the fullest device that has room for it.
 * CPUs, where the node has a slice of them: whole CPUs are whole cores of one
 * NUMA node as far as possible, near the GPUs; the fraction of a request goes
 * to the fullest CPU that is shared already and has room for it.
 *
 * --numa: all devices of a task come from one NUMA node, the one with the least
 * left over.  strict counts only tasks that can have that, prefer counts all,
 * and work.loose ignores both.  Where CPUs are not in a slice, only GPUs are
 * aligned.
 */
#ifndef AISCHEDD_SCHED_FIT_H
#define AISCHEDD_SCHED_FIT_H

#include "aischedd/sched/work.h"

/*
 * How many more tasks of the request fit on the node, at most max; own are
 * there already of the same job.  Looks at what is free only, not at whether
 * the job may run there.
 */
int64_t fit_count(const struct work *w, uint32_t req, uint32_t node,
                  int64_t own, int64_t max);

/* GPUs and CPUs that are wholly free on the NUMA node with the most; CPUs are
 * -1 if the node only counts them. */
void fit_best_numa(const struct work *w, uint32_t req, uint32_t node,
                   int64_t *ret_gpus, int64_t *ret_cpus);

/* The most CPUs of a slice that one task can hold. */
static inline size_t fit_max_cpus(const struct snap *s, uint32_t req)
{
	return (size_t)(s->req.cpus[req] / 1000) + 1;
}

/*
 * Choose devices for one task on a node on which it fits, and take all that it
 * holds. The caller sets cpu_first; use must hold fit_max_cpus() entries.
 * Returns how many were filled.
 */
uint32_t fit_task(struct work *w, uint32_t req, uint32_t node,
                  struct snap_task *ret, struct snap_cpu_use *use);

/* Whether enough CPUs for a suspended task are free on its node again; and take
 * them: its old ones if they are free, else others. */
bool fit_cpus_again(const struct work *w, uint32_t req,
                    const struct snap_task *had);
uint32_t fit_resume(struct work *w, uint32_t req, const struct snap_task *had,
                    struct snap_cpu_use *use);

#endif
