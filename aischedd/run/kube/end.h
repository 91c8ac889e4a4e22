/*
 * end.h - take an attempt down
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
	bool stop;        /* stop() was called */
	bool failing;     /* a task failed: end the others */
	struct err fault; /* why it cannot start; code 0: it can */
	enum start_fault whose;
	int64_t grace_s;
	int64_t since_ms; /* when its pods were first told to end; 0: never */
	bool job_gone;    /* its Job was there and is gone */
	struct kube_keep *keep; /* its logs; NULL: none kept yet */
	bool over;              /* its last event was told */
	bool forgotten;         /* forget() was called */
};

/* Tell one pod to end, with its grace; its object stays. */
void kube_end_leave(struct kube_attempt *a, struct kube_task *task,
                    const char *why);

/* Tell all of its pods to end; delete the Job if that takes too long. */
void kube_end_take_down(struct kube_attempt *a);

/* Delete pods for good whose end no kubelet will report. */
void kube_end_fence(struct kube_attempt *a);

/* Note that it cannot start; the first reason counts. */
void kube_end_fail(struct kube_attempt *a, enum start_fault whose,
                   const char *text);

#endif
