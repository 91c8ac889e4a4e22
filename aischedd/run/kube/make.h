/*
 * make.h - the objects of an attempt are made, its pods bound
 */
#ifndef AISCHEDD_RUN_KUBE_MAKE_H
#define AISCHEDD_RUN_KUBE_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct kube_attempt;
struct kube_shared;

struct kube_orders {
	json_t *job, *secret, *service; /* to be made; NULL: they are */
	struct kube_shared *shared;     /* what secret is; NULL: its own */
	uint32_t replace; /* so many pods may fail before all end */
};

/* Ask for the Job, then for its Secret and for more indexes. */
void kube_make_objects(struct kube_attempt *a);

/*
 * Ask for the Service by which its pods, all of which run, find each other.
 * Not sooner: for each pod that gets an address later, the cluster writes the
 * addresses of all once more.
 */
void kube_make_service(struct kube_attempt *a);

/* Whether all of its pods are there, or were. */
bool kube_make_is_done(struct kube_attempt *a);

/* Bind all of its pods or none: the first when the last is there. */
void kube_make_bindings(struct kube_attempt *a);

/* Give up what is yet to be made. */
void kube_make_drop(struct kube_attempt *a);

#endif
