/*
 * life.h - the life of an attempt in a cluster
 *
 * kube_life_step() is called for an attempt when something about it changes,
 * and each second.  It compares what is wanted with what the cluster has, and
 * makes the calls that bring the two together.  No state is stored: it follows
 * from what is known of the attempt and its pods.  So after a crash, a refusal
 * or a lost answer, the next step continues from what the cluster has.  The
 * states are:
 *
 *	FOUND      found after a restart of the daemon, but not all of its pods
 *	           had run: the daemon starts it again, under the same name
 *	STARTING   start() was called.  Job and Secret are made, and the Job's
 *	           pods.  When the last pod exists, and ResourceClaims have
 *	           given the pods their GPUs, all pods are bound; when the last
 *	           one runs, the Service is made and RUN_STARTED sent.  The
 *	           start fails after start_timeout, if the API server refuses
 *	           an object for good, or if a container cannot start
 *	RUNNING    follows resize(): indexes are added, pods without a slot
 *	           end.  If a task fails, it is replaced if the job asks for
 *	           that; else the other tasks are ended, too.  If the job goes
 *	           on without lost tasks (struct spec_loss), these are reported
 *	           and their slots wait for resize().  Pods on lost nodes are
 *	           set to Failed, so that the Job controller makes other pods
 *	           for their indexes; resize() says to which nodes these are
 *	           bound
 *	ENDING     stopped, failed to start, or a task has failed or is lost.
 *	           Pods are told to end, each with its grace, and their objects
 *	           stay; pods on lost nodes are deleted without waiting for the
 *	           kubelet; the Job is deleted if its pods do not end.  When no
 *	           pod holds a node, the logs are saved, then the last event is
 *	           sent
 *	OVER       RUN_ENDED, RUN_START_FAILED or RUN_LOST was sent: wait for
 *	           forget(), which the daemon calls when it has stored the event
 *	FORGOTTEN  the Job is deleted, and with it all that it owns
 *
 * When all tasks have succeeded, RUNNING becomes OVER: the logs are saved, then
 * the last event is sent.  No calls are made without the Lease.
 */
#ifndef AISCHEDD_RUN_KUBE_LIFE_H
#define AISCHEDD_RUN_KUBE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct kube_attempt;

/* How far the start has come. */
struct kube_start {
	bool ordered;     /* start() or resize() was called */
	bool told;        /* RUN_STARTED was sent */
	int64_t since_ms; /* when start_timeout began to count; 0: not yet */
	/* look.c: when pulling its image first failed; or 0 */
	int64_t image_ms;
	/* why.c: when to read Events about missing pods; 0: not set yet */
	int64_t why_ms;
};

/* Make the calls that the attempt needs now, as described above. May free the
 * attempt. */
void kube_life_step(struct kube_attempt *a);

/* See runner_ops. */
void kube_life_start(struct runner *r, const struct run_job *job);
void kube_life_resize(struct runner *r, const struct run_job *job);
void kube_life_stop(struct runner *r, uint64_t job, uint32_t attempt,
                    enum stop_why why, int64_t grace);
void kube_life_forget(struct runner *r, uint64_t job, uint32_t attempt);

#endif
