/*
 * look.h - what the pods of an attempt show
 */
#ifndef AISCHEDD_RUN_KUBE_LOOK_H
#define AISCHEDD_RUN_KUBE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct kube_attempt;

struct kube_look {
	uint32_t idle;  /* tasks that have not run yet, or will run again */
	uint32_t alive; /* tasks that hold a node */
	bool bad;       /* a task has failed for good, or is lost */
	bool leaving;   /* a running pod is being deleted */
	int64_t start;  /* unix seconds when the last pod started; 0: none */
};

/* Look at each slot. Notes which pods were lost and why the start failed. */
struct kube_look kube_look_at(struct kube_attempt *a);

#endif
