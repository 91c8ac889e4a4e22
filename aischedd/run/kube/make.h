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
	json_t *job, *secret, *service; /* to be made; NULL: made, or none */
	struct kube_shared *shared;     /* the shared Secret; NULL: its own */
	bool once; /* index 0 runs the script, and its end ends the Job */
	uint32_t replace; /* how many failed pods may be replaced */
	char *mount;      /* its --mount; NULL: it mounts nothing */
	char *wait;       /* what its volumes wait for, or NULL */
	/* how often the volumes of its claims could not be made before this
	 * start; UINT32_MAX: not counted yet */
	uint32_t refusals;
};

/* Make the Job; when it exists, make its Secret and add missing indexes. */
void kube_make_objects(struct kube_attempt *a);

/*
 * Make the Service by which its pods find each other. Call it only when all of
 * them run: for each address that is added later, the cluster would write all
 * addresses again.
 */
void kube_make_service(struct kube_attempt *a);

/* Whether the pod of each slot exists or has existed. */
bool kube_make_is_done(struct kube_attempt *a);

/* Bind all of its pods, once the last one exists and their volumes and GPUs are
 * ready. */
void kube_make_bindings(struct kube_attempt *a);

/* Whether the pod exists, is not bound yet and can still run. task may be NULL.
 */
bool kube_make_may_bind(const struct kube_task *task);

/* Drop the objects that are not made yet. */
void kube_make_drop(struct kube_attempt *a);

#endif
