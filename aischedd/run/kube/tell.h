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
	bool unreached;    /* RUN_UNREACHED was told, with a text */
	uint32_t replaced; /* replacements told with RUN_REPLACED */
};

/* Pass the event to the daemon; fills in job and attempt. */
void kube_tell(struct kube_attempt *a, struct run_event *ev);

/* Report what delays the start; NULL: nothing delays it any longer. */
void kube_tell_note(struct kube_attempt *a, const char *text);

/* Report how many of its pods have failed so far; last: the latest one. */
void kube_tell_replaced(struct kube_attempt *a, uint32_t n,
                        const struct kube_task *last);

/* Report the last event of the attempt, of which no process runs any longer, or
 * will run. */
void kube_tell_end(struct kube_attempt *a);

/* See steps() in runner_ops. The record is known only when the pod that ran the
 * script has ended. */
void kube_tell_steps(struct runner *r, uint64_t job, uint32_t attempt,
                     struct buf *out);

#endif
