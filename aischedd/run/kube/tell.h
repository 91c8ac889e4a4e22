/*
 * tell.h - tell the daemon about an attempt
 */
#ifndef AISCHEDD_RUN_KUBE_TELL_H
#define AISCHEDD_RUN_KUBE_TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct kube_attempt;
struct kube_task;

struct kube_telling {
	bool noted;        /* RUN_NOTED was told, with a text */
	bool unreached;    /* likewise RUN_UNREACHED */
	uint32_t replaced; /* replacements told with RUN_REPLACED */
};

/* Fills in job and attempt. */
void kube_tell(struct kube_attempt *a, struct run_event *ev);

/* Report what delays the job; NULL: nothing any longer. */
void kube_tell_note(struct kube_attempt *a, const char *text);

/* Report how many of its pods have failed so far; last: the latest one. */
void kube_tell_replaced(struct kube_attempt *a, uint32_t n,
                        const struct kube_task *last);

/* Report the last event: nothing of it runs any longer, or will run. */
void kube_tell_end(struct kube_attempt *a);

/* See runner_ops: known once the pod that ran the script has ended. */
void kube_tell_steps(struct runner *r, uint64_t job, uint32_t attempt,
                     struct buf *out);

#endif
