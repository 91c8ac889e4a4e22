/*
 * make.h - make the objects of an attempt, and bind its pods to nodes
 */
#ifndef AISCHEDD_RUN_KUBE_MAKE_H
#define AISCHEDD_RUN_KUBE_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/spec/spec.h"

struct kube_attempt;
struct kube_shared;
struct kube_task;

struct kube_orders {
	/* objects to be made; NULL: it is made, or not needed */
	json_t *job, *secret, *service;
	json_t *ports;  /* the Service that leads to the job's ports */
	json_t *policy; /* the NetworkPolicy of isolate_network */
	/* NULL: the attempt has a Secret of its own */
	struct kube_shared *shared;
	/* only the pod of index 0 runs the script, and its end ends the Job */
	bool once;
	/* tasks in each pod, which the script starts; 0: each pod is one task
	 */
	uint32_t pod_tasks;
	/* how many failed pods the Job controller may replace */
	uint32_t replace;
	/* what happens when pods are lost with their nodes */
	struct spec_loss loss;
	char *mount; /* the job's --mount; NULL: none */
	char *wait;  /* what the job's volumes wait for, or NULL */
	/* how many times provisioners had failed, before this start, to make
	 * volumes for the job's claims; UINT32_MAX: not counted yet */
	uint32_t refusals;
};

/* Make the Job; when it exists, make its Secret and add missing indexes. */
void kube_make_objects(struct kube_attempt *a);

/*
 * Make the Service by which the attempt's pods find each other. Call it only
 * when all of them run: for each address that is added later, the cluster would
 * write all addresses again.
 */
void kube_make_service(struct kube_attempt *a);

/* Whether the pod of each slot exists or has existed. */
bool kube_make_is_done(struct kube_attempt *a);

/* Bind the attempt's pods, as soon as all exist and their volumes and GPUs are
 * ready. */
void kube_make_bindings(struct kube_attempt *a);

/* Whether the pod exists, is not bound yet and can still run. task may be NULL.
 */
bool kube_make_may_bind(const struct kube_task *task);

/* Free the objects that are not made yet, so that they are not made. */
void kube_make_drop(struct kube_attempt *a);

#endif
