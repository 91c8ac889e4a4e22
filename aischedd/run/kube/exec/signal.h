/*
 * signal.h - signal the processes in the pods of a job
 *
 * The API cannot send a signal to a container, so kube_exec runs a shell in the
 * container, which sends the signal. Only a few such calls are open at a time;
 * the other pods wait.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H
#define AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"

struct kube;

struct kube_signals {
	/* first the refused signals, which must still be reported */
	TAILQ_HEAD(, kube_signal) list;
	size_t n, asked; /* signals in the list, and calls in progress */
};

struct kube_signal_to {
	uint64_t job;
	uint32_t attempt;
	char *namespace, *pod, *container;
};

/* Signal the session of a process in a pod; signo 0: end the session, with
 * SIGKILL after 2 s. The result is not reported. Does nothing if the same
 * signal for the same session still waits to be sent. */
void kube_signal_session(struct kube *kube, const struct kube_signal_to *to,
                         int64_t pid, int signo);

/* See runner_ops. */
void kube_signal_send(struct runner *r, uint64_t job, uint32_t attempt,
                      const struct run_signal *what);

/* Send signals that wait, as many as the limit on calls allows. */
void kube_signal_step(struct kube *kube);
void kube_signal_free_all(struct kube *kube);

#endif
