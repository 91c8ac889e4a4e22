/*
 * slot.h - map the tasks of an attempt to pods, as the job grows and shrinks
 *
 * A slot is a task that the daemon wants to run: its node, and the index that
 * its pod has in the Job. A running pod keeps its index, whatever else changes.
 */
#ifndef AISCHEDD_RUN_KUBE_SLOT_H
#define AISCHEDD_RUN_KUBE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/grant.h"
#include "aischedd/run/runner.h"

struct kube_attempt;

struct kube_slot {
	char *node;
	uint32_t index; /* index of its pod in the Job */
	/* numbers of its GPUs, one bit each; 0: none, or not known */
	uint64_t gpus;
	uint32_t milli; /* thousandths of each; below 1000: a part of one */
	struct kube_part part; /* the partition that it gets of its only GPU */
	/* its other devices, as kube_kinds_text() returns them */
	char *devs;
	int64_t mem_mib; /* the part has at least that much memory; 0: any */
	bool seen;       /* its pod exists or has existed */
	bool failed;     /* the start failed because of this pod */
	char *lost;      /* why its pod was lost, or NULL */
	bool refused;    /* its pod was lost because its node did not take it */
	bool told;       /* RUN_TASKS_LOST was sent for it */
	/* uid of the lost pod whose index this slot has, until the pod that
	 * replaces it exists; else NULL */
	char *after;
	/* when its pod was first seen not to run, while the job runs; or 0 */
	int64_t since_ms;
};

struct kube_slots {
	struct kube_slot *slot;
	uint32_t n;
	uint32_t indexes; /* how many indexes the Job needs */
	uint32_t have;    /* how many indexes the Job has */
	uint32_t resize;  /* run_job.resize of the last resize() */
	bool resizing;    /* a resize() is not answered yet */
};

void kube_slot_free_all(struct kube_slots *slots);

/* Store why the pod of the slot was lost; only the first reason is kept. */
void kube_slot_lose(struct kube_slot *slot, const char *pod, const char *why);

/* Returns the slot whose pod has this index in the Job; NULL: there is none. */
struct kube_slot *kube_slot_at(struct kube_attempt *a, uint32_t index);

/* Replace the slots by those for the tasks of job. Tasks that existing pods run
 * keep their indexes. */
void kube_slot_set_all(struct kube_attempt *a, const struct run_job *job);

/* End the pods that no longer have a slot; when all of them have ended, and
 * their GPUs are free, answer resize() with RUN_RESIZED. */
void kube_slot_shrink(struct kube_attempt *a);

#endif
