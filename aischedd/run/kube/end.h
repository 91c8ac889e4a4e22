/*
 * end.h - end the pods of an attempt
 */
#ifndef AISCHEDD_RUN_KUBE_END_H
#define AISCHEDD_RUN_KUBE_END_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/err.h"

struct kube_attempt;
struct kube_keep;
struct kube_task;

struct kube_end {
	bool stop;              /* stop() was called */
	bool failing;           /* a task failed: end the others */
	struct err fault;       /* why the start failed; code 0: it did not */
	enum start_fault whose; /* who is to blame for `fault` */
	int64_t grace_s;        /* seconds from SIGTERM to SIGKILL */
	int64_t since_ms; /* when its pods were first told to end; 0: never */
	bool job_gone;    /* its Job existed and was deleted */
	struct kube_keep *keep; /* saves its logs; NULL: not begun */
	bool over;              /* the end of the attempt was reported */
	bool forgotten;         /* forget() was called */
};

/* Whether the attempt goes on when pods are lost, as long as enough are left.
 */
bool kube_end_may_lose(const struct kube_attempt *a);

/* End one pod, with its grace period, by setting its deadline to now. The pod
 * object stays until the Job is deleted. why: the value of KUBE_NOTE_LEAVE. */
void kube_end_leave(struct kube_attempt *a, struct kube_task *task,
                    const char *why);

/* Set a pod to Failed, with this reason and text, so that the Job controller
 * makes another pod for its index. */
void kube_end_lose(struct kube_attempt *a, struct kube_task *task,
                   const char *reason, const char *text);

/* Call kube_end_leave() for all pods of the attempt. Delete the Job if they
 * take too long to end. */
void kube_end_take_down(struct kube_attempt *a);

/* Delete pods without waiting for the kubelet if their node is gone, if it has
 * been down for node_timeout, or if their deletion takes too long. If the
 * attempt goes on without these pods, set them to Failed instead. */
void kube_end_fence(struct kube_attempt *a);

/* Make the start fail, for this reason; does nothing if the attempt has started
 * or its start has already failed. */
void kube_end_fail(struct kube_attempt *a, enum start_fault whose,
                   const char *text);

#endif
