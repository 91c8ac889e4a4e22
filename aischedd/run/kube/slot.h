/*
 * slot.h - map the tasks of an attempt to pods, as the job grows and shrinks
 *
 * A slot is a task as the daemon wants it: its node, and the index of the Job
 * whose pod it is. A running pod keeps its index whatever else changes.
 */
#ifndef AISCHEDD_RUN_KUBE_SLOT_H
#define AISCHEDD_RUN_KUBE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct kube_attempt;

struct kube_slot {
	char *node;
	uint32_t index; /* in the Job */
	uint64_t gpus;  /* of its node, one bit each; 0: none, or not known */
	bool seen;      /* its pod existed */
	bool failed;    /* the start failed because of it */
	char *lost;     /* why its pod was lost, or NULL */
};

struct kube_slots {
	struct kube_slot *slot;
	uint32_t n;
	uint32_t indexes; /* indexes that the slots need */
	uint32_t have;    /* indexes that the Job has */
	uint32_t resize;  /* number of the last resize() */
	bool resizing;    /* a resize() is not answered yet */
};

void kube_slot_free_all(struct kube_slots *slots);

/* Note why its pod was lost; the first reason counts. */
void kube_slot_lose(struct kube_slot *slot, const char *pod, const char *why);

/* Returns NULL if no task has that index. */
struct kube_slot *kube_slot_at(struct kube_attempt *a, uint32_t index);

/* Put the tasks where job says; existing pods stay. */
void kube_slot_set_all(struct kube_attempt *a, const struct run_job *job);

/* End the pods that no longer have a slot; told when they have ended. */
void kube_slot_shrink(struct kube_attempt *a);

#endif
