/*
 * tell.h - report an attempt to the daemon
 */
#ifndef AISCHEDD_RUN_KUBE_TELL_H
#define AISCHEDD_RUN_KUBE_TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

struct kube_attempt;
struct kube_task;

struct kube_telling {
	bool noted;     /* the last RUN_NOTED had a text */
	bool unreached; /* the last RUN_UNREACHED had a text */
	bool lost;      /* the daemon shows the text of a RUN_TASKS_LOST */
	/* how many RUN_TASKS_LOST were sent in a row, and when the last one */
	uint32_t losses;
	int64_t lost_ms;
	uint32_t replaced; /* number of replacements in the last RUN_REPLACED */
};

/* Pass the event to the daemon; fills in job and attempt. */
void kube_tell(struct kube_attempt *a, struct run_event *ev);

/* Report what delays the attempt; text NULL: nothing delays it any longer. */
void kube_tell_note(struct kube_attempt *a, const char *text);

/* Report that n of the attempt's pods have failed and are replaced. last: the
 * latest of them. */
void kube_tell_replaced(struct kube_attempt *a, uint32_t n,
                        const struct kube_task *last);

/* Report the lost pods that were not reported yet. The next report waits, each
 * time for longer: the daemon may place the tasks where they are lost again. */
void kube_tell_lost(struct kube_attempt *a);

/* Report that all tasks run again. */
void kube_tell_whole(struct kube_attempt *a);

/* Report the end of the attempt. To be called only when none of its processes
 * runs, and none can start. */
void kube_tell_end(struct kube_attempt *a);

/* See steps() in runner_ops. The steps are known only when the pod that ran the
 * script has ended. */
void kube_tell_steps(struct runner *r, uint64_t job, uint32_t attempt,
                     struct buf *out);

#endif
