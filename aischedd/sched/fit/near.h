/*
 * near.h - devices of a task beside its GPUs, or in its NUMA nodes
 *
 * A piece is a particular device other than a GPU (snap.h). If it matters to a
 * request where its devices are, its GPUs are chosen together with them: all
 * choices of GPUs are tried, but alike GPUs count as one, and of those with
 * which the devices can be had the best is taken. It has the fewest link
 * groups; then it leaves the most pairs of a free GPU and a free device under
 * one PCIe root; then it does the least damage (fit_devices.h).
 */
#ifndef AISCHEDD_SCHED_FIT_NEAR_H
#define AISCHEDD_SCHED_FIT_NEAR_H

#include "aischedd/sched/fit_devices.h"

/* Whether it matters on this node where the devices of a task are: because the
 * request says so, or because it is bound to NUMA nodes. */
bool fit_near_asks(const struct work *w, uint32_t req, uint32_t node);

/* Choose n whole GPUs in this part of the node, which has enough, for a task:
 * so that its devices can be had, if fit_near_asks(); else as
 * fit_devices_pick(). Returns 0 if there is no such choice. */
uint64_t fit_near_gpus(const struct work *w, uint32_t req, uint32_t node,
                       const struct fit_where *at, uint32_t n,
                       struct fit_damage *ret_damage);

/* Whether there is such a choice, for a task of which fit_near_asks(). */
bool fit_near_has(const struct work *w, uint32_t req, uint32_t node,
                  const struct fit_where *at, uint32_t n);

/* Returns those GPUs in this part of the node that a task may have a part of,
 * free or not: its devices can be had with each of them. */
uint64_t fit_near_parts(const struct work *w, uint32_t req, uint32_t node,
                        const struct fit_where *at);

/* Whether a task without GPUs, which fits into this part of the node, finds its
 * devices in the NUMA nodes in which its CPUs would be there. */
bool fit_near_cpus(const struct work *w, uint32_t req, uint32_t node,
                   const struct fit_where *at);

/* Choose the pieces of a task, whose GPUs and CPUs are chosen, in this part of
 * its node: those beside its GPUs first, then those in its NUMA nodes, even if
 * the request does not say where they must be. Returns them as bits. */
uint64_t fit_near_pieces(const struct work *w, uint32_t req,
                         const struct fit_where *at,
                         const struct snap_task *task,
                         const struct snap_cpu_use *use, uint32_t nuse);

/* Returns the most devices of a kind that one task could have on the node where
 * it wants them. */
int64_t fit_near_most(const struct work *w, uint32_t req, uint32_t node,
                      uint32_t kind);

#endif
