/*
 * tell.h - what the daemon is told of an attempt
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
	uint32_t replaced; /* RUN_REPLACED was told of so many */
};

/* Fills in job and attempt. */
void kube_tell(struct kube_attempt *a, struct run_event *ev);

/* Say what holds it up; NULL: nothing does any longer. */
void kube_tell_note(struct kube_attempt *a, const char *text);

/* So many of its pods have failed so far, the last of them this. */
void kube_tell_replaced(struct kube_attempt *a, uint32_t n,
                        const struct kube_task *last);

/* The last event: nothing of it runs any longer, or will. */
void kube_tell_end(struct kube_attempt *a);

#endif
