/*
 * init.h - the first process of a container, and its last words
 *
 * Pure.  It is a shell that runs the script as its child, because a first
 * process gets no signal that it does not trap, and its children none at all:
 * it passes TERM on to everything in there and ends as the script has ended.
 * What only it can know it writes to the container's termination message, as
 * lines that begin with a mark: why the script was not run at all, or what was
 * used.  Killed, it says nothing.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_INIT_H
#define AISCHEDD_RUN_KUBE_OBJECT_INIT_H

#include <stdint.h>

#include "libcommon/buf.h"

/* Text for a shell: the part that is not shared with other tasks. */
#define KUBE_OWN_VAR "AISCHED_OWN_ENV"

/* A script may say something there, too. */
#define KUBE_LAST_FILE   "/dev/termination-log"
#define KUBE_LAST_UNABLE "aisched: unable: "
#define KUBE_LAST_USED   "aisched: used: " /* CPU us, bytes; "?" not known */

void kube_init_script(struct buf *out);

struct kube_last {
	char *unable;             /* on the heap; NULL: it ran the script */
	int64_t cpu_ms, peak_kib; /* 0: not known */
};

/* message may be NULL. */
void kube_last_read(const char *message, struct kube_last *ret);

#endif
