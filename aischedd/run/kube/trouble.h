/*
 * trouble.h - report what holds the pool up, and what its nodes lack
 */
#ifndef AISCHEDD_RUN_KUBE_TROUBLE_H
#define AISCHEDD_RUN_KUBE_TROUBLE_H

#include "aischedd/run/runner.h"
#include "libcommon/buf.h"

struct kube;

struct kube_told {
	struct buf trouble, lacks; /* as last told; empty: nothing */
	struct buf both;           /* what labels and GPUs lack */
	struct buf shortcomings;   /* result of shortcomings() */
};

/* Report what holds the pool up, when that begins, changes or ends. */
void kube_trouble_tell(struct kube *kube);

/* Likewise for what nodes lack. */
void kube_trouble_tell_lacks(struct kube *kube);

/* See runner_ops. */
const char *kube_trouble_shortcomings(struct runner *r);

void kube_trouble_fini(struct kube_told *told);

#endif
