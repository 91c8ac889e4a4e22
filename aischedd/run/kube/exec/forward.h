/*
 * forward.h - carry connections of users to ports of pods
 *
 * Uses the portforward call of the API over a WebSocket, one for each
 * connection. The node connects inside the network of the pod, to its loopback
 * address. The call cannot tell the pod that the user sends nothing more.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_FORWARD_H
#define AISCHEDD_RUN_KUBE_EXEC_FORWARD_H

#include <sys/queue.h>

#include "aischedd/run/runner.h"

struct kube;

struct kube_forwards {
	TAILQ_HEAD(, kube_forward) list;
};

extern const struct runner_exec kube_forward_calls;

void kube_forward_free_all(struct kube *kube);

#endif
