/*
 * recover.h - find the daemon's attempts in the cluster after a restart; delete
 * Jobs that belong to no attempt
 */
#ifndef AISCHEDD_RUN_KUBE_RECOVER_H
#define AISCHEDD_RUN_KUBE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct kube;
struct kube_job;
struct kube_asked;
struct kube_owner;

struct kube_recovery {
	/* The attempts that recover() asked about and that have not been
	 * answered; NULL: recover() was not called yet. */
	struct kube_asked *asked;
	size_t n;
	/* once `done`: the attempts without answer, by kube_attempt_key() */
	struct map open;
	/* recover() has been answered, except for attempts in namespaces whose
	 * Jobs cannot be listed */
	bool done;
};

/* See runner_ops. */
void kube_recover(struct runner *r, size_t n, const struct run_attempt *list);
void kube_recover_free(struct kube *kube);

/* Answer recover() if it was called, we hold the Lease, and all watches that
 * the answer needs have been read. Else do nothing. */
void kube_recover_try(struct kube *kube);

/* Whether recover() has been answered, but not about this attempt. */
bool kube_recover_is_open(const struct kube *kube, const struct kube_owner *id);

/* Delete our Jobs that belong to no attempt. kube_recover_sweep_one() checks
 * only this Job. */
void kube_recover_sweep_one(struct kube *kube, struct kube_job *job);
void kube_recover_sweep(struct kube *kube);

#endif
