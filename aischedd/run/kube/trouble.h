/*
 * trouble.h - report what does not work in the cluster, and what nodes lack
 */
#ifndef AISCHEDD_RUN_KUBE_TROUBLE_H
#define AISCHEDD_RUN_KUBE_TROUBLE_H

#include "aischedd/run/runner.h"
#include "libcommon/buf.h"

struct kube;

struct kube_told {
	struct buf trouble, lacks; /* texts last reported; empty: none */
	struct buf all;            /* text on all that nodes lack */
	struct buf shortcomings;   /* result of shortcomings() */
};

/* Send RUN_TROUBLE if its text would differ from the last one. */
void kube_trouble_tell(struct kube *kube);

/* Send RUN_LACKS if its text would differ from the last one. */
void kube_trouble_tell_lacks(struct kube *kube);

/* See runner_ops. */
const char *kube_trouble_shortcomings(struct runner *r);

void kube_trouble_fini(struct kube_told *told);

#endif
