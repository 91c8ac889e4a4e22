/*
 * kubelet.h - the NUMA nodes in which a kubelet has put the pods of jobs
 *
 * A kubelet that chooses CPUs and GPUs may choose other NUMA nodes than the
 * plan. The numbers that the plan gives to them are made up, so they are given
 * other NUMA nodes when the kubelet shows how many are free in each: then as
 * many as it says are free there.
 */
#ifndef AISCHEDD_STATE_PASS_KUBELET_H
#define AISCHEDD_STATE_PASS_KUBELET_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/cluster/node.h"

/* Give the node's GPUs and CPUs their NUMA nodes, so that those that are free
 * agree with node->zone_gpus and zone_cpus. gpu, cpu: thousandths of each that
 * jobs leave free. Changes nothing if other numbers are free in all: then the
 * kubelet has not seen the latest starts and ends, or has pods that the daemon
 * does not know. */
void kubelet_place(struct node *node, const uint16_t *gpu, const uint16_t *cpu);

/* Copy the NUMA nodes of n devices from `old`, if as many of them are in each
 * NUMA node as in `ret`. */
void kubelet_keep(uint8_t *ret, const uint8_t *old, uint32_t n);

#endif
