/*
 * make.h - make the objects of an attempt, bind its pods
 */
#ifndef AISCHEDD_RUN_KUBE_MAKE_H
#define AISCHEDD_RUN_KUBE_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct kube_attempt;
struct kube_shared;
struct kube_task;

struct kube_orders {
	json_t *job, *secret, *service; /* still to be made; NULL: done */
	struct kube_shared *shared;     /* the shared Secret; NULL: its own */
	bool once; /* index 0 runs the script, and its end ends the Job */
	uint32_t replace; /* failed pods that are replaced before all end */
	char *mount;      /* what it mounts; NULL: nothing */
	char *wait;       /* what its volumes wait for, or NULL */
	/* refusals of its claims before the start; UINT32_MAX: not counted
	 * yet */
	uint32_t refusals;
};

/* Ask for the Job, then for its Secret and for more indexes. */
void kube_make_objects(struct kube_attempt *a);

/*
 * Ask for the Service by which its pods find each other, once all of them run:
 * whenever an address is added, the cluster writes all addresses again.
 */
void kube_make_service(struct kube_attempt *a);

/* Whether all of its pods are there, or were. */
bool kube_make_is_done(struct kube_attempt *a);

/* Bind all of its pods or none, once the last one is there. */
void kube_make_bindings(struct kube_attempt *a);

/* Whether it can be bound now. */
bool kube_make_may_bind(const struct kube_task *task);

/* Give up what is not made yet. */
void kube_make_drop(struct kube_attempt *a);

#endif
