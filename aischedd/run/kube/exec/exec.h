/*
 * exec.h - run a command in the container of a pod
 *
 * Uses the exec call of the API, which the node's kubelet carries out, so the
 * image needs no program of ours. The command keeps running if the connection
 * is lost.
 */
#ifndef AISCHEDD_RUN_KUBE_EXEC_EXEC_H
#define AISCHEDD_RUN_KUBE_EXEC_EXEC_H

#include <stddef.h>

#include "libcommon/err.h"

struct kube;
struct kube_exec;

struct kube_exec_wish {
	const char *pod, *container;
	const char *const *argv; /* ends with NULL; borrowed for the call */
};

struct kube_exec_ops {
	/* The command printed to its stdout (1) or stderr (2). */
	void (*output)(int stream, const void *data, size_t len, void *arg);
	/* The command has ended with this exit status; or err says why it was
	 * not started, or why its end is not known. The kube_exec is freed. */
	void (*end)(int status, const struct err *err, void *arg);
};

/* Start the command. Does not fail: errors go to end(). */
struct kube_exec *kube_exec_open(struct kube *kube,
                                 const struct kube_exec_wish *wish,
                                 const struct kube_exec_ops *ops, void *arg);

/* Free it without calling end(); also allowed inside the functions of
 * kube_exec_ops. */
void kube_exec_close(struct kube_exec *e);

#endif
