/*
 * signal.h - signal the processes in the pods of a job
 *
 * The API cannot send a signal to a container, so kube_exec runs a shell in it
 * that does. Only a few such calls are open at a time; the other pods wait.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H
#define AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"

struct kube;

struct kube_signals {
	/* in front: those over the limit, to be reported as not sent */
	TAILQ_HEAD(, kube_signal) list;
	size_t n, asked; /* signals in the list, and calls that are open */
};

struct kube_signal_to {
	uint64_t job;
	uint32_t attempt;
	char *pod, *container;
};

/* Signal the session of a process in a pod; signo 0: end it, at the latest 2 s
 * later. Does not tell whether it did. Equal ones that wait are one. */
void kube_signal_session(struct kube *kube, const struct kube_signal_to *to,
                         int64_t pid, int signo);

/* See runner_ops. */
void kube_signal_send(struct runner *r, uint64_t job, uint32_t attempt,
                      const struct run_signal *what);

/* Send the signals that wait, as far as the limit allows. */
void kube_signal_step(struct kube *kube);
void kube_signal_free_all(struct kube *kube);

#endif
