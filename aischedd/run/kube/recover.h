/*
 * recover.h - what the cluster has when the daemon starts, and what nobody owns
 */
#ifndef AISCHEDD_RUN_KUBE_RECOVER_H
#define AISCHEDD_RUN_KUBE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct kube;
struct kube_job;

struct kube_recovery {
	/* What recover() asked about; NULL: it was not called, or is answered.
	 */
	uint64_t *job;
	uint32_t *attempt;
	size_t n;
	bool done; /* it is answered */
};

/* As runner_ops says. */
void kube_recover(struct runner *r, size_t n, const uint64_t *job,
                  const uint32_t *attempt);

/* Answer recover() if that can be done now. */
void kube_recover_try(struct kube *kube);

/* Remove the Jobs that no attempt owns, or one if it is such a one. */
void kube_recover_sweep_one(struct kube *kube, struct kube_job *job);
void kube_recover_sweep(struct kube *kube);

#endif
