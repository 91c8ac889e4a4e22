/*
 * init.h - the first process of a container, and its last message
 *
 * Pure. It is a shell that runs the script as its child. A first process gets
 * no signal that it does not trap, and does not pass signals on; so this shell
 * sends TERM to all processes in the container, and ends as the script has
 * ended. It writes lines that begin with a mark to the container's termination
 * message: why the script did not run, or how much it used. If it is killed,
 * there is no message.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_INIT_H
#define AISCHEDD_RUN_KUBE_OBJECT_INIT_H

#include <stdint.h>

#include "libcommon/buf.h"

/* The variable that holds the part of the shell text that differs between
 * tasks. */
#define KUBE_OWN_VAR "AISCHED_OWN_ENV"

/* Scripts may write to this file, too. */
#define KUBE_LAST_FILE   "/dev/termination-log"
#define KUBE_LAST_UNABLE "aisched: unable: "
#define KUBE_LAST_USED   "aisched: used: " /* CPU us, bytes; "?": not known */
#define KUBE_LAST_STEP   "aisched: step: " /* JSON, as pod/agent.h has it */

void kube_init_script(struct buf *out);

struct kube_last {
	char *unable;             /* on the heap; NULL: the script ran */
	int64_t cpu_ms, peak_kib; /* 0: not known */
	char *steps; /* lines of its steps, on the heap; NULL: none */
};

/* message may be NULL. */
void kube_last_read(const char *message, struct kube_last *ret);

#endif
