/*
 * life.h - the life of an attempt in a cluster
 *
 * An attempt is stepped when something about it changes, and each second.  A
 * step compares what is wanted with what the cluster has, and asks for the
 * difference.  Only facts are remembered, no position in a script: after a
 * crash, a refusal or a lost answer, the next step goes on from what is there.
 * Where an attempt stands follows from the facts:
 *
 *	FOUND      found after a restart, before all of it ran: the daemon
 *	           starts it again, under the same name
 *	STARTING   ordered.  Job, Secret and pods are made; when the last pod is
 *	           there, and its GPUs are given where that takes a claim, all
 *	           are bound; when the last one runs, the Service is
 *	           made and RUN_STARTED told.  Ends as a failed start: after
 *	           start_timeout, by an answer that stays what it is, or by a
 *	           container that cannot start
 *	RUNNING    follows resize(): indexes are added, pods without a slot
 *	           leave.  A failed task is replaced if the job asks for that,
 *	           else it ends the others
 *	ENDING     stopped, failed to start, or a task has failed or is lost.
 *	           Pods are told to end, each with its grace, and their objects
 *	           stay; pods on lost nodes are deleted for good; the Job is
 *	           deleted if its pods do not end.  When none holds a node
 *	           the logs are kept, then the last event is told
 *	OVER       RUN_ENDED, RUN_START_FAILED or RUN_LOST was told: wait until
 *	           the daemon has committed that
 *	FORGOTTEN  the Job goes, and with it all that it owns
 *
 * RUNNING becomes OVER as ENDING does when all tasks have ended well.  Nothing
 * is done without the Lease.
 */
#ifndef AISCHEDD_RUN_KUBE_LIFE_H
#define AISCHEDD_RUN_KUBE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct kube_attempt;

/* How far the start has come. */
struct kube_start {
	bool ordered;     /* start() was called: what it shall be is known */
	bool told;        /* RUN_STARTED was told */
	int64_t since_ms; /* of its first step; 0: none yet */
	/* look.c: since when its image cannot be pulled; or 0 */
	int64_t image_ms;
	int64_t why_ms; /* why.c: when to ask why pods are missing; 0: unset */
};

/* Compare, and act. May free it. */
void kube_life_step(struct kube_attempt *a);

/* See runner_ops. */
void kube_life_start(struct runner *r, const struct run_job *job);
void kube_life_resize(struct runner *r, const struct run_job *job);
void kube_life_stop(struct runner *r, uint64_t job, uint32_t attempt,
                    enum stop_why why, int64_t grace);
void kube_life_forget(struct runner *r, uint64_t job, uint32_t attempt);

#endif
