/*
 * init.h - the first process of a container, and its termination message
 *
 * Pure. The first process is a shell that runs the script as its child. The
 * kernel gives a first process no signal that it does not handle, and it does
 * not pass signals on by itself; so this shell sends TERM to all processes in
 * the container, and ends with the script's exit status. It writes lines that
 * begin with a mark to the container's termination message: why the script did
 * not run, or how much it used. If it is killed, there is no message.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_INIT_H
#define AISCHEDD_RUN_KUBE_OBJECT_INIT_H

#include <stdint.h>

#include "libcommon/buf.h"

/* The variable with the shell text for one task; the Secret has the text for
 * all. */
#define KUBE_OWN_VAR "AISCHED_OWN_ENV"

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
