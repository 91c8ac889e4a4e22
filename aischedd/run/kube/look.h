/*
 * look.h - find out from its pods how an attempt is doing
 */
#ifndef AISCHEDD_RUN_KUBE_LOOK_H
#define AISCHEDD_RUN_KUBE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct kube_attempt;

struct kube_look {
	/* tasks that have not run yet, or that will be replaced or placed
	 * anew */
	uint32_t idle;
	uint32_t alive; /* tasks whose pods hold a node */
	/* a task failed and is not replaced, or is lost and the attempt does
	 * not go on without it */
	bool bad;
	bool leaving;  /* a pod that has run is being deleted */
	int64_t start; /* unix seconds when the last pod started; 0: none */
};

/* Returns what the pods of all slots show. Also marks in the slots which pods
 * were lost, reports these if the attempt goes on without them, and makes the
 * start fail if a container cannot start. */
struct kube_look kube_look_at(struct kube_attempt *a);

#endif
