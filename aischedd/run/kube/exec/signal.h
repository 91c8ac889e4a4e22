/*
 * signal.h - signals for processes in pods
 *
 * A container cannot be signalled from outside, so a shell in it sends the
 * signal. At most a few pods are asked at a time, the others wait.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H
#define AISCHEDD_RUN_KUBE_EXEC_SIGNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"

struct kube;

struct kube_signals {
	TAILQ_HEAD(, kube_signal) list; /* refused ones come first */
	size_t n, asked;
};

/* See runner_ops. */
void kube_signal_send(struct runner *r, uint64_t job, uint32_t attempt,
                      const struct run_signal *what);

/* Ask pods that wait. */
void kube_signal_step(struct kube *kube);
void kube_signal_free_all(struct kube *kube);

#endif
