/*
 * init.h - the first process of a container, and its termination message
 *
 * Pure. The first process is a shell that runs the script as its child. A first
 * process gets only signals for which it has a handler, and other processes of
 * the container get no TERM when the kubelet ends a pod. So the shell handles
 * TERM by sending TERM to all processes in the container. It ends with the
 * script's exit status. To the container's termination message it writes lines
 * that begin with a mark: why the script did not run, or how much it used. If
 * the shell is killed, there is no message.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_INIT_H
#define AISCHEDD_RUN_KUBE_OBJECT_INIT_H

#include <stdint.h>

#include "libcommon/buf.h"

/* The environment variable with shell text for one task; shell text for all
 * tasks is in the Secret. */
#define KUBE_OWN_VAR "AISCHED_OWN_ENV"
/* The kubelet sets it to the name of the node: a task that is added to a
 * running job may be on another one than the Secret could tell. */
#define KUBE_NODE_VAR "AISCHEDD_NODENAME"

/* The termination message. Scripts may write to this file, too. */
#define KUBE_LAST_FILE   "/dev/termination-log"
#define KUBE_LAST_UNABLE "aisched: unable: "
/* CPU time in us, peak memory in bytes; "?": not known */
#define KUBE_LAST_USED "aisched: used: "
#define KUBE_LAST_STEP "aisched: step: " /* JSON as in pod/agent.h */

void kube_init_script(struct buf *out);

struct kube_last {
	/* why the script did not run, on the heap; NULL: it ran */
	char *unable;
	int64_t cpu_ms, peak_kib; /* 0: not known */
	char *steps; /* lines of its steps, on the heap; NULL: none */
};

/* Read a termination message, or NULL. */
void kube_last_read(const char *message, struct kube_last *ret);

#endif
