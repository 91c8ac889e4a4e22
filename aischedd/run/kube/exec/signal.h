/*
 * signal.h - signal the processes in the pods of a job
 *
 * The API cannot send a signal to a container, so kube_exec runs a shell in the
 * container, which sends the signal. The number of these calls at a time is
 * limited, in all, for each job and for each user; further signals wait. Each
 * call has a time limit, because the shell is the image's and may never end.
 * One user gets at most half of what all others leave, both of the calls and of
 * the places of waiting signals, so no user can hold up the others.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H
#define AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct kube;

TAILQ_HEAD(kube_signal_list, kube_signal);

struct kube_signals {
	/* Signals that wait to be sent, first the refused ones, which must
	 * still be reported; and those that are being sent. */
	struct kube_signal_list waiting, sent;
	size_t n, nsent;       /* signals in both lists, and in the second */
	struct map waiting_by; /* waiting signals that are not refused */
	struct map by_user; /* how many signals of each user are in the lists,
	                       cast to a pointer */
	int64_t limit_ms;   /* limit for the shell; 0: the default */
};

struct kube_signal_to {
	uint64_t job;
	uint32_t attempt, user; /* user: as in struct run_signal */
	char *namespace, *pod, *container;
};

/* A signal is dropped if the same signal for the same pod and processes still
 * waits to be sent. */

/* Signal the session of a process in a pod; signo 0: end the session, with
 * SIGKILL after 2 s. Returns false, and does nothing, if too many signals wait;
 * later failures are not reported. */
bool kube_signal_session(struct kube *kube, const struct kube_signal_to *to,
                         int64_t pid, int signo);

/* See runner_ops. */
void kube_signal_send(struct runner *r, uint64_t job, uint32_t attempt,
                      const struct run_signal *what);

/* Send signals that wait, as many as the limit on calls allows. */
void kube_signal_step(struct kube *kube);
void kube_signal_init(struct kube *kube);
void kube_signal_free_all(struct kube *kube);

#endif
